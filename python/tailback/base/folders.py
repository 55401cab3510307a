"""Makes temporary folders and removes folders. No other module removes folders.

A name that was read from a file must never decide what is deleted. A caller that removes a folder
therefore names the folder of its own that must contain it. Anything else is a bug and raises,
before a file is touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailback import _native


def remove(folder: Path, *, inside: Path) -> None:
    """Remove a folder with its content, as far as possible.

    `folder` must be below `inside` once all links on the way to it are resolved. It may not be a
    link itself, because the target of a link would be removed. A missing folder is not an error,
    and what cannot be removed stays. Raises `ValueError` for a folder anywhere else.
    """
    place = Path(os.path.realpath(folder.parent)) / folder.name
    root = Path(os.path.realpath(inside))
    if folder.name in ("", ".", "..") or root not in place.parents or place.is_symlink():
        raise ValueError(f"{folder} is not a folder inside {inside}; it is not removed")
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A folder in `parent` that only this process uses, and that is removed after this block.

    A rename moves finished content to its final place. Leftovers of a killed process in `parent`
    are removed by the next process that calls this.
    """
    made = _native.Scratch(parent)
    try:
        yield made.path
    finally:
        made.close()
