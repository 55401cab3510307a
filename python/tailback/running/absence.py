"""Makes scenarios without a competitor, from which harm is computed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tailback import _native
from tailback.base import toml
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.plugins import copies
from tailback.running import engines


def silencing(scenario: _native.Scenario, name: str) -> dict[str, str]:
    """Return the overrides, by path, that keep a flow or source from sending.

    Raises `InputError` if the scenario has no such flow or source.
    """
    canonical = json.loads(scenario.points[0].canonical)
    places = {part["name"]: key for key in ("flows", "traffic") for part in canonical[key]}
    if name not in places:
        raise InputError(f"--without: {unknown('flow or source of traffic', name, list(places))}")
    path = f"{places[name]}.{name}"
    # A stop must be later than the start, so stop after 1 ns. Nothing is sent in this nanosecond.
    return {f"{path}.start": '"0s"', f"{path}.stop": '"1ns"'}


def without(scenario: _native.Scenario, runner: engines.Engine, name: str) -> _native.Scenario:
    """Return the scenario with this flow or source silenced."""
    title = toml.value(f"{scenario.title}, without {name}".removeprefix(", "))
    values = [*scenario.overrides, *silencing(scenario, name).items(), ("title", title)]
    native = copies.native_of(scenario)

    def read(options: object) -> _native.Scenario:
        loaded: _native.Scenario = native.load(
            scenario.text.encode(errors="surrogateescape"),
            scenario.file,
            values,
            scenario.seeds,
            folder=scenario.folder,
            **options,  # type: ignore[arg-type]
        )
        return loaded

    alone = runner.load(read)
    if [_key(point) for point in alone.points] != [_key(point) for point in scenario.points]:
        raise InputError(
            f"--without {name}: its start and stop are swept, so runs without it do not have "
            "the same sweep points; use other keys in the sweep"
        )
    return alone


def competitors(scenario: _native.Scenario, more: Iterable[str] = ()) -> list[str]:
    """Return the names in `more`, and the competitors that assertions about harm name."""
    asserted = (one.without for one in scenario.asserts)
    return list(dict.fromkeys([*(name for name in asserted if name is not None), *more]))


def _key(point: _native.Point) -> tuple[Sequence[tuple[str, object]], int]:
    return list(point.params.items()), point.seed
