"""Computes the errors that the report's table of mechanisms shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailback.metrics.statistics import median, nearest_rank
from tailback_studies.experiments.sce_2019.points import SceEntry
from tailback_studies.reproduction.entries import sizes

# Columns of the table: heading, kind of error, and predicate for the values.
COLUMNS: tuple[tuple[str, str, Callable[[SceEntry], bool]], ...] = (
    (
        "throughput, one flow or fair-queued",
        "relative",
        lambda e: e.table.quantity == "throughput_mbit" and not e.table.setup.shared,
    ),
    (
        "throughput, shared, of the rate",
        "capacity",
        lambda e: e.table.quantity == "throughput_mbit" and e.table.setup.shared,
    ),
    (
        "TCP RTT from 5 Mbit/s",
        "relative",
        lambda e: e.table.quantity == "tcp_rtt_ms" and e.rate_mbit >= 5,
    ),
    ("TCP RTT below", "relative", lambda e: e.table.quantity == "tcp_rtt_ms" and e.rate_mbit < 5),
)


def arrow(
    before: Sequence[SceEntry],
    changed: Sequence[SceEntry],
    kind: str,
    belongs: Callable[[SceEntry], bool],
) -> str | None:
    """Return a text with the median and the 90th percentile of the errors (in %), before and after
    a change."""
    pair = [_two(sizes((e for e in cells if belongs(e)), kind)) for cells in (before, changed)]
    return None if None in pair else " \u2192 ".join(str(text) for text in pair)


def _two(errors: Sequence[float]) -> str | None:
    middle, high = median(errors), nearest_rank(errors, 0.9)
    if middle is None or high is None:
        return None
    return f"{100 * middle:.1f} / {100 * high:.1f}"
