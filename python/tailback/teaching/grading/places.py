"""Finds the positions of the keys in a TOML text, because the TOML library does not report them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field

Path = tuple[str, ...]
"""A path: keys from the outermost to the innermost. The key of a list element is its index."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}\n#]+")


@dataclass(frozen=True)
class KeyPlace:
    """The line and column of a key, both counted from 1, and the length of the key."""

    line: int
    column: int
    width: int


class _Unexpected(Exception):
    """Raised for TOML that this simple reader does not understand."""


@dataclass
class _Reader:
    text: str
    at: int = 0
    places: dict[Path, KeyPlace] = field(default_factory=dict)
    lists: dict[Path, int] = field(default_factory=dict)

    def document(self) -> None:
        table: Path = ()
        while self._more():
            if self._take("["):
                several = self._take("[")
                table = self._keys(())
                if several:
                    number = self.lists.get(table, 0)
                    self.lists[table] = number + 1
                    table = (*table, str(number))
                self._expect("]]" if several else "]")
            else:
                self._pair(table)

    def _more(self) -> bool:
        self._skip()
        return self.at < len(self.text)

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _take(self, word: str) -> bool:
        self._skip()
        if not self.text.startswith(word, self.at):
            return False
        self.at += len(word)
        return True

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise _Unexpected

    def _keys(self, table: Path) -> Path:
        path = table
        while True:
            self._skip()
            found = _KEY.match(self.text, self.at)
            if found is None:
                raise _Unexpected
            key = found[0]
            path = (*path, key[1:-1] if key[0] in "\"'" else key)
            line = self.text.count("\n", 0, self.at) + 1
            column = self.at - self.text.rfind("\n", 0, self.at)
            self.places.setdefault(path, KeyPlace(line, column, len(key)))
            self.at = found.end()
            if not self._take("."):
                return path

    def _pair(self, table: Path) -> None:
        path = self._keys(table)
        self._expect("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip()
        if self._take("["):
            number = 0
            while not self._take("]"):
                self._value((*path, str(number)))
                number += 1
                self._take(",")
        elif self._take("{"):
            while not self._take("}"):
                self._pair(path)
                self._take(",")
        else:
            found = _STRING.match(self.text, self.at) or _BARE.match(self.text, self.at)
            if found is None:
                raise _Unexpected
            self.at = found.end()


def keys(text: str) -> dict[Path, KeyPlace]:
    """Return the line and column of each key of a valid TOML text."""
    reader = _Reader(text)
    # Errors at keys that were not found are reported at the beginning of the file.
    with suppress(_Unexpected, RecursionError):
        reader.document()
    return reader.places
