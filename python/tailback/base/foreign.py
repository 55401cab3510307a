"""Reads untrusted files, and prepares untrusted text for a terminal.

An untrusted file must be a regular file, and its size is limited, both compressed and decompressed.
JSON must have a limited depth and finite numbers. A file that breaks these rules raises an
`InputError` with one sentence that names the file."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
import zlib
from pathlib import Path
from typing import Any, NoReturn

from tailback.base import machine
from tailback.errors import InputError

MAX_BYTES = 64 << 20
"""The default size limit of a file, in bytes."""

MAX_NAME = 255
"""Messages show a path in full if it has at most this many characters."""

MAX_MEMBERS = 100
"""The largest number of members in a gzip file. Reading a member copies the rest of the file, so a
file with many members would take very long."""

MAX_DEPTH = 64
"""The maximum nesting depth of lists and tables in JSON."""

MAX_VALUES = 4_000_000
"""The maximum number of lists, tables and values in a JSON file. A list, table or value needs about
100 bytes of memory."""


def read(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file that has at most `limit` bytes."""
    try:
        # Without `O_NONBLOCK`, `open` would wait on a pipe until another process writes to it.
        handle = os.open(path, machine.READ_AT_ONCE)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        # A caller may have passed the content of a file instead of its path, so the
        # path may be a long text.
        name = line(path) if len(str(path)) <= MAX_NAME else quoted(path)
        advice = (
            "name a file that exists"
            if isinstance(error, FileNotFoundError)
            else "name a file that you may read"
        )
        raise InputError(f"{name}: {reason}; {advice}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(
            f"{line(path)}: not a regular file; name a file, not a folder, pipe or device"
        )
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise InputError(f"{line(path)}: {error.strerror}") from None
    if len(data) > limit:
        raise InputError(f"{line(path)}: larger than {limit >> 20} MiB; name a smaller file")
    return data


def gunzip(data: bytes, path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return the decompressed content of a gzip file. The content must have at most `limit` bytes.

    Error messages name `path`.
    """
    out = bytearray()
    try:
        for _ in range(MAX_MEMBERS):
            if not data:
                return bytes(out)
            inflate = zlib.decompressobj(wbits=31)
            out += inflate.decompress(data, limit + 1 - len(out))
            if len(out) > limit:
                raise InputError(
                    f"{line(path)}: larger than {limit >> 20} MiB when unpacked; "
                    "name a smaller file"
                )
            if not inflate.eof:
                raise InputError(
                    f"{line(path)}: truncated, ends in its gzip data; name a complete file"
                )
            # A gzip file may consist of several members, and zeros may follow the last member.
            data = inflate.unused_data.lstrip(b"\0")
    except zlib.error:
        what = "damaged gzip data" if data.startswith(b"\x1f\x8b") else "not gzip data"
        raise InputError(f"{line(path)}: {what}; name a gzip file that is complete") from None
    raise InputError(
        f"{line(path)}: more than {MAX_MEMBERS} gzip members; compress the file again as one member"
    )


def parse_json(data: bytes, path: Path) -> Any:
    """Parse JSON of limited depth with finite numbers. Error messages name `path`."""
    try:
        plain = _check_shape(data)
        if not _EXTREME.search(plain):
            return json.loads(data.decode(), parse_constant=_no_constant)
        return json.loads(
            data.decode(), parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
    except UnicodeDecodeError:
        raise InputError(f"{line(path)}: not UTF-8 text; name a JSON file in UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(
            f"{line(path)}: not JSON ({where}); name a JSON file that is complete"
        ) from None
    except _OutOfRange as error:
        raise InputError(f"{line(path)}: {error}") from None


def read_json(path: Path, *, limit: int = MAX_BYTES) -> Any:
    """Read a JSON file. See `read` and `parse_json` for the limits and errors."""
    return parse_json(read(path, limit=limit), path)


def shown(text: object) -> str:
    r"""Return text that a terminal prints literally, with control characters escaped, as in `\x1b`.

    Line breaks and tabs are not escaped. Characters that reorder text (the
    bidirectional controls) are escaped too.
    """
    said = str(text)
    if said.isprintable():
        return said
    return "".join(c if _harmless(c) else _escaped(c) for c in said)


def line(text: object) -> str:
    """Escape text as `shown` does, and put it on one line. Text after a line break could look like
    a message from tailback.
    """
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")


def quoted(text: object, most: int = 60) -> str:
    """Return the first characters of an untrusted text in quotes, on one line, for a message."""
    words = " ".join(str(text)[: most + 1].split())
    return f'"{shown(words[:most])}{"..." if len(words) > most else ""}"'


def _harmless(c: str) -> bool:
    # Escape control characters, and characters that reorder or hide text.
    # Unicode spaces of any width are harmless, so they are not escaped.
    return c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs"


def _escaped(c: str) -> str:
    code = ord(c)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _OutOfRange(ValueError):
    """Raised for valid JSON that tailback rejects, for example because of a number that is too
    large."""


def _no_constant(word: str) -> NoReturn:
    raise _OutOfRange(f"{word} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise _OutOfRange("a number beyond the range of floating point")
    return value


def _whole(text: str) -> int:
    # Later arithmetic converts integers to floats, so an integer must be within the range of a
    # float. The check also rejects integers with thousands of digits, because `int` would take
    # seconds to convert them.
    _finite(text)
    return int(text)


def _check_shape(data: bytes) -> bytes:
    """Reject JSON that is too deep or too large before parsing it.

    Return the JSON text without its strings. The check of the depth must ignore the
    contents of strings.
    """
    escapes = _PAIR.sub(b"", data.replace(b"\\\\", b""))
    if _HALF.search(escapes):
        raise _OutOfRange("half a character (a lone surrogate)")
    # Remove strings, because a bracket inside a string does not add to the depth. An escaped quote
    # does not end a string.
    plain = _STRING.sub(b"", escapes.replace(b'\\"', b""))
    if plain.count(b",") + plain.count(b"[") + plain.count(b"{") > MAX_VALUES:
        raise _OutOfRange(f"more than {MAX_VALUES} values")
    depth = 0
    for c in plain.translate(None, delete=_NOT_BRACKETS):
        if c in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _OutOfRange(f"nested more than {MAX_DEPTH} deep")
        else:
            depth -= 1
    return plain


_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING = re.compile(rb'"[^"]*"?')
_EXTREME = re.compile(rb"\d{200}|[eE]\+?\d{3}")
"""Matches each number that could overflow floating point or take long to parse. If a text has no
match, its numbers are not checked one by one, because this check doubles the time for reading."""
_NOT_BRACKETS = bytes(c for c in range(256) if c not in b"[]{}")
