"""What is flagged among differences that are not independent of each other.

All quantities of one point come from the same runs: where a flow by chance gets more, its RTT,
the queue's delay and marks move with it, and the other flow's share the other way. They are one
family, and what is asked first is whether anything differs in it. As the dependence has both
signs, a family is tested by the method of Benjamini and Yekutieli (2001), which holds under any
(of Simes's p the multiple by 1 + 1/2 + ... + 1/n: Hommel 1983). Families are chosen by Benjamini
and Hochberg (1995) over all of them. In a chosen family Benjamini and Yekutieli's method goes on
at the level that Benjamini and Bogomolov (2014, J. R. Stat. Soc. B 76) have shown to keep the
expected share of false ones, averaged over the chosen families, below the level: the level times
the share of families that were chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Sequence


def false_discovery(ps: Sequence[float | None], families: Sequence[Hashable]) -> list[float | None]:
    """The q value of each p: the level at which it would just be flagged.

    `families` says of each p whose it is. Where there is no p there is no q, and it counts for
    nothing.
    """
    members: dict[Hashable, list[int]] = {}
    for at, (p, family) in enumerate(zip(ps, families, strict=True)):
        if p is not None:
            members.setdefault(family, []).append(at)
    within = [_of_any_dependence([ps[at] or 0.0 for at in group]) for group in members.values()]
    # The smallest of a family's adjusted p is the p of the family.
    of_family = _adjusted([min(inside) for inside in within])
    ordered = sorted(of_family)
    qs: list[float | None] = [None] * len(ps)
    for group, inside, own in zip(members.values(), within, of_family, strict=True):
        for at, p in zip(group, inside, strict=True):
            qs[at] = _level(p, own, ordered)
    return qs


def _level(p: float, q: float, ordered: Sequence[float]) -> float:
    """The smallest level at which the family, of q `q`, is chosen, and in it this adjusted p is
    below the level times the share of families that are chosen then. `ordered` are the q of all."""
    n = len(ordered)
    chosen = bisect_right(ordered, q)
    while chosen < n:
        level = max(q, p * n / chosen)
        if level < ordered[chosen]:
            return level
        # More families are chosen before this level is reached.
        q = ordered[chosen]
        chosen = bisect_right(ordered, q)
    return min(1.0, max(q, p))


def _of_any_dependence(ps: Sequence[float]) -> list[float]:
    """Benjamini and Yekutieli's adjusted p."""
    harmonic = math.fsum(1 / i for i in range(1, len(ps) + 1))
    return [min(1.0, p * harmonic) for p in _adjusted(ps)]


def _adjusted(ps: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p."""
    n = len(ps)
    smallest = 1.0
    adjusted = [1.0] * n
    order = sorted(range(n), key=ps.__getitem__)
    for rank in range(n, 0, -1):
        at = order[rank - 1]
        smallest = min(smallest, ps[at] * n / rank)
        adjusted[at] = smallest
    return adjusted
