"""Makes folders that go away, and removes folders: the only place that does.

A name that was read from a file must never decide what is deleted. Whoever removes
a folder says below which folder of its own that has to be; anything else is a bug and
raises, before a file is touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailback import _native


def remove(folder: Path, *, inside: Path) -> None:
    """Removes a folder and what is in it, as far as that can be done.

    `folder` has to lie below `inside` once all links on the way to it are resolved; it
    may not be a link itself (that what it leads to is removed). What is not there is fine, and
    what cannot be removed stays. Raises `ValueError` for a folder anywhere else.
    """
    place = Path(os.path.realpath(folder.parent)) / folder.name
    root = Path(os.path.realpath(inside))
    if folder.name in ("", ".", "..") or root not in place.parents or place.is_symlink():
        raise ValueError(f"{folder} is not a folder inside {inside}; it is not removed")
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A folder in `parent` that only this process uses, and that goes with this block.

    What is made there takes its place by a rename. What a killed process left in `parent` goes when
    the next one comes here.
    """
    made = _native.Scratch(parent)
    try:
        yield made.path
    finally:
        made.close()
