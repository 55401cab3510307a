"""Sends a scenario to another process, which reads it again.

A scenario that was read is an object of the compiled module, and such an object cannot be sent.
This module therefore sends the source of the scenario: its text, replaced values, and traces. The
receiver checks that the scenario gives the same run ids.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tailback import _native
from tailback.errors import InputError


@dataclass(frozen=True)
class ScenarioRecipe:
    """The source of a scenario, in a form that can be sent."""

    text: bytes
    name: str
    """The name of the scenario in messages."""
    values: tuple[tuple[str, str], ...]
    seeds: int | None
    engine: str
    files: tuple[tuple[str, bytes], ...]
    """The files that the scenario names. Each has a path relative to the scenario's folder, and its
    content."""


def of(scenario: _native.Scenario, engine: str) -> ScenarioRecipe:
    """Collect the data that another process needs to read a scenario again."""
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
    # Files with absolute paths are not sent. They must exist on every machine.
    names = [name for name in scenario.files if not os.path.isabs(name)]
    return ScenarioRecipe(
        scenario.text.encode(),
        scenario.file,
        tuple(scenario.overrides),
        scenario.seeds,
        engine,
        tuple((name, (scenario.folder / name).read_bytes()) for name in names),
    )
