"""Statistics over seeds: mean and Student's t interval, ranks, the tails of Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
def t_quantile(freedom: float, probability: float = 0.95) -> float:
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


def t_within(t: float, freedom: float) -> float:
    """Probability that |T| < t: for whole degrees of freedom the finite sums of Abramowitz and
    Stegun, 26.7.3 and 26.7.4."""
    if not float(freedom).is_integer():
        return 1 - t_beyond(t, freedom)
    whole = int(freedom)
    angle = math.atan(t / math.sqrt(freedom))
    cos2 = math.cos(angle) ** 2
    if whole % 2 == 0:
        term = total = 1.0
        for k in range(1, whole // 2):
            term *= cos2 * (2 * k - 1) / (2 * k)
            total += term
        return math.sin(angle) * total
    total = 0.0
    if whole > 1:
        term = total = math.cos(angle)
        for k in range(1, (whole - 1) // 2):
            term *= cos2 * (2 * k) / (2 * k + 1)
            total += term
    return 2 / math.pi * (angle + math.sin(angle) * total)


def t_beyond(t: float, freedom: float) -> float:
    """Probability that |T| > |t|, to full precision far out in the tails too."""
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), a and b above 0.

    The continued fraction 26.5.8 of Abramowitz and Stegun, evaluated by Lentz's method.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges fast on this side of the mean only.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    above, below, fraction = 1.0, 0.0, 1.0
    for i in range(1000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        below = 1 / ((1 + term * below) or tiny)
        above = (1 + term / above) or tiny
        fraction *= above * below
        if abs(1 - above * below) < 1e-15:
            break
    return front * (fraction - 1)


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
