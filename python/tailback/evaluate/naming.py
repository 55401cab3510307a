"""Reads the name of a subject with options: `bbr3`, or `bbr3:draft=06,down_gain=0.8`."""

from __future__ import annotations

import tomllib
from typing import Any

from tailback.errors import InputError


def split(text: str, command: str) -> tuple[str, dict[str, Any]]:
    """Split a subject into its name and options.

    Raises `InputError`, with a message that names `command`, if an option has no value."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{command} {text}: {part} has no value; write {part}=VALUE")
        options[key.strip()] = _value(value.strip())
    return name, options


def _value(text: str) -> object:
    """Return a value as TOML. A word without quotes becomes a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
