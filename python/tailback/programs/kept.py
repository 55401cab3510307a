"""Finds the files that a program left in a run's folder: `programs/NAME/SIDE`. The subfolder `out`
contains the files that the program wrote to its output folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailback.store.run_folder import StoredRun

FOLDER = "programs"
SIDES = ("sender", "receiver")
OUT = "out"


@dataclass(frozen=True)
class KeptFile:
    """A file that the client or server of a program wrote, in a stored run."""

    side: str
    name: str
    """Path relative to the folder of the client or server, with slashes."""
    path: str
    """Path relative to the run's folder."""
    size: int


def files(run: StoredRun, program: str) -> Iterator[KeptFile]:
    """Yield the files that a program wrote."""
    marks = run.manifest["files"]
    for side in SIDES:
        base = f"{FOLDER}/{program}/{side}/"
        for path in sorted(marks):
            if path.startswith(base):
                yield KeptFile(side, path.removeprefix(base), path, marks[path]["bytes"])


def out(root: Path, program: str, name: str) -> Path | None:
    """Return the file from the sender's output folder. If the file is not there, return the file
    from the receiver's output folder.

    Return None if there is no such file, or if it is a link.
    """
    for side in SIDES:
        folder = root / FOLDER / program / side / OUT
        path = folder / name
        if _inside(folder, path) and path.is_file():
            return path
    return None


def _inside(folder: Path, path: Path) -> bool:
    """Return whether a path is an existing file within a folder, and no part of the path is a
    link."""
    there = os.path.abspath(path)
    # If any part of the path is a link, resolving the path changes it.
    return os.path.realpath(there) == os.path.join(
        os.path.realpath(folder), os.path.relpath(there, folder)
    ) and Path(there).is_relative_to(os.path.abspath(folder))
