"""Checks arguments of public functions. If an argument has a wrong type, these functions raise an
`InputError` with a sentence for the user, not a `TypeError`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tailback.base.foreign import quoted
from tailback.errors import InputError


def _is(value: object) -> str:
    """Return the shortened text and the type of a rejected value, for an error message."""
    text = f"{quoted(value)}, text" if isinstance(value, str) else quoted(repr(value))[1:-1]
    return text if isinstance(value, str) else f"{text} ({type(value).__name__})"


def count(name: str, value: object, least: int = 1) -> int:
    """Check that an argument is a whole number of at least `least`, and return it. NumPy's integers
    are accepted, but `True` is not.
    """
    expected = f"expected a whole number of at least {least}"
    if isinstance(value, bool):
        raise InputError(f"{name} is {value}; {expected}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name} is {_is(value)}; {expected}") from None
    if number < least:
        raise InputError(f"{name} is {number}; expected at least {least}")
    return number


def names(name: str, value: object) -> list[str]:
    """Check that an argument is a list of names, and return it. A single name becomes a list with
    one entry.
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return list(value)
    raise InputError(f"{name} is {_is(value)}; expected a list of names")


def values(name: str, value: object) -> list[Any]:
    """Check that an argument is a list of values, and return it. A string is rejected, because its
    characters would become the values.
    """
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    if not isinstance(value, str | bytes | Mapping) and hasattr(value, "tolist"):
        return values(name, value.tolist())
    raise InputError(f"{name} is {_is(value)}; expected a list of values")


def table(name: str, value: object, of: str) -> Mapping[str, Any]:
    """Check that an argument is a mapping with strings as keys, and return it. `of` is the text
    that describes the expected entries in the error message.
    """
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise InputError(f"{name} is {_is(value)}; expected a dict {of}")


def path(name: str, value: object) -> str | os.PathLike[str]:
    """Check that an argument is a path (a `Path` or text), and return it."""
    if isinstance(value, str | os.PathLike):
        return value
    raise InputError(f"{name} is {_is(value)}; expected a path")
