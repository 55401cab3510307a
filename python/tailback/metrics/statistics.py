"""Computes statistics over seeds: mean, Student's t interval, median and ranks.

scipy is loaded only for intervals over more than 31 seeds, because loading scipy takes longer than
a short run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

LEAST_SEEDS = 5
"""The smallest number of seeds for which noise may explain a failed criterion. With fewer seeds,
the spread over seeds is too uncertain."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its confidence interval."""

    n: int
    """How many runs have a value."""
    mean: float | None
    """The mean. `None` if no run has a value, or if some transfers did not finish, because the
    finished transfers are not a fair sample."""
    ci95: tuple[float, float] | None
    """95 % interval of the mean, cut to the possible values. `None` for one run, and for identical
    runs, because such results show nothing about other seeds.
    """
    runs: int | None = None
    """Number of all runs, including runs without a value. `None` if this number equals `n`."""
    at_least: float | None = None
    """If some transfers did not finish, a lower bound of the mean over all runs."""

    @property
    def half_width(self) -> float | None:
        """The larger of the distances from the mean to the ends of the interval."""
        if self.ci95 is None or self.mean is None:
            return None
        return max(self.mean - self.ci95[0], self.ci95[1] - self.mean)

    @property
    def of(self) -> int:
        return self.n if self.runs is None else self.runs

    @property
    def whole(self) -> bool:
        """Whether all runs have a value."""
        return self.n == self.of

    def scaled(self, times: float) -> Estimate:
        """Return the estimate multiplied by `times`, to convert its unit."""
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
    """Compute mean and 95 % interval of the values that are not None. `least` and `most` are the
    smallest and largest possible value. The interval does not extend beyond these two values.
    """
    every = list(values)
    numbers = [value for value in every if value is not None]
    n = len(numbers)
    if n == 0:
        return Estimate(0, None, None, len(every))
    mean = math.fsum(numbers) / n
    if numbers.count(numbers[0]) == n:
        return Estimate(n, mean, None, len(every))
    variance = math.fsum((value - mean) ** 2 for value in numbers) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    low, high = mean - half, mean + half
    # Keep `mean` inside the interval, even if rounding moves it slightly beyond `least` or `most`.
    if least is not None:
        low = min(max(low, least), mean)
    if most is not None:
        high = max(min(high, most), mean)
    return Estimate(n, mean, (low, high), len(every))


@cache
def t_quantile(freedom: float) -> float:
    """Return the two-sided 95 % quantile of Student's t distribution with this many degrees of
    freedom."""
    if freedom in _T95:
        return _T95[freedom]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


_T95: dict[float, float] = dict(
    enumerate(
        (
            12.706204736174694,
            4.302652729749462,
            3.1824463052837078,
            2.7764451051977934,
            2.5705818356363146,
            2.4469118511449786,
            2.364624251592784,
            2.306004135204166,
            2.262157162798205,
            2.228138851986274,
            2.200985160091639,
            2.1788128296672284,
            2.1603686564627913,
            2.144786687917804,
            2.131449545559776,
            2.1199052992212546,
            2.1098155778333156,
            2.1009220402410382,
            2.0930240544083087,
            2.085963447265864,
            2.0796138447276795,
            2.0738730679040254,
            2.0686576104190486,
            2.0638985616280245,
            2.0595385527532972,
            2.0555294386428735,
            2.0518305164802846,
            2.0484071417952454,
            2.045229642132703,
            2.0422724563012378,
        ),
        start=1,
    )
)
"""Quantiles up to 30 degrees of freedom, computed with scipy."""


def median(values: Iterable[float]) -> float | None:
    """Return the median of the values, or `None` if there are no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def nearest_rank(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share of the values do not exceed. Return `None`
    if there are no values.
    """
    if not values:
        return None
    # Round up. Subtracting 1e-9 absorbs rounding errors, as in 0.9 * 10.
    rank = -int(-(share * len(values) - 1e-9) // 1)
    return sorted(values)[min(max(rank, 1), len(values)) - 1]
