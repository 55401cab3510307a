"""Merges the Cargo.lock files of the engine and of plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package in a Cargo.lock file."""

    name: str
    version: str
    text: str
    """The lines of the package below `[[package]]`."""

    @property
    def line(self) -> tuple[str, str]:
        """The package's name and the part of its version that decides compatibility. cargo uses
        only one version for each such pair."""
        major, minor, *_ = [*self.version.split("."), "0"]
        return self.name, (major if major != "0" else f"0.{minor}")


def merged(engine: str, plugins: Iterable[str]) -> str:
    """Merge lock files. If several lock files have compatible versions of a package, keep the
    engine's version. If the engine does not have the package, keep the version of the first plugin.
    """
    head, _, _ = engine.partition("[[package]]")
    packages = _packages(engine)
    kept = {one.line: one for one in packages}
    # Pairs of a package and all packages of its lock file, which include the package's
    # dependencies.
    whole = [(one, packages) for one in packages]
    for text in plugins:
        own = _packages(text)
        for one in own:
            # A path dependency has no source, and needs no entry in the merged file.
            if "\nsource = " in one.text and one.line not in kept:
                kept[one.line] = one
                whole.append((one, own))
    versions: dict[str, set[str]] = {}
    for one in kept.values():
        versions.setdefault(one.name, set()).add(one.version)

    def exact(dependency: str, known: list[Package]) -> str:
        """Return a dependency in the form of the merged file, with a version if the file has
        several versions."""
        name, _, version = dependency.partition(" ")
        if len(versions.get(name, ())) < 2:
            return name
        named = [one for one in known if one.name == name and version in ("", one.version)]
        if len(named) != 1:
            return dependency
        return f"{name} {kept.get(named[0].line, named[0]).version}"

    blocks = []
    for one, known in sorted(whole, key=lambda pair: (pair[0].name, pair[0].version)):
        lines = one.text.strip().splitlines()
        for number, line in enumerate(lines):
            if dependency := re.fullmatch(r' "([^"]+)",', line):
                lines[number] = f' "{exact(dependency[1], known)}",'
        blocks.append("\n".join(["[[package]]", *lines, ""]))
    return head + "\n".join(blocks)


def _packages(lock: str) -> list[Package]:
    found = []
    for text in lock.split("[[package]]\n")[1:]:
        name = re.search(r'(?m)^name = "(.*)"$', text)
        version = re.search(r'(?m)^version = "(.*)"$', text)
        if name is not None and version is not None:
            found.append(Package(name[1], version[1], text))
    return found
