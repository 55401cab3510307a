"""What a scenario was read from, for another process that reads it again.

A scenario that was read belongs to the compiled part and does not travel; its text does, with the
values that were set and the traces that it names. Whoever reads it compares the ids of its runs.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.errors import InputError


@dataclass(frozen=True)
class ScenarioRecipe:
    """A scenario as it goes out."""

    text: bytes
    name: str
    """What messages call it."""
    values: tuple[tuple[str, str], ...]
    seeds: int | None
    engine: str
    files: tuple[tuple[str, bytes], ...]
    """What it names relative to its folder."""


@dataclass(frozen=True)
class _Read:
    text: bytes
    name: str
    folder: Path
    values: tuple[tuple[str, str], ...]
    seeds: int | None
    plugins: bool


_READ: dict[str, _Read] = {}
"""By the id of the scenario, which is that of its points and of the engine's version."""


def remember(
    scenario: _native.Scenario,
    text: bytes,
    name: str,
    folder: Path,
    values: Sequence[tuple[str, str]],
    seeds: int | None,
    *,
    plugins: bool,
) -> None:
    """Keeps what a scenario was read from."""
    _READ[scenario.id] = _Read(text, name, folder, tuple(values), seeds, plugins)


def of(scenario: _native.Scenario, engine: str) -> ScenarioRecipe:
    """What another process needs to read it too."""
    read = _READ[scenario.id]
    if read.plugins:
        raise InputError(
            f"{read.name}: plugins are compiled where they are used and are not sent to a "
            "cluster; use --shard, or a scenario without plugins"
        )
    if _has_programs(read.text):
        raise InputError(
            f"{read.name}: programs and their files are on this machine and are not sent to a "
            "cluster; expected --shard"
        )
    files = tuple((name, (read.folder / name).read_bytes()) for name in files_of(read))
    return ScenarioRecipe(read.text, read.name, read.values, read.seeds, engine, files)


def _has_programs(text: bytes) -> bool:
    try:
        return "programs" in _table(text.decode())
    except (ValueError, RecursionError):
        return False


def _table(text: str) -> dict[str, Any]:
    # Only what leaves this process is read here.
    import tomllib

    return tomllib.loads(text)


def files_of(read: _Read) -> list[str]:
    """The traces that a scenario names; one with an absolute path is to be there everywhere."""
    tables: list[Any] = []
    # It was read: what is beyond this reader names no file.
    with contextlib.suppress(ValueError, RecursionError):
        tables.append(_table(read.text.decode()))
    for path, value in read.values:
        try:
            tables.append(_table(f"{json.dumps(path)} = {value}"))
        except (ValueError, RecursionError):
            continue
    found = dict.fromkeys(name for table in tables for name in _traces(table, inside=False))
    return [name for name in found if not os.path.isabs(name) and (read.folder / name).is_file()]


def _traces(part: Any, *, inside: bool) -> Iterator[str]:
    """Texts below a key `trace`, or a path that ends in it."""
    if isinstance(part, str):
        if inside:
            yield part
    elif isinstance(part, Mapping):
        for key, inner in part.items():
            yield from _traces(inner, inside=inside or str(key).rpartition(".")[2] == "trace")
    elif isinstance(part, list):
        for inner in part:
            yield from _traces(inner, inside=inside)
