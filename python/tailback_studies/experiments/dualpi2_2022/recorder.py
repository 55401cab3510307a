"""Computes queue delays in the same way as the publication's recorder.

The queue writes each packet's delay into the IP header in 11 bits. The delay is rounded down to
units of 2^15 ns. At 256 units or more, it is a float of 7 binary digits, and is rounded down again
(`testbed_add_metrics`, `int2fl` of the publication's `testbed.h` and `numbers.h`). The reader
converts the delay to microseconds and also rounds it down (`qdelay_decode`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Number of binary digits of a delay in ns that are dropped when it is converted to units.
UNIT_BITS = 15
#: Number of binary digits after the first digit (`QDELAY_M`).
MANTISSA_BITS = 7


def cut(delay_ns: int) -> int:
    """Return a delay as the queue writes it, in units of 2^15 ns."""
    units = delay_ns >> UNIT_BITS
    exponent = max(0, units.bit_length() - 1 - MANTISSA_BITS)
    return units >> exponent << exponent


def read(units: int) -> float:
    """Return the delay that the reader computes, ms."""
    return int(units * 32 * 1.024) / 1000


def recorded(buckets: pl.DataFrame) -> dict[str, float | None]:
    """Return the statistics of recorded delays, computed from a histogram of true delays in ns.

    A bucket is narrower than the steps of the recorder. Its delays belong to at most two steps, and
    its count is divided between them in proportion.
    """
    counts: dict[int, float] = {}
    rows = zip(*(buckets[name].to_list() for name in ("lower", "width", "count")), strict=True)
    for lower, width, count in rows:
        low, high, above = _parts(lower, width)
        counts[high] = counts.get(high, 0.0) + count * above
        if low != high:
            counts[low] = counts.get(low, 0.0) + count * (1 - above)
    return weighted([(read(units), counts[units]) for units in sorted(counts)])


# The result is cached, because every run has the same buckets.
@cache
def _parts(lower: int, width: int) -> tuple[int, int, float]:
    """Return the two delays that the recorder writes for a bucket, and the share of the larger
    delay."""
    low, high = cut(lower), cut(lower + width - 1)
    return low, high, 1.0 if low == high else (lower + width - (high << UNIT_BITS)) / width


def weighted(buckets: list[tuple[float, float]]) -> dict[str, float | None]:
    """Return mean, percentiles by nearest rank, and deviation of values in ascending order with
    their counts."""
    names = ("mean", "p1", "p25", "p75", "p99", "stddev")
    total = math.fsum(count for _, count in buckets)
    if not total:
        return dict.fromkeys(names)
    mean = math.fsum(value * count for value, count in buckets) / total
    squares = math.fsum((value - mean) ** 2 * count for value, count in buckets)
    out: dict[str, float | None] = {"mean": mean}
    passed = list(accumulate(count for _, count in buckets))
    for percent in (1, 25, 75, 99):
        # Buckets are divided, so counts are fractions and their sums are not exact.
        rank = min(bisect_left(passed, percent * total / 100 - 1e-6), len(buckets) - 1)
        out[f"p{percent}"] = buckets[rank][0]
    out["stddev"] = math.sqrt(squares / (total - 1)) if total > 1 else None
    return out
