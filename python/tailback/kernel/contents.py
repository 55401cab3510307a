"""Hashes the files of a guest kernel when it is built, and compares the hashes when it is
used.

A process of tailback hashes each file once, and again only if the file has changed since. Hashes
are not stored between processes, because an attacker who can change a guest kernel could also
change the stored hashes. Reading all files of a guest kernel takes only a tenth of a second.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FOLDER = "/"
"""The entry of a folder in a table of hashes, because a folder has no hash. The entry of a link is
`-> ` and its target."""

RACY_NS = 10**9
"""For this many nanoseconds after a change, a file may change again without getting a new time
stamp."""

SHOWN = 6
"""The largest number of file names in one message."""

_hashes: dict[tuple[object, ...], str] = {}
"""Hashes by path, times and size of a file. The times include the ctime, which no program can
restore after it has changed a file."""


def sha256(path: Path) -> str:
    """Return the hash of a file, or an empty text if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return ""
    if not stat.S_ISREG(status.st_mode):
        return ""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    key = (str(path), status.st_dev, status.st_ino, status.st_size, *times)
    if found := _hashes.get(key):
        return found
    # Importing `hashlib` is slow, and commands that only list kernels hash no file.
    import hashlib

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if time.time_ns() - max(times) > RACY_NS:
        _hashes[key] = digest
    return digest


def of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the hash of each named file and link, and of everything in the named folders. The
    hashes are keyed by path."""
    entries = {}
    for name in names:
        # If a name is a link, hash its target, because the parts of a guest kernel may be links.
        top = folder / name
        for path in (top, *_below(top)) if top.exists() else ():
            entries[str(path.relative_to(folder))] = _what(path, top)
    return dict(sorted(entries.items()))


def differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """Return a phrase for each difference between two sets of hashes."""
    phrases = []
    for path in sorted({*expected, *actual}):
        if path not in actual:
            phrases.append(f"{path} is missing")
        elif path not in expected:
            phrases.append(f"{path} does not belong there")
        elif expected[path] != actual[path]:
            phrases.append(f"{path} differs")
    return phrases


def listed(said: list[str]) -> str:
    """Join the first phrases for a message, and append the number of the other phrases."""
    more = len(said) - SHOWN
    return ", ".join(said[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _below(top: Path) -> Iterator[Path]:
    if not top.is_dir():
        return
    for base, folders, files in os.walk(top):
        for name in (*folders, *files):
            yield Path(base, name)


def _what(path: Path, top: Path) -> str:
    if path.is_symlink() and path != top:
        return f"-> {os.readlink(path)}"
    if path.is_dir():
        return FOLDER
    # The hash is empty for a pipe, a device or anything else that is not a file.
    return sha256(path)
