"""Finds the errors of a scenario's programs before the kernel boots."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tailback.base import names
from tailback.base.foreign import line
from tailback.kernel.programs import elf, packages
from tailback.kernel.programs.roots import Root
from tailback.kernel.programs.view import LIBRARY_PATH, PATH, View

MOST_LIBRARIES = 2000
LONGEST_SHEBANG = 255


@dataclass(frozen=True)
class Image:
    """A container image that the scenario names, as a root file system."""

    path: Path
    cwd: str = "/"
    """The working folder, a path in the root file system."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for this side (sender or receiver) only."""


@dataclass(frozen=True)
class Program:
    """The data of a scenario's program that the checks need."""

    name: str
    runs: Mapping[str, Sequence[str]]
    """The command of each side that runs something, split into words."""
    packages: Sequence[str] = ()
    files: Sequence[Path] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    """The path of the program's table in the plan, such as programs[0]."""
    images: Mapping[str, Image] = field(default_factory=dict)
    """For each side, the container image that replaces the package root."""


class Problem(NamedTuple):
    """An error, with the key of the scenario that caused it."""

    path: str
    """The path of the wrong key in the plan."""
    text: str


def problems(program: Program, root: Root, archive: Callable[[], Collection[str]]) -> list[Problem]:
    """Return the errors of a program that runs in this package root. `archive` returns the names of
    all packages in Debian's archive.
    """
    faults = []
    missing = set()
    for number, path in enumerate(program.files):
        if not path.exists():
            missing.add(path.name)
            faults.append(Problem(f"{program.path}.files[{number}]", _no_file(path)))
    there = {path.name: path for path in program.files if path.name not in missing}
    of_packages = _Check(program, View(root.path, there), root, archive)
    for side, words in program.runs.items():
        checked = of_packages
        if image := program.images.get(side):
            checked = _InImage.of(program, image, there)
            if said := _no_folder(image):
                faults.append(Problem(f"{program.path}.{side}.cwd", said))
                continue
        # If the file is missing, an error about it was already reported.
        if words and os.path.basename(words[0]) not in missing:
            path_of = f"{program.path}.{side}.run"
            faults += [Problem(path_of, text) for text in checked.runs(words[0])]
    return list(dict.fromkeys(faults))


def _no_file(path: Path) -> str:
    beside = path.parent
    if not beside.is_dir():
        return f"{line(path)} does not exist, nor does {line(beside)}"
    have = sorted(one.name for one in beside.iterdir())
    return names.unknown("file", path.name, have) if have else f"{line(path)} does not exist"


