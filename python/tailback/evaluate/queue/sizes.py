"""RFC 7928 section 4.4: packets of two sizes."""

from __future__ import annotations

from dataclasses import replace

from tailback.evaluate.measures import at, mean, named
from tailback.evaluate.queue.placed import REFERENCE, pair
from tailback.store.results import Run


def small_over_large(run: Run) -> float | None:
    """Return the mean goodput of flows with small packets divided by the mean goodput of flows with
    large packets."""
    small, large = (
        mean(at(flow, "throughput_mbit") for flow in named(run, name))
        for name in ("small", "large")
    )
    return small / large if small is not None and large else None


_delay, _goodput = pair("4.4", "Packet sizes", "4.4-sizes.toml", quick={"duration": "40s"})

CRITERIA = (
    _delay,
    _goodput,
    replace(
        _goodput,
        id="4.4-ratio",
        title="Packet sizes: small over large",
        measure=(
            f"small-packet goodput divided by large-packet goodput: {REFERENCE}'s ratio minus the "
            "tested algorithm's, divided by the larger of the two"
        ),
        value=small_over_large,
        unit="",
    ),
)
