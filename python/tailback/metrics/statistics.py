"""Statistics over seeds: mean and Student's t interval, ranks.

scipy is loaded where the first interval is asked for: a run with one seed never needs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

LEAST_SEEDS = 5
"""Fewer values say too little of their spread to take a miss for noise."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    n: int
    mean: float | None
    ci95: tuple[float, float] | None
    """95 % interval of the mean; `None` for one run and for identical ones: they say nothing
    about what another seed would give."""

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval."""
        return (self.ci95[1] - self.ci95[0]) / 2 if self.ci95 else None


def estimate(values: Iterable[float | None]) -> Estimate:
    """Mean and interval of what is available."""
    found = [value for value in values if value is not None]
    n = len(found)
    if n == 0:
        return Estimate(0, None, None)
    mean = math.fsum(found) / n
    if n == 1 or all(value == found[0] for value in found):
        return Estimate(n, mean, None)
    variance = math.fsum((value - mean) ** 2 for value in found) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Estimate(n, mean, (mean - half, mean + half))


@cache
def t_quantile(freedom: float) -> float:
    """The t that |T| stays below in 95 % of cases, for so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def median(values: Iterable[float]) -> float | None:
    """The middle value, or the mean of the two in the middle; `None` without any."""
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def nearest_rank(values: Sequence[float], share: float) -> float | None:
    """The smallest value that this share of the values does not exceed; `None` without any."""
    if not values:
        return None
    # ceil without the float error of 0.9 * 10
    rank = -int(-(share * len(values) - 1e-9) // 1)
    return sorted(values)[min(max(rank, 1), len(values)) - 1]
