"""Rounds queue delays as the publication's recorder did.

The queue writes each packet's delay into the IP header in 11 bits. The delay is rounded down to
units of 2^15 ns. At 256 units or more, the delay is stored as a float of 7 binary digits, and is
rounded down again (`testbed_add_metrics`, `int2fl` of the publication's `testbed.h` and
`numbers.h`). The program that reads the header converts the delay to microseconds and also rounds
it down (`qdelay_decode`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Number of low bits of a delay in ns that the conversion to units drops.
UNIT_BITS = 15
# Number of bits of the float after its leading 1 (`QDELAY_M`).
MANTISSA_BITS = 7


def cut(delay_ns: int) -> int:
    """Round a delay down to a value that the 11 bits can hold, in units of 2^15 ns."""
    units = delay_ns >> UNIT_BITS
    exponent = max(0, units.bit_length() - 1 - MANTISSA_BITS)
    return units >> exponent << exponent


def read(units: int) -> float:
    """Convert recorded units to ms, rounded down to whole microseconds like the recorder's
    reader."""
    return int(units * 32 * 1.024) / 1000


def recorded(buckets: pl.DataFrame) -> dict[str, float | None]:
    """Return the statistics (in ms) of recorded delays, computed from a histogram of exact delays
    in ns.

    A bucket is narrower than a step of the recorder, so its delays round to at most two values. The
    count of a bucket is divided between the two values in proportion to the part of the bucket that
    rounds to each value."""
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
    """Return the two recorded delays of a bucket, and the share of the bucket that rounds to the
    larger delay."""
    low, high = cut(lower), cut(lower + width - 1)
    return low, high, 1.0 if low == high else (lower + width - (high << UNIT_BITS)) / width


def weighted(buckets: list[tuple[float, float]]) -> dict[str, float | None]:
    """Return mean, percentiles by nearest rank, and standard deviation of (value, count) pairs in
    ascending order."""
    names = ("mean", "p1", "p25", "p75", "p99", "stddev")
    total = math.fsum(count for _, count in buckets)
    if not total:
        return dict.fromkeys(names)
    mean = math.fsum(value * count for value, count in buckets) / total
    squares = math.fsum((value - mean) ** 2 * count for value, count in buckets)
    out: dict[str, float | None] = {"mean": mean}
    passed = list(accumulate(count for _, count in buckets))
    for percent in (1, 25, 75, 99):
        # The divided counts are fractions, so allow for the rounding errors of their sums.
        rank = min(bisect_left(passed, percent * total / 100 - 1e-6), len(buckets) - 1)
        out[f"p{percent}"] = buckets[rank][0]
    out["stddev"] = math.sqrt(squares / (total - 1)) if total > 1 else None
    return out
