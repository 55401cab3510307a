"""Converts scenarios that Python code has built to TOML, because the validator reads only TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from tailback.base.foreign import quoted
from tailback.errors import InputError


def dumps(table: Mapping[str, object]) -> str:
    """Return a table as a TOML document. Nested tables are inline tables."""
    return Document(table).text


class Document:
    """Converts a table to TOML text, and remembers the line and column of each value.

    The first line is empty, because errors about the whole document point to line 1 and must not
    point to a value.
    """

    def __init__(self, table: Mapping[str, object]) -> None:
        self.text = "\n"
        self._places: list[tuple[int, int, int, str]] = []
        self._line = 2
        for name, item in table.items():
            if item is None:
                continue
            parts = _Parts(self._line, self._places)
            parts.pair(name, item, "")
            self.text += f"{parts.text}\n"
            self._line += 1

    def path(self, line: int, column: int) -> str:
        """Return the path, such as `flows[1].cc`, of the value at this line and column.

        Lines and columns are counted from 1. Return an empty text if no value is at
        this place.
        """
        inside = [
            (end - start, path)
            for at, start, end, path in self._places
            if at == line and start <= column <= end
        ]
        return min(inside)[1] if inside else ""


class _Parts:
    """Builds one line of TOML text, and records the column of each value in it."""

    def __init__(self, line: int, places: list[tuple[int, int, int, str]]) -> None:
        self.text = ""
        self._line = line
        self._places = places

    def pair(self, name: object, item: object, inside: str) -> None:
        if not isinstance(name, str):
            where = f"{inside}: " if inside else ""
            raise InputError(f"{where}the key {name!r} is not text; expected names of keys")
        start = len(self.text)
        path = f"{inside}.{key(name)}" if inside else key(name)
        self.text += f"{key(name)} = "
        self.item(item, path)
        self._note(start, path)

    def item(self, item: object, path: str) -> None:
        start = len(self.text)
        if isinstance(item, Mapping):
            before = "{ "
            for name, inner in item.items():
                if inner is not None:
                    self.text += before
                    self.pair(name, inner, path)
                    before = ", "
            self.text += " }" if before == ", " else "{  }"
        elif isinstance(item, Sequence) and not isinstance(item, str | bytes):
            self.text += "["
            for i, inner in enumerate(item):
                self.text += ", " if i else ""
                self.item(inner, f"{path}[{i}]")
            self.text += "]"
        else:
            self.text += _plain(item, path)
        self._note(start, path)

    def _note(self, start: int, path: str) -> None:
        self._places.append((self._line, start + 1, len(self.text) + 1, path))


def key(name: str) -> str:
    """Return a key as TOML, quoted if necessary."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else text(name)


def text(item: str) -> str:
    """Return a string as TOML. JSON's escapes are valid in TOML, but TOML also requires DEL to be
    escaped."""
    if any("\ud800" <= c <= "\udfff" for c in item):
        raise InputError(f"{quoted(item)} is not UTF-8 text; use names in UTF-8")
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(item: object) -> str:
    parts = _Parts(1, [])
    parts.item(item, "")
    return parts.text


def _plain(item: object, path: str) -> str:
    match item:
        case bool():
            return "true" if item else "false"
        case str():
            return text(item)
        case int():
            return str(item)
        case float() if math.isfinite(item):
            return repr(item)
    where = f"{path}: " if path else ""
    raise InputError(
        f"{where}{item!r} cannot be in a scenario; expected text, numbers, lists, tables"
    )
