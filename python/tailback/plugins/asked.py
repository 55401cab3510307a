"""Finds the plugins that a command line, the environment or a scenario names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailback import _native
from tailback.errors import ScenarioError

VARIABLE = "TAILBACK_WITH"
"""Environment variable with the folders of plugins for all runs, separated like the folders in
PATH."""

KEY = "with"
"""The key of a scenario that names plugins."""


def by_environment() -> list[Path]:
    """Return the folders of plugins that the environment names. `--with` adds further folders."""
    return [Path(text) for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]


def with_environment(folders: Iterable[str]) -> str:
    """Return the list of folders for the environment variable `VARIABLE`, with these folders
    added."""
    known = [*map(str, by_environment()), *(str(Path(folder).absolute()) for folder in folders)]
    return os.pathsep.join(dict.fromkeys(known))


def by_scenario(
    text: bytes, file: str, values: Sequence[tuple[str, str]], folder: Path
) -> list[Path]:
    """Return the folders of plugins that a scenario names, relative to the scenario's folder.

    Raises `ScenarioError` for folders that do not exist. The scenario parser reports other errors
    of the key.
    """
    # Most scenarios do not have the key `with`, and need not be parsed here.
    if KEY.encode() not in text and not any(path == KEY for path, _ in values):
        return []
    named = _native.named_plugins(text, file, list(values))
    absent = [missing for folder_name, missing in named if not (folder / folder_name).is_dir()]
    if absent:
        raise ScenarioError(absent)
    return [folder / folder_name for folder_name, _ in named]
