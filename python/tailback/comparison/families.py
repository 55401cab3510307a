"""Decides which differences are flagged as more than noise. The method allows for differences that
depend on each other.

All quantities of one sweep point come from the same runs. If a flow gets more throughput by chance,
its RTT and the queue's delay and marks also change, and another flow's throughput falls. All
quantities of a sweep point are therefore one family of tests. The first test decides whether any
quantity of the family differs. Because correlations have both signs, this test uses the method of
Benjamini and Yekutieli (2001), which is valid under any dependence. (The p value of the first test
is Simes's p value times 1 + 1/2 + ... + 1/n; see Hommel 1983.) The method of Benjamini and Hochberg
(1995) then chooses the families that have a difference. In each chosen family, the method of
Benjamini and Yekutieli decides which differences are flagged. The choice of differences uses a
lower level: the original level times the share of families that were chosen. This lower level keeps
the expected share of false discoveries, averaged over the chosen families, below the original
level. The proof is by Benjamini and Bogomolov (2014, Journal of the Royal Statistical Society B
76).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Sequence


def false_discovery(ps: Sequence[float | None], families: Sequence[Hashable]) -> list[float | None]:
    """Compute the q value of each p value: the smallest level at which its difference would be
    flagged.

    `families` lists for each p value the family of tests to which it belongs. A difference without
    a p value (None) gets no q value and does not count as a test.
    """
    members: dict[Hashable, list[int]] = {}
    for at, (p, family) in enumerate(zip(ps, families, strict=True)):
        if p is not None:
            members.setdefault(family, []).append(at)
    within = [_of_any_dependence([ps[at] or 0.0 for at in group]) for group in members.values()]
    # The p value of a family of tests is the smallest adjusted p value in it.
    of_family = _adjusted([min(inside) for inside in within])
    ordered = sorted(of_family)
    qs: list[float | None] = [None] * len(ps)
    for group, inside, own in zip(members.values(), within, of_family, strict=True):
        for at, p in zip(group, inside, strict=True):
            qs[at] = _level(p, own, ordered)
    return qs


def _level(p: float, q: float, ordered: Sequence[float]) -> float:
    """Return the smallest level at which a difference is flagged. Two conditions hold at this
    level. First, the difference's family is chosen (`q` is the family's q value). Second, the
    adjusted p value `p` of the difference is below the level times the share of chosen families.
    `ordered` has the q values of all families of tests.
    """
    n = len(ordered)
    chosen = bisect_right(ordered, q)
    while chosen < n:
        level = max(q, p * n / chosen)
        if level < ordered[chosen]:
            return level
        # At this level more families are chosen, so compute the level again with this larger number
        # of families.
        q = ordered[chosen]
        chosen = bisect_right(ordered, q)
    return min(1.0, max(q, p))


def _of_any_dependence(ps: Sequence[float]) -> list[float]:
    harmonic = math.fsum(1 / i for i in range(1, len(ps) + 1))
    return [min(1.0, p * harmonic) for p in _adjusted(ps)]


def _adjusted(ps: Sequence[float]) -> list[float]:
    n = len(ps)
    smallest = 1.0
    adjusted = [1.0] * n
    order = sorted(range(n), key=ps.__getitem__)
    for rank in range(n, 0, -1):
        at = order[rank - 1]
        smallest = min(smallest, ps[at] * n / rank)
        adjusted[at] = smallest
    return adjusted
