"""Scenarios that come with tailback: `tailback new NAME` prints `NAME.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from tailback.base.names import unknown
from tailback.errors import InputError

_SUFFIX = ".toml"


def names() -> list[str]:
    found = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


def command_of(name: str) -> str | None:
    """Return the command that writes the example with this name. Return None if no example has this
    name."""
    return f"tailback new {name} > {name}.toml" if name in names() else None


def text(name: str) -> str:
    if name not in names():
        raise InputError(unknown("example", name, names()))
    return files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def title(name: str) -> str:
    return str(tomllib.loads(text(name)).get("title", ""))
