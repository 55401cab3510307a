"""Describes a scenario so that another process can read it again.

A loaded scenario cannot be sent, because it is an object of the compiled module. This module sends
the scenario's source instead: its text, the values that `--set` replaces, and traces. The receiver
checks that it gets the same run ids.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tailback import _native
from tailback.errors import InputError


@dataclass(frozen=True)
class ScenarioRecipe:
    """The text, the values of `--set` and the traces from which a scenario is read."""

    text: bytes
    name: str
    """The name of the scenario in messages."""
    values: tuple[tuple[str, str], ...]
    seeds: int | None
    engine: str
    files: tuple[tuple[str, bytes], ...]
    """The files that the scenario names. Each file has a path relative to the scenario's folder,
    and its content."""


def of(scenario: _native.Scenario, engine: str) -> ScenarioRecipe:
    """Collect the data that another process needs to read a scenario."""
    if scenario.plugins:
        raise InputError(
            f"{scenario.file}: plugins are compiled where they are used and are not sent to a "
            "cluster; use --shard, or a scenario without plugins"
        )
    if scenario.runs_programs:
        raise InputError(
            f"{scenario.file}: programs and their files are on this machine and are not sent to a "
            "cluster; expected --shard"
        )
    # Files with absolute paths are not sent. These files must exist on every machine.
    names = [name for name in scenario.files if not os.path.isabs(name)]
    return ScenarioRecipe(
        scenario.text.encode(),
        scenario.file,
        tuple(scenario.overrides),
        scenario.seeds,
        engine,
        tuple((name, (scenario.folder / name).read_bytes()) for name in names),
    )
