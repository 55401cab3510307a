"""Makes variants in which a flow or source of traffic is absent. The harm that a flow or source
causes is measured by comparison with the variant without it.
"""

from __future__ import annotations

from tailback.comparison.variants import Variant
from tailback.running import absence, engines, scenarios

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
"""To compute harm, these metrics are compared between a run and the same run without the
competitor."""


def without(scenario: scenarios.Source, name: str, engine: str) -> Variant:
    """Return the variant of a scenario in which a flow or source of traffic sends nothing.

    Raises `InputError` for a name that the scenario does not have.
    """
    with scenarios.quiet():
        loaded = scenarios.load(scenario, [], None, engines.get(engine))
    values = absence.silencing(loaded, name)
    return Variant(f"without {name}", values, engine, quiet=True)
