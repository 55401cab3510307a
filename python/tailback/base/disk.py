"""Finds which disk is full, so that an error message can name the disk."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)

_IN_TEXT = re.compile(r"(?:(?P<path>.*?): )?(?:No space left on device|Disk quota exceeded)")
"""Matches the message of an engine's error about a full disk, which names the path and the
reason."""


def where_full(error: OSError) -> str:
    """Return ` (DISK)` if the error reports a full disk, otherwise an empty text.

    DISK is the mount point of the full disk. If the error has no path, DISK lists every full disk
    to which this process writes.
    """
    text = _IN_TEXT.match(str(error))
    if error.errno not in FULL and not (error.errno is None and text):
        return ""
    name = error.filename if error.filename is not None else text and text["path"]
    if isinstance(name, str | bytes | os.PathLike) and name != STDOUT:
        return f" (the disk that is mounted at {mount_point(Path(os.fsdecode(name)))})"
    if name == STDOUT:
        return ""
    places = dict.fromkeys(mount_point(place) for place in _written())
    full = [str(place) for place in places if _is_full(place)]
    return f" (the disk that is mounted at {' and '.join(full)})" if full else ""


STDOUT = "standard output"
"""The file name in an error about stdout. tailback does not know which disk stdout is
written to."""


def mount_point(path: Path) -> Path:
    place = Path(os.path.realpath(path))
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return place


def _written() -> list[Path]:
    # Importing `tempfile` is slow, and most commands do not need it.
    import tempfile

    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return [Path(), Path(tempfile.gettempdir()), Path(cache).expanduser()]


def _is_full(place: Path) -> bool:
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0)
