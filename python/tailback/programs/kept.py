"""The files that a program left: `programs/NAME/SIDE` of its run, with what it wrote to its
output folder in `out`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = "programs"
SIDES = ("sender", "receiver")
OUT = "out"

MAX_FILES = 4000
"""Of a program that are looked at: both sides keep a quarter of it each at most."""


@dataclass(frozen=True)
class Kept:
    """A file of a side of a program."""

    side: str
    name: str
    """Below the side's folder, with slashes."""
    path: Path


def files(root: Path, program: str) -> Iterator[Kept]:
    """The regular files of a program, in the order of their names; no link is followed."""
    left = MAX_FILES
    base = root / FOLDER
    for side in SIDES:
        folder = base / program / side
        if not _inside(base, folder):
            continue
        for at, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                path = Path(at, name)
                if left == 0:
                    return
                left -= 1
                if path.is_file() and not path.is_symlink():
                    yield Kept(side, path.relative_to(folder).as_posix(), path)


def out(root: Path, program: str, name: str) -> Path | None:
    """A file of the output folder of either side, the sender's first; None: there is none."""
    for side in SIDES:
        folder = root / FOLDER / program / side / OUT
        path = folder / name
        if _inside(folder, path) and path.is_file():
            return path
    return None


def _inside(folder: Path, path: Path) -> bool:
    """Whether a path leads, without a link, to something within a folder."""
    there = os.path.abspath(path)
    # A link anywhere below would make the real path another one.
    return os.path.realpath(there) == os.path.join(
        os.path.realpath(folder), os.path.relpath(there, folder)
    ) and Path(there).is_relative_to(os.path.abspath(folder))
