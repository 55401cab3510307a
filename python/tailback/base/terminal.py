"""Writes to stdout and stderr. All other modules print through this module. Tables use
`tailback.base.console`.

Titles, names and messages come from untrusted files, and a terminal obeys control characters in
them. All printed text therefore passes through this module, which escapes it.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from typing import Any, TextIO

from tailback.base import disk
from tailback.base.foreign import shown


def prepare() -> None:
    """Make stdout and stderr escape characters that their encoding cannot represent. By default,
    Python raises an error for such a character.
    """
    # If the caller has closed stdout or stderr, Python sets the stream to None. Discard everything
    # that is printed to a closed stream.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def out(text: object = "", *, end: str = "\n") -> None:
    _write(sys.stdout, shown(text) + end)


def err(text: object) -> None:
    _write(sys.stderr, f"{shown(text)}\n")


def note(text: object) -> None:
    """Print a progress message on stderr, after the program's name."""
    err(f"tailback: {text}")


def out_json(data: Any) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=not _is_unicode(sys.stdout))
    # JSON escapes only the control characters below 0x20. Also escape DEL and control characters
    # outside ASCII.
    _write(sys.stdout, _NOT_ASCII.sub(_escaped, text).replace("\x7f", "\\u007f") + "\n")


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def _escaped(match: re.Match[str]) -> str:
    return "".join(c if shown(c) == c else json.dumps(c)[1:-1] for c in match[0])


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # If stdout is a file on a full disk, the error has no path. Raise an error that names
        # stdout. A closed pipe still raises `BrokenPipeError`.
        if stream is not sys.stdout or isinstance(error, BrokenPipeError) or error.filename:
            raise
        raise type(error)(error.errno, error.strerror, disk.STDOUT) from error
