"""The source of a scenario, for another process that reads it again.

A scenario that was read belongs to the compiled part and cannot be sent. Its source can: text,
values that were set, traces. The reader compares the ids of its runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from tailback import _native
from tailback.errors import InputError


@dataclass(frozen=True)
class ScenarioRecipe:
    """A scenario as it is sent."""

    text: bytes
    name: str
    """What messages call it."""
    values: tuple[tuple[str, str], ...]
    seeds: int | None
    engine: str
    files: tuple[tuple[str, bytes], ...]
    """The files that it names, relative to its folder."""


def of(scenario: _native.Scenario, engine: str) -> ScenarioRecipe:
    """The data that another process needs to read it again."""
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
    # A file with an absolute path must exist on every machine.
    names = [name for name in scenario.files if not os.path.isabs(name)]
    return ScenarioRecipe(
        scenario.text.encode(),
        scenario.file,
        tuple(scenario.overrides),
        scenario.seeds,
        engine,
        tuple((name, (scenario.folder / name).read_bytes()) for name in names),
    )
