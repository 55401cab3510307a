"""Writes scenarios that were made in Python as TOML: the validator knows one form only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from tailback.errors import InputError


def dumps(table: Mapping[str, object]) -> str:
    """A document; nested tables are written inline, which means the same."""
    return "".join(f"{key(k)} = {value(v)}\n" for k, v in table.items() if v is not None)


def key(name: str) -> str:
    """A key, quoted where it has to be."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else text(name)


def text(item: str) -> str:
    """A string. JSON's escapes are TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(item: object) -> str:
    """A value."""
    match item:
        case bool():
            return "true" if item else "false"
        case str():
            return text(item)
        case int():
            return str(item)
        case float() if math.isfinite(item):
            return repr(item)
        case Mapping():
            parts = (f"{key(str(k))} = {value(v)}" for k, v in item.items() if v is not None)
            return "{ " + ", ".join(parts) + " }"
        case Sequence():
            return "[" + ", ".join(value(v) for v in item) + "]"
    raise InputError(f"{item!r} cannot stand in a scenario: expected text, numbers, lists, tables")
