"""The absence of a flow or source of traffic: the baseline of harm."""

from __future__ import annotations

import json

from tailback.base.names import unknown
from tailback.comparison.variants import Variant
from tailback.errors import InputError
from tailback.running import engines, scenarios

HARM = (
    "throughput_mbit",
    "harm_throughput",
    "harm_completion",
    "harm_requests",
    "harm_rtt_mean",
    "harm_rtt_p99",
    "harm_drops",
    "harm_chunk_mean",
    "harm_chunk_p99",
)
"""What is compared with a run in which a competitor is absent."""


def without(scenario: scenarios.Source, name: str, engine: str) -> Variant:
    """The variant of a scenario in which a flow or source of traffic sends nothing.

    Raises `InputError` for a name that the scenario does not have.
    """
    with scenarios.quiet():
        loaded = scenarios.load(scenario, [], None, engines.get(engine))
    canonical = json.loads(loaded.points[0].canonical)
    places = {part["name"]: key for key in ("flows", "traffic") for part in canonical[key]}
    if name not in places:
        raise InputError(f"--without: {unknown('flow or source of traffic', name, list(places))}")
    path = f"{places[name]}.{name}"
    # A flow that stops at once needs a start before that.
    return Variant(
        f"without {name}", {f"{path}.start": "0s", f"{path}.stop": "1ms"}, engine, quiet=True
    )
