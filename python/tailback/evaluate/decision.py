"""Decides a verdict from the values of all seeds.

A section may have several sweep points, such as rates or buffers. With k sweep points, each
interval has the level 1 - 0.05/k (Bonferroni). In at least 95 % of cases, all k intervals then
contain the true means. The deciding sweep point is the one with the largest mean among the sweep
points above the limit. If no sweep point is above the limit, the undecided sweep point with the
largest mean decides. If no sweep point is undecided either, the sweep point with the largest mean
decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.evaluate.model import SectionVerdict

LEVEL = 0.05
"""Probability that any interval of a section does not contain the true mean."""


@dataclass(frozen=True)
class PointOutcome:
    """The values of one sweep point of a section's scenario, one for each seed. Larger values are
    worse."""

    label: str
    values: tuple[float, ...]
    missing: int = 0
    """How many seeds have no value."""
    says: str = ""
    """The measured numbers from which the values were computed, as text."""
    most: float = math.inf
    """The largest possible magnitude of a value. No interval extends beyond this magnitude."""

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values)

    def ends(self, points: int) -> tuple[float, float] | None:
        """Return the interval of the mean if `points` sweep points are tested together, or None for
        one seed.

        If all values are identical, the interval has length 0.
        """
        n = len(self.values)
        if n < 2:
            return None
        variance = math.fsum((value - self.mean) ** 2 for value in self.values) / (n - 1)
        half = _t(n - 1, points) * math.sqrt(variance / n)
        return max(self.mean - half, -self.most), min(self.mean + half, self.most)


def _t(freedom: int, points: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - LEVEL / (2 * points)))


@dataclass(frozen=True)
class Decision:
    """The verdict of a section, and the sweep point that decided the verdict."""

    verdict: SectionVerdict
    value: float | None
    ci95: tuple[float, float] | None
    point: PointOutcome | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the deciding sweep point. None if all seeds gave the same value."""
        return None if self.ci95 is None or self.ci95[0] == self.ci95[1] else self.ci95


def decide(
    points: Sequence[PointOutcome],
    limit: float,
    words: tuple[SectionVerdict, SectionVerdict],
    *,
    worst: bool = False,
    one_seed_decides: bool = False,
) -> Decision:
    """Decide whether the values of all sweep points are within an upper limit.

    `words` has two verdicts. The section gets the first verdict if the whole interval of any sweep
    point is above the limit. The section gets the second verdict if the intervals of all sweep
    points are within the limit. With `worst`, the largest value over seeds replaces the interval.
    With `one_seed_decides`, a run with one seed suffices for a verdict. Set `one_seed_decides` for
    requirements that must hold with every seed.
    """
    known = [point for point in points if point.values]
    if not known:
        return Decision("undecided", None, None, None)
    bad, good = words
    whole = all(not point.missing and point.values for point in points)
    if worst:
        largest = max(known, key=lambda point: max(point.values))
        value = max(largest.values)
        verdict: SectionVerdict = bad if value > limit else good if whole else "undecided"
        return Decision(verdict, value, None, largest)
    ends = {point.label: point.ends(len(known)) for point in known}

    def low(point: PointOutcome) -> float:
        interval = ends[point.label]
        alone = point.mean if one_seed_decides else -math.inf
        return alone if interval is None else interval[0]

    def high(point: PointOutcome) -> float:
        interval = ends[point.label]
        alone = point.mean if one_seed_decides else math.inf
        return alone if interval is None else interval[1]

    above = [point for point in known if low(point) > limit]
    if above:
        point = max(above, key=lambda one: one.mean)
        return Decision(bad, point.mean, ends[point.label], point)
    open_ = [point for point in known if high(point) > limit]
    point = max(open_ or known, key=lambda one: one.mean)
    verdict = "undecided" if open_ or not whole else good
    return Decision(verdict, point.mean, ends[point.label], point)
