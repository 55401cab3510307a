"""Keeps drawn figures in the user's cache folder, so that later reports need not draw the same
figures again.

Drawing takes most of the time of a report from stored runs. A figure depends only on its
specification, the versions of tailback and of the drawing library, and the installed fonts and
their settings. The cache has a file for each combination of these inputs. Each file begins with a
hash of the rest of the file, so a file that was only partly written is ignored. The cache folder
belongs to the user. The module `export` also keeps its scripts in this folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tailback import __version__
from tailback.figures import export

MAX_BYTES = 256 << 20
"""Largest total size of the files, in bytes. If the total is larger, the oldest files are deleted
until half of this size is left."""

_FONTS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "$XDG_DATA_HOME/fonts",
)
_SETTINGS = (
    *("/etc/fonts/fonts.conf", "/etc/fonts/local.conf", "/etc/fonts/conf.d"),
    *("~/.config/fontconfig/fonts.conf", "$XDG_CONFIG_HOME/fontconfig/fonts.conf"),
    "$FONTCONFIG_FILE",
)
"""Paths of fontconfig's settings, which determine the font for each font name."""


def get(text: str) -> str | None:
    """Return the SVG of a figure that was drawn before, or None. `text` is its specification as
    JSON."""
    try:
        mark, _, drawn = _place(text).read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(drawn).hexdigest().encode() != mark:
        return None
    return drawn.decode()


def put(text: str, svg: str) -> None:
    """Keep the SVG of a figure. Do nothing if the cache folder is not writable."""
    place, drawn = _place(text), svg.encode()
    part = place.with_name(f"{place.name}.{os.getpid()}")
    mark = hashlib.sha256(drawn).hexdigest().encode()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(mark + b"\n" + drawn)
        part.replace(place)


def trim(most: int = MAX_BYTES) -> None:
    """Delete the oldest figures if the cached figures together have more than `most` bytes."""
    found = []
    with contextlib.suppress(OSError):
        for path in _folder().iterdir():
            at = path.lstat()
            found.append((at.st_mtime_ns, at.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= most:
        return
    for _, size, path in sorted(found):
        if total <= most // 2:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _place(text: str) -> Path:
    key = f"{_drawer()}\n{text}"
    return _folder() / f"{hashlib.sha256(key.encode()).hexdigest()}.svg"


def _folder() -> Path:
    return export.cache_folder() / "figures"


@cache
def _drawer() -> str:
    """Return a text that identifies everything that affects a drawing except its specification."""
    fonts = "\n".join(line for root in (*_FONTS, *_SETTINGS) for line in sorted(_changes(root)))
    versions = f"{__version__} {version('vl-convert-python')} {export.VEGA_LITE}"
    return f"{versions}\n{fonts}"


def _changes(root: str) -> Iterator[str]:
    """Yield the time of the last change of a file or folder, and of each folder below it."""
    place = os.path.expandvars(os.path.expanduser(root))
    for path in (place, *(folder for folder, _, _ in os.walk(place) if folder != place)):
        with contextlib.suppress(OSError):
            yield f"{path} {os.stat(path).st_mtime_ns}"
