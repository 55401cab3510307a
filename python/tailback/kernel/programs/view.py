"""Resolves paths that a program in the guest uses to files of this machine.

Links are followed as in the guest: an absolute link leads into the package root, not into this
machine's root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST_LINKS = 40

FILES = "/files"
WORK = "/work"
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Folders to search for programs, after the files of the scenario."""

LIBRARY_PATH = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"),
    *("/lib", "/usr/lib"),
)
"""Folders where the loader of Debian's libc searches for libraries."""


@dataclass(frozen=True)
class View:
    """A package root or container image, together with the files that the scenario adds to it."""

    root: Path
    """The root of the packages, or the root of an image."""
    files: Mapping[str, Path]
    """The files in /files of the guest, by name."""
    cwd: str = WORK
    """The working folder of the program."""
    search: Sequence[str] = PATH
    """Folders to search for programs, after the files of the scenario."""

    def find(self, path: str) -> Path | None:
        """Return the file or folder of this machine that a path of the guest refers to, or None if
        it does not exist."""
        links = 0
        at = PurePosixPath("/")
        left = list(reversed(PurePosixPath(path).parts))
        while left:
            part = left.pop()
            if part == "/":
                at = PurePosixPath("/")
                continue
            if part == "..":
                at = at.parent
                continue
            here = self._here(at / part)
            if here is None:
                return None
            # Follow links as the guest does only in the root file system. If a file that the
            # scenario names is a link, this machine follows it.
            if here.is_symlink() and here not in self.files.values():
                links += 1
                if links > MOST_LINKS:
                    return None
                left += reversed(PurePosixPath(os.readlink(here)).parts)
                continue
            at /= part
        found = self._here(at)
        return found if found is not None and found.exists() else None

    def program(self, word: str) -> tuple[str, Path] | None:
        """Find a program by its name. Return its path in the guest, and the corresponding file of
        this machine.
        """
        places = [f"{self.cwd}/{word}"] if "/" in word else [f"{at}/{word}" for at in self.path()]
        if word.startswith("/"):
            places = [word]
        for place in places:
            found = self.find(place)
            if found is not None and found.is_file():
                return place, found
        return None

    def path(self) -> Sequence[str]:
        """Folders in which to search for programs, in order."""
        folders = [f"{FILES}/{name}" for name, path in self.files.items() if path.is_dir()]
        return [FILES, *folders, *self.search]

    def programs(self) -> Iterator[str]:
        """Yield the names of all programs that can be run without a path."""
        for name, path in self.files.items():
            yield name
            if path.is_dir():
                yield from sorted(one.name for one in path.iterdir() if one.is_file())
        for place in dict.fromkeys(self.search[:4]):
            folder = self.find(place)
            if folder is not None and folder.is_dir():
                yield from sorted(one.name for one in folder.iterdir())

    def _here(self, at: PurePosixPath) -> Path | None:
        """Follow the links in all parts of a path except the last."""
        for top in (FILES, WORK):
            if self.files and at == PurePosixPath(top):
                return self.root
            if self.files and at.is_relative_to(top):
                name, *rest = at.relative_to(top).parts
                return self.files[name].joinpath(*rest) if name in self.files else None
        found = self.root / at.relative_to("/")
        return found if found.is_symlink() or found.exists() else None
