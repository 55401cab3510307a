"""Reads the TOML of tasks and submissions, with the line and column of each key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.base.located import Located
from tailback.errors import InputError
from tailback.teaching.grading import places

MAX_BYTES = 64 << 10
"""The size limit of a task or submission, in bytes."""

_PLACE = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end.*)\)")


class Misread(Exception):
    """Raised if a file cannot be read or is not valid TOML.

    `problem` says where the error is and why.
    """

    def __init__(self, problem: Located) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True)
class PlacedDocument:
    """A parsed file, with its text and the positions of its keys."""

    file: str
    text: str
    tables: Mapping[str, Any]
    keys: Mapping[places.Path, places.KeyPlace]

    def problem(self, path: places.Path, message: str, help_: str | None = None) -> Located:
        """Return an error at a key, or at the nearest table that contains it."""
        while path and path not in self.keys:
            path = path[:-1]
        found = self.keys.get(path, places.KeyPlace(1, 1, 1))
        lines = self.text.splitlines() or [""]
        source = lines[min(found.line, len(lines)) - 1]
        return Located(self.file, found.line, found.column, message, help_, source, found.width)


def read(path: Path) -> PlacedDocument:
    """Read a file. Raises `Misread` if the file is not valid TOML."""
    file = str(path)
    try:
        text = foreign.read(path, limit=MAX_BYTES).decode()
    except InputError as error:
        what = str(error).removeprefix(f"{foreign.line(path)}: ")
        raise Misread(Located(file, 1, 1, what)) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        raise Misread(
            Located(file, line, column, "not UTF-8 text", "save the file as UTF-8")
        ) from None
    try:
        return PlacedDocument(file, text, tomllib.loads(text), places.keys(text))
    except tomllib.TOMLDecodeError as error:
        raise Misread(_misplaced(file, text, str(error))) from None
    except (RecursionError, ValueError):
        # The TOML library raises other errors, e.g. for a number with a million digits or a
        # thousand nested brackets.
        raise Misread(
            Located(file, 1, 1, "nested too deep, or a number too long", "write a plain value")
        ) from None


def _misplaced(file: str, text: str, said: str) -> Located:
    lines = text.splitlines() or [""]
    found = _PLACE.fullmatch(said)
    what = found["what"] if found else said
    line = int(found["line"]) if found and found["line"] else len(lines)
    column = int(found["column"]) if found and found["column"] else len(lines[-1]) + 1
    source = lines[min(line, len(lines)) - 1]
    message = f"not TOML: {what[:1].lower()}{what[1:]}"
    return Located(file, line, column, message, 'write KEY = VALUE, text in quotes: "20ms"', source)
