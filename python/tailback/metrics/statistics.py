"""Statistics over seeds: mean and Student's t interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


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
def t_quantile(freedom: int, probability: float = 0.95) -> float:
    """The t that |T| stays below with this probability, for so many degrees of freedom."""
    low, high = 0.0, 1.0
    while t_within(high, freedom) < probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if t_within(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_within(t: float, freedom: int) -> float:
    """Probability that |T| < t: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cos2 = math.cos(angle) ** 2
    if freedom % 2 == 0:
        term = total = 1.0
        for k in range(1, freedom // 2):
            term *= cos2 * (2 * k - 1) / (2 * k)
            total += term
        return math.sin(angle) * total
    total = 0.0
    if freedom > 1:
        term = total = math.cos(angle)
        for k in range(1, (freedom - 1) // 2):
            term *= cos2 * (2 * k) / (2 * k + 1)
            total += term
    return 2 / math.pi * (angle + math.sin(angle) * total)
