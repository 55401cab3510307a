"""Decides whether a difference exceeds a margin, by two one-sided tests.

A test that finds no difference does not show that the values are equal. Therefore this module tests
two claims: that the difference exceeds the margin, and that it is within the margin. For a margin
on both sides, the tests are Schuirmann's two one-sided tests (1987, Journal of Pharmacokinetics and
Biopharmaceutics 15). If neither test is significant, the difference is undecided.

A margin in percent is relative to the baseline's mean, which is itself a measurement. For "10 %
more", the values `b - 1.1 a` are tested against 0 (Sasabuchi 1988). This test does not need the
approximate variance of a ratio, and it is valid even if the baseline is 0. Runs that share their
seeds are compared seed by seed. Other runs are compared as two samples (Welch).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tailback.metrics.differences import ROUNDING, deviation

POWER = 0.8
"""Probability with which the recommended number of runs is enough."""

MOST_RUNS = 100_000
"""The largest number of runs to recommend."""


@dataclass(frozen=True)
class Contrast:
    """The estimated amount by which a variant exceeds a limit, with its standard error."""

    n: int
    """Number of runs of the variant and of the baseline. For unpaired runs, the smaller of the two
    numbers."""
    mean: float
    error: float
    """Standard error of the mean. 0 if all runs have the same value."""
    freedom: float
    alike: float
    """For runs without spread, the probability that all runs are on one side of the limit by
    chance."""
    deviation: float
    """Standard error times the square root of n."""

    def more(self) -> float:
        """The p value for the claim that the variant is beyond the limit."""
        if self.error == 0:
            return self.alike if self.mean > 0 else 1.0
        return _tail(self.freedom, self.mean / self.error)

    def less(self) -> float:
        """The p value for the claim that the variant is within the limit. A difference equal to the
        limit counts as within the limit.
        """
        if self.error == 0:
            return self.alike if self.mean <= 0 else 1.0
        return _tail(self.freedom, -self.mean / self.error)

    def runs(self, level: float) -> int | None:
        """Estimate how many runs make the test significant, if the true mean equals the measured
        mean. Return None if no number of runs suffices.
        """
        if self.error == 0:
            # With this many runs, all differences have the same sign by chance with a probability
            # of at most `level`.
            return math.ceil(-math.log2(level))
        size = abs(self.mean) / self.deviation
        if not _enough(MOST_RUNS, size, level):
            return None
        low, high = 1, 2
        while not _enough(high, size, level):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _enough(middle, size, level) else (middle, high)
        return high


def _enough(n: int, size: float, level: float) -> bool:
    return (_quantile(n - 1, level) + _quantile(n - 1, 1 - POWER)) / math.sqrt(n) <= size


@dataclass(frozen=True)
class Samples:
    """The values of a baseline and of a variant, with at least two values of each."""

    base: tuple[float, ...]
    other: tuple[float, ...]
    paired: bool

    def against(self, limit: float, *, relative: bool, falls: bool = False) -> Contrast:
        """Return the amount by which the variant exceeds the baseline plus `limit`.

        If `falls` is true, return the amount by which the variant is below the baseline plus
        `limit`.

        `limit` is in the unit of the quantity, or with `relative` a share of the baseline.
        """
        base, other = self.base, self.other
        n, m = len(base), len(other)
        mean_base, mean_other = math.fsum(base) / n, math.fsum(other) / m
        # If the baseline is negative, 10 % "more" is a value closer to 0.
        share = 1 + math.copysign(limit, limit * mean_base) if relative else 1.0
        fixed = 0.0 if relative else limit
        mean = mean_other - share * mean_base - fixed
        if falls:
            mean = -mean
        noise = ROUNDING * max(map(abs, [*base, *other]))
        if self.paired:
            rests = [b - share * a for a, b in zip(base, other, strict=True)]
            error, freedom = deviation(rests) / math.sqrt(n), float(n - 1)
            alike = 2.0**-n
        else:
            va, vb = share**2 * deviation(base) ** 2 / n, deviation(other) ** 2 / m
            error = math.sqrt(va + vb)
            # Degrees of freedom by Welch and Satterthwaite.
            spread = va**2 / (n - 1) + vb**2 / (m - 1)
            freedom = (va + vb) ** 2 / spread if spread else float(n + m - 2)
            alike = 1 / math.comb(n + m, n)
        if error <= noise:
            mean = 0.0 if abs(mean) <= noise else mean
            return Contrast(min(n, m), mean, 0.0, freedom, alike, 0.0)
        return Contrast(min(n, m), mean, error, freedom, alike, error * math.sqrt(min(n, m)))

    def bounds(self, level: float, *, relative: bool) -> tuple[float | None, float | None]:
        """Return the one-sided lower and upper confidence bounds of the difference. `level` is the
        error probability of each bound. A bound that cannot be determined is None. A test against a
        limit becomes significant where the limit crosses a bound.
        """
        middle = self.against(0.0, relative=relative)
        mean = math.fsum(self.base) / len(self.base)
        if middle.error == 0:
            if middle.alike > level or (relative and mean == 0):
                return None, None
            value = middle.mean / abs(mean) if relative else middle.mean
            return value, value
        if not relative:
            half = _quantile(middle.freedom, level) * middle.error
            return middle.mean - half, middle.mean + half
        if mean == 0:
            return None, None
        centre, step = middle.mean / abs(mean), middle.error / abs(mean)

        def told(limit: float, above: bool) -> bool:
            found = self.against(limit, relative=True)
            return (found.less() if above else found.more()) <= level

        return (
            _edge(centre, -step, lambda limit: told(limit, above=False)),
            _edge(centre, step, lambda limit: told(limit, above=True)),
        )


def _edge(start: float, step: float, told: Callable[[float], bool]) -> float | None:
    """Return the limit at which a one-sided test becomes significant. The search begins at `start`,
    at which the test is not significant, and moves in the direction of `step`.
    """
    for _ in range(30):
        if told(start + step):
            break
        step *= 2
    else:
        return None
    inside, outside = start + step, start
    for _ in range(50):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if told(middle) else (inside, middle)
    return inside


def _tail(freedom: float, t: float) -> float:
    """Return the probability that Student's T with `freedom` degrees of freedom exceeds t."""
    from scipy.special import stdtr

    return float(stdtr(freedom, -t))


@cache
def _quantile(freedom: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - level))
