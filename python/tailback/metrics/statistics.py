"""Statistics over seeds: mean and Student's t interval, ranks.

scipy is loaded when the first interval is computed, because a run with one seed never needs it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

LEAST_SEEDS = 5
"""Spread of fewer values is too uncertain to explain a failed criterion by noise."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    n: int
    """How many runs have a value."""
    mean: float | None
    """`None` without values, and if some transfers had not finished, because the finished ones are
    not a fair sample."""
    ci95: tuple[float, float] | None
    """95 % interval of the mean. It is cut to the possible values. It is `None` for one run, and
    for identical runs, which show nothing about another seed.
    """
    runs: int | None = None
    """How many runs there are, including those without a value; `None` if it equals `n`."""
    at_least: float | None = None
    """The bound that the mean over all runs exceeds, if some had not finished."""

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval, before it is cut to the possible values."""
        if self.ci95 is None or self.mean is None:
            return None
        return max(self.mean - self.ci95[0], self.ci95[1] - self.mean)

    @property
    def of(self) -> int:
        """The number of all runs, including those without a value."""
        return self.n if self.runs is None else self.runs

    @property
    def whole(self) -> bool:
        """Whether every run has a value."""
        return self.n == self.of

    def scaled(self, times: float) -> Estimate:
        """Return the estimate in another unit: everything is multiplied by `times`."""
        if times == 1:
            return self
        return Estimate(
            self.n,
            None if self.mean is None else times * self.mean,
            None if self.ci95 is None else (times * self.ci95[0], times * self.ci95[1]),
            self.runs,
            None if self.at_least is None else times * self.at_least,
        )


def estimate(
    values: Iterable[float | None], *, least: float | None = None, most: float | None = None
) -> Estimate:
    """Compute mean and interval of the available values. `least` and `most` are the smallest and
    the largest possible value; the interval ends there.
    """
    every = list(values)
    numbers = [value for value in every if value is not None]
    n = len(numbers)
    if n == 0:
        return Estimate(0, None, None, len(every))
    mean = math.fsum(numbers) / n
    if n == 1 or all(value == numbers[0] for value in numbers):
        return Estimate(n, mean, None, len(every))
    variance = math.fsum((value - mean) ** 2 for value in numbers) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    low, high = mean - half, mean + half
    # Rounding may put a mean beyond all its values.
    if least is not None:
        low = min(max(low, least), mean)
    if most is not None:
        high = max(min(high, most), mean)
    return Estimate(n, mean, (low, high), len(every))


@cache
def t_quantile(freedom: float) -> float:
    """The t that |T| does not exceed in 95 % of cases, for this many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def median(values: Iterable[float]) -> float | None:
    """The median; `None` without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def nearest_rank(values: Sequence[float], share: float) -> float | None:
    """The smallest value that this share of the values does not exceed; `None` without values."""
    if not values:
        return None
    # Rounds up. The 1e-9 absorbs rounding errors, as in 0.9 * 10.
    rank = -int(-(share * len(values) - 1e-9) // 1)
    return sorted(values)[min(max(rank, 1), len(values)) - 1]