@dataclass
class _Check:
    program: Program
    view: View
    root: Root
    archive: Callable[[], Collection[str]]

    def runs(self, word: str) -> Iterator[str]:
        """Yield an error if the first word of a command is not an executable program."""
        found = self.view.program(word)
        if found is None:
            yield self._not_found(word)
            return
        place, path = found
        yield from self._executable(place, path)

    def _executable(self, place: str, path: Path, *, depth: int = 0) -> Iterator[str]:
        shown = line(path) if path in self._own() else place
        if not os.access(path, os.X_OK):
            yield f"{shown} is not executable; run: chmod +x {line(path)}"
            return
        try:
            header = elf.read(path)
        except (OSError, elf.Damaged) as error:
            yield f"{shown}: {error}"
            return
        if header is not None:
            yield from self._linked(place, path, header, shown)
        elif depth < 3:
            yield from self._script(path, shown, depth)

    def _own(self) -> set[Path]:
        """Return the files that the scenario names, and the content of the folders that it
        names."""
        tops = self.view.files.values()
        return {*tops, *(one for top in tops if top.is_dir() for one in top.rglob("*"))}

    def _linked(self, place: str, path: Path, header: elf.Elf, shown: str) -> Iterator[str]:
        if not header.runs_here:
            yield f"{shown} is for {header.machine}; guests are x86-64"
            return
        if header.interpreter and self.view.find(header.interpreter) is None:
            package = packages.of_library(os.path.basename(header.interpreter), self.archive())
            yield f"{shown} is loaded by {line(header.interpreter)}, {self._in(package)}"
            return
        open_ = [(place, path, header)]
        seen: dict[str, str] = {}
        while open_ and len(seen) < MOST_LIBRARIES:
            place, path, header = open_.pop()
            for name in header.needed:
                if name in seen:
                    continue
                seen[name] = place
                library = self._library(name, place, header)
                if library is None:
                    yield f"{shown} needs {line(name)}{self._by(seen, place)}, {self._where(name)}"
                    continue
                at, file = library
                # A library from a Debian package needs no check, because the package's dependencies
                # provide its libraries.
                if not file.is_relative_to(self.root.path):
                    with_header = elf.read(file)
                    if with_header is not None and with_header.runs_here:
                        open_.append((at, file, with_header))

    def _library(self, name: str, place: str, header: elf.Elf) -> tuple[str, Path] | None:
        origin = os.path.dirname(place)
        own = [re.sub(r"\$\{?ORIGIN\}?", lambda _: origin, one) for one in header.paths]
        given = self.program.env.get("LD_LIBRARY_PATH", "").split(":")
        for folder in (*own, *filter(None, given), *LIBRARY_PATH, *self._configured):
            at = name if "/" in name else f"{folder}/{name}"
            found = self.view.find(at if at.startswith("/") else f"{self.view.cwd}/{at}")
            if found is not None and found.is_file():
                return at, found
        return None

    @cached_property
    def _configured(self) -> Sequence[str]:
        """Return the folders that the loader searches in addition to the standard folders."""
        return ()

    def _by(self, seen: Mapping[str, str], place: str) -> str:
        """Return text that names the library which depends on a missing library.

        Return an empty text if the program itself needs the missing library.
        """
        name = os.path.basename(place)
        return f" (for {line(name)})" if name in seen else ""

    def _where(self, name: str) -> str:
        if gone := packages.GONE.get(name):
            return f"which is {gone}: no Debian package has it; add it to files"
        return self._in(packages.of_library(name, self.archive()))

    def _in(self, package: str | None) -> str:
        if package is None:
            return "which no known package has; add the package that has it, or the file"
        if package in self.root.packages:
            return f"which the version of {package} in use does not have"
        return f'which is in Debian\'s package {package}: add packages = ["{package}"]'

    def _script(self, path: Path, shown: str, depth: int) -> Iterator[str]:
        with path.open("rb") as file:
            first = file.read(LONGEST_SHEBANG + 1)
        if not first.startswith(b"#!"):
            yield f"{shown} is neither a program (ELF) nor a script with #! in its first line"
            return
        words = first[2:].split(b"\n", 1)[0].decode(errors="replace").split()
        if not words:
            yield f"{shown}: no interpreter after #!"
            return
        wanted = words[0]
        if os.path.basename(wanted) == "env" and self.view.find(wanted) is not None:
            named = [one for one in words[1:] if not one.startswith("-") and "=" not in one]
            wanted = named[0] if named else wanted
        interpreter = self.view.program(wanted)
        if interpreter is None:
            package = packages.of_program(wanted, self.archive())
            yield f"{shown} is a script for {line(wanted)}, {self._in_or_near(package)}"
        else:
            yield from self._executable(*interpreter, depth=depth + 1)

    def _in_or_near(self, package: str | None) -> str:
        if package is not None and package in self.root.packages:
            return f"which is not there; {package} has it elsewhere"
        return self._in(package)

    def _not_found(self, word: str) -> str:
        plain = os.path.basename(word)
        if elsewhere := self._elsewhere(plain):
            return (
                f'"{line(word)}" is at {elsewhere}: packages are unpacked, not installed, so '
                "no link leads to it"
            )
        package = packages.of_program(word, self.archive())
        if package is not None and package not in self.root.packages:
            return (
                f'"{line(word)}" is neither in files nor in packages; Debian\'s package {package} '
                f'may have it: add packages = ["{package}"]'
            )
        near = names.nearest(plain, [*self.view.programs()])
        hint = f'; did you mean "{near}"?' if near is not None else ""
        return f'"{line(word)}" is neither in files nor in packages{hint}'

    def _elsewhere(self, name: str) -> str:
        """Find an executable of this name below /usr/lib of the package root, and return its
        path."""
        for base, _folders, files in os.walk(self.root.path / "usr/lib"):
            if name in files and os.access(os.path.join(base, name), os.X_OK):
                return "/" + os.path.relpath(os.path.join(base, name), self.root.path)
        return ""


def _no_folder(image: Image) -> str:
    found = View(image.path, {}).find(image.cwd)
    return "" if found is not None and found.is_dir() else f"the image has no folder {image.cwd}"


@dataclass
class _InImage(_Check):
    """Checks the client or server side of a program that runs in a container image. The image must
    contain every file that the command needs."""

    @classmethod
    def of(cls, program: Program, image: Image, files: Mapping[str, Path]) -> _InImage:
        env = {**program.env, **image.env}
        search = env["PATH"].split(":") if "PATH" in env else PATH
        view = View(image.path, files, image.cwd, tuple(filter(None, search)))
        return cls(replace(program, env=env), view, Root(image.path, {}, ""), tuple)

    @cached_property
    def _configured(self) -> Sequence[str]:
        """Return the library folders that /etc/ld.so.conf and musl's configuration name."""
        folders = []
        configured = [self.view.find("/etc/ld.so.conf"), self.view.find("/etc/ld-musl-x86_64.path")]
        if folder := self.view.find("/etc/ld.so.conf.d"):
            configured += sorted(folder.glob("*.conf"))
        for path in configured:
            if path is not None and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                folders += re.findall(r"(?m)^\s*(/[^\s:]*)", text)
        return [*folders, "/usr/local/lib"]

    def _in(self, package: str | None) -> str:  # noqa: ARG002 (images have no packages)
        return "which the image does not have"

    def _where(self, name: str) -> str:  # noqa: ARG002
        return self._in(None)

    def _in_or_near(self, package: str | None) -> str:
        return self._in(package)

    def _not_found(self, word: str) -> str:
        name = os.path.basename(word)
        message = f'"{line(word)}" is not in the image'
        elsewhere = sorted(one for one in self.root.path.glob(f"*/{name}") if one.is_file())
        if name and elsewhere:
            folder = line(f"/{elsewhere[0].parent.name}")
            return f'{message}; {folder} has it: cwd = "{folder}", run = ["./{line(name)}"]'
        return message
