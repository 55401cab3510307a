"""Joins the Cargo.lock files of the engine and of plugins, which set the versions of
dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package in a lock file."""

    name: str
    version: str
    text: str
    """The lines of the package below `[[package]]`."""

    @property
    def line(self) -> tuple[str, str]:
        """The package's name, and the part of its version that determines compatibility. If both
        agree, cargo uses one version for all dependents."""
        major, minor, *_ = [*self.version.split("."), "0"]
        return self.name, (major if major != "0" else f"0.{minor}")


def merged(engine: str, plugins: Iterable[str]) -> str:
    """Join lock files. If several files have compatible versions of a package, keep the version of
    the engine, or of the first plugin if the engine does not have the package.
    """
    head, _, _ = engine.partition("[[package]]")
    packages = _packages(engine)
    kept = {one.line: one for one in packages}
    # Each package, with the lock file from which its dependencies come.
    whole = [(one, packages) for one in packages]
    for text in plugins:
        own = _packages(text)
        for one in own:
            # Packages without a source are folders, and cargo finds folders without the lock file.
            if "\nsource = " in one.text and one.line not in kept:
                kept[one.line] = one
                whole.append((one, own))
    versions: dict[str, set[str]] = {}
    for one in kept.values():
        versions.setdefault(one.name, set()).add(one.version)

    def exact(dependency: str, known: list[Package]) -> str:
        """Return a dependency, with its version if the joined file has several versions of it."""
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
