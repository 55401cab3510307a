"""Computes statistics of recorded series, weighted by time. A sample of a state (such as a
window or a backlog) is valid until the next sample of its series.

With `record.series = "changes"` or `"acks"`, samples are denser while the state changes, so
unweighted means would be wrong. A value that describes a whole interval counts once, and so
does an event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

Held = Literal["state", "growth", "each"]
"""How long a value of a series is valid.

A "state" is valid from its own time until the next value. A "growth" is valid from the time of the
previous value until its own time. An "each" is an event, or the value of one of equally long
intervals. An event or a value of an interval counts once.
"""

EVENTS = (
    *(f"drop.{cause}" for cause in ("overflow", "aqm", "blue", "overload", "loss")),
    *(f"drop.{cause}" for cause in ("scheduled", "ack_filter", "policed", "middlebox")),
    *(f"mark.{cause}" for cause in ("mark", "step_mark", "sce_mark")),
    *("mark.scheduled_mark", "mark.policed_mark"),
    *("completion_ns", "completion_bytes", "rate_mbit"),
)
"""Series of events and of statistics. Some runs do not record these series."""

_EACH = re.compile(
    r"(?:completion_(?:ns|bytes)|rate_mbit|(?:drop|mark|sce_mark|class)\..+|rtt_ns|delay_ns)"
)
"""Matches series of values that count once. Such values are events, and values of whole intervals,
such as means."""


def held(quantity: str) -> Held:
    """Return "state" if a sample is valid until the next sample, or "each" if every sample counts
    once."""
    return "each" if _EACH.fullmatch(quantity) else "state"


def measured(summary: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[int, int]:
    """Return the start and end (in ns) of the measured time of a flow, link or other part of a run.

    A flow is measured from its start, or from the end of the warm-up, until it stops or
    completes. Other parts are measured from the end of the warm-up to the end of the
    run.
    """
    begin = part.get("from_s", summary["warmup_s"])
    end = part.get("to_s", summary["duration_s"])
    return round(1e9 * begin), round(1e9 * end)


def weighted(frame: pl.DataFrame, by: Sequence[str], how: Held) -> pl.DataFrame:
    """Return the samples within the measured time, with their weights.

    `frame` is sorted by time. The columns of `frame` are time_ns, value, the columns `by` that
    identify a series, and from_ns and to_ns, the limits of the measured time. The result has an
    additional column weight_ns. This column contains the time (in ns) for which the value is valid
    within the measured time, or 1 if the sample counts once. Samples with no valid time are left
    out.
    """
    import polars as pl

    time, begin, end = pl.col("time_ns"), pl.col("from_ns"), pl.col("to_ns")
    if how == "each":
        inside = frame.filter((time >= begin) & (time <= end))
        return inside.with_columns(pl.lit(1, dtype=pl.Int64).alias("weight_ns"))
    if how == "state":
        first, last = time, time.shift(-1).over(by).fill_null(end)
    else:
        first, last = time.shift(1).over(by).fill_null(begin), time
    length = pl.min_horizontal(last, end) - pl.max_horizontal(first, begin)
    return frame.with_columns(length.alias("weight_ns")).filter(pl.col("weight_ns") > 0)


def means_between(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    end: float,
) -> NDArray[np.float64]:
    """Compute the time-weighted mean of a state in each interval between successive times in
    `edges`. The mean is NaN where no sample is valid.

    A sample is valid until the next sample, and the last sample is valid until `end`. If an
    interval contains only the instant of the last sample, its mean is that value.
    """
    import numpy as np

    bounds = np.append(times, max(end, times[-1]))
    whole = np.concatenate(([0.0], np.cumsum(values * np.diff(bounds))))
    inside = np.clip(edges, bounds[0], bounds[-1])
    length = np.diff(inside)
    area = np.diff(np.interp(inside, bounds, whole))
    means = np.full(len(length), np.nan)
    np.divide(area, length, out=means, where=length > 0)
    last = np.searchsorted(edges, times[-1], side="right") - 1
    if 0 <= last < len(means) and np.isnan(means[last]):
        means[last] = values[-1]
    return means


STATISTICS = ("n", "mean", "p1", "p25", "p50", "p75", "p99", "min", "max")


def statistics(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Compute mean and percentiles for each series, from the weighted samples that `weighted`
    returns.

    The p-th percentile is the smallest value that the series does not exceed for p % of the time.
    """
    import polars as pl

    value, weight = pl.col("value"), pl.col("weight_ns")
    share = (weight.cum_sum() / weight.sum()).over(by)
    ordered = frame.sort([*by, "value"], maintain_order=True).with_columns(share.alias("share"))

    def rank(percent: int) -> pl.Expr:
        reached = value.filter(pl.col("share") >= percent / 100 - 1e-12)
        return reached.first().alias(f"p{percent}")

    return ordered.group_by(list(by), maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        ((value * weight).sum() / weight.sum()).alias("mean"),
        *(rank(percent) for percent in (1, 25, 50, 75, 99)),
        value.min().alias("min"),
        value.max().alias("max"),
    )
