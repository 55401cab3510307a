"""Makes temporary folders and removes folders. No other module removes folders.

A name from a file must never determine which folder is deleted. Callers of `remove` therefore pass
a second folder, `inside`. If the folder to remove is not below `inside`, `remove` raises an error
and deletes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailback import _native


def remove(folder: Path, *, inside: Path) -> None:
    """Remove a folder with its content.

    `folder` must be below `inside` after all links in its path are resolved. `folder` may not be a
    link itself, because the target of the link would be removed. A missing folder is not an error.
    Files that cannot be removed are left in place. Raises `ValueError` if `folder` is not below
    `inside`."""
    # Importing `shutil` is slow, and most commands do not need it.
    import shutil

    place = Path(os.path.realpath(folder.parent)) / folder.name
    root = Path(os.path.realpath(inside))
    if folder.name in ("", ".", "..") or root not in place.parents or place.is_symlink():
        raise ValueError(f"{folder} is not a folder inside {inside}; it is not removed")
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Yield a folder in `parent` that only this process uses. The folder is removed at the end of
    the `with` block.

    A caller that wants to keep a file or folder moves it out of this folder. A killed process
    leaves its folder in `parent`, and the next process that calls this function removes it.
    """
    made = _native.Scratch(parent)
    try:
        yield made.path
    finally:
        made.close()
