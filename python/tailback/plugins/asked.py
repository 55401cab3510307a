"""Which crates are asked for: by a command or a caller, by the environment, by a scenario."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tailback.errors import ScenarioError

VARIABLE = "TAILBACK_WITH"
"""Folders of crates for whatever runs in this environment, separated as in PATH."""

KEY = "with"
"""The key of a scenario that names some."""


def by_environment() -> list[Path]:
    """Those of the environment; `--with` of a command is among them."""
    return [Path(text) for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]


def with_environment(folders: Iterable[str]) -> str:
    """What `VARIABLE` is with these folders besides those that it has."""
    known = [*map(str, by_environment()), *(str(Path(folder).absolute()) for folder in folders)]
    return os.pathsep.join(dict.fromkeys(known))


def by_scenario(
    text: bytes, file: str, values: Sequence[tuple[str, str]], folder: Path
) -> list[Path]:
    """Those that a scenario names, relative to its folder.

    Raises `ScenarioError` for folders that do not exist; the reader of the scenario reports every
    other mistake in the key.
    """
    named: object = None
    if KEY.encode() in text:
        try:
            named = _tables(text.decode()).get(KEY)
        except (ValueError, RecursionError):
            return []
    for path, value in values:
        if path == KEY:
            try:
                named = _tables(f"it = {value}")["it"]
            except (ValueError, RecursionError):
                return []
    if not isinstance(named, list) or not all(isinstance(entry, str) for entry in named):
        return []
    absent = [entry for entry in named if not (folder / entry).is_dir()]
    if absent:
        raise ScenarioError(
            [f"{file}{_place(text, entry)}: no folder {entry!r}" for entry in absent]
        )
    return [folder / entry for entry in named]


def _tables(text: str) -> dict[str, Any]:
    # Few scenarios have the key.
    import tomllib

    return tomllib.loads(text)


def _place(text: bytes, word: str) -> str:
    """Line and column of a text in a file, as `:LINE:COLUMN`; nothing if it is not there."""
    for number, line in enumerate(text.decode().splitlines(), start=1):
        for quote in "\"'":
            if (at := line.find(f"{quote}{word}{quote}")) >= 0:
                return f":{number}:{at + 1}"
    return ""
