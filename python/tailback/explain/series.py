"""Finds facts that only the series of a run shows, such as an AQM's state over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tailback.explain.reductions import median
from tailback.store.run_folder import SERIES, StoredRun

if TYPE_CHECKING:
    import polars as pl

LEAD = 2.0
"""A flow leads if its throughput is at least this many times the throughput of the other flow."""
SECOND = 1_000_000_000
ROWS = 3_000_000
"""The largest number of rows in a series that `explain` reads. Longer series would make `explain`
slow."""
PLAIN = ("backlog_packets", "backlog_bytes")
"""Quantities of every link, which are not part of the AQM's state."""


def of(run: StoredRun) -> pl.DataFrame | None:
    """Read the series. Return None if the run recorded no series, or more than `ROWS` rows."""
    if not 0 < run.rows(SERIES) <= ROWS:
        return None
    return run.series()


def states(series: pl.DataFrame, link: str, warmup_s: float) -> list[dict[str, Any]]:
    import polars as pl

    samples = series.filter(
        pl.col("link") == link,
        pl.col("flow").is_null(),
        ~pl.col("quantity").is_in(PLAIN),
        ~pl.col("quantity").str.contains(r"^(?:drop|mark|class)\."),
        pl.col("time_ns") >= int(warmup_s * SECOND),
    )
    out = []
    for (quantity,), rows in samples.group_by("quantity", maintain_order=True):
        values = rows["value"].drop_nans().to_list()
        if len(values) < 4 or max(values) == min(values):
            continue
        size = len(values) / 4
        parts = [values[int(i * size) : int((i + 1) * size)] for i in range(4)]
        out.append(
            {
                "quantity": quantity,
                "n": len(values),
                # A quantity that never falls is a counter. Explanations leave out counters, because
                # the summary contains their totals.
                "grows": all(b >= a for a, b in pairwise(values)),
                "mean": sum(values) / len(values),
                "min": min(values),
                "max": max(values),
                "quarters": [sum(part) / len(part) for part in parts],
            }
        )
    return out


def lead(series: pl.DataFrame, first: str, other: str, warmup_s: float) -> dict[str, Any] | None:
    """Return which of two flows has the higher throughput in each second after the warm-up."""
    import polars as pl

    rates = []
    for name in (first, other):
        rows = series.filter(
            pl.col("flow") == name, pl.col("quantity").is_in(["delivered_bytes", "acked_bytes"])
        )
        seconds = (
            rows.with_columns((pl.col("time_ns") // SECOND).alias("second"))
            .group_by("second")
            .agg(pl.col("value").max())
            .sort("second")
        )
        last = dict(seconds.iter_rows())
        rates.append({b: last[b] - last[a] for a, b in pairwise(last) if b == a + 1})
    common = sorted(second for second in rates[0].keys() & rates[1].keys() if second >= warmup_s)
    leaders: list[str | None] = []
    for second in common:
        a, b = rates[0][second], rates[1][second]
        leaders.append(first if a > LEAD * b else other if b > LEAD * a else None)
    if len(leaders) < 10:
        return None
    spells: list[tuple[str, int]] = []
    for leader in leaders:
        if leader is None:
            continue
        if spells and spells[-1][0] == leader:
            spells[-1] = (leader, spells[-1][1] + 1)
        else:
            spells.append((leader, 1))
    return {
        "seconds": len(leaders),
        "shares": {name: leaders.count(name) / len(leaders) for name in (first, other)},
        "neither": leaders.count(None) / len(leaders),
        "changes": max(len(spells) - 1, 0),
        "median_spell_s": median([length for _, length in spells]),
    }
