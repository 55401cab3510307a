"""Defines the goals, which were set before the first comparison, and measures the noise of the
published values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tailback.metrics.statistics import median, nearest_rank
from tailback_studies.experiments.l4s_tests_2020.layout import DEFECTS, S1, published, twin
from tailback_studies.experiments.l4s_tests_2020.points import L4sEntry
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import (
    CellsVerdict,
    CellsWithin,
    ErrorsBelow,
    ErrorsVerdict,
)
from tailback_studies.reproduction.judges import Judge, Noise, judge

# Limits for the errors of S1's rates, divided by the link's rate: median and 90th percentile.
S1_MEDIAN, S1_P90 = 0.025, 0.08
# Limit for the errors of S6's ratios.
S6_LIMIT = 0.35


def _rate(entry: L4sEntry) -> bool:
    """Return whether a value is a flow's rate in S1. Rows that are wrong in the publication do not
    count."""
    return entry.row.table == "s1" and entry.column in ("D1", "D2") and entry.row not in DEFECTS


S1_GOAL = ErrorsBelow[L4sEntry](
    "s1.delivery_mbit", "S1: rates of flows", "capacity", _rate, S1_MEDIAN, S1_P90
)
S6_GOAL = CellsWithin[L4sEntry](
    "s6.ratio",
    "S6: ratios of rates",
    "relative",
    lambda e: e.row.table == "s6" and e.column == "ratio",
    S6_LIMIT,
)


def judged(entries: Iterable[L4sEntry]) -> list[L4sEntry]:
    """Return copies of the values with tolerances. The goal for a value's quantity sets the
    tolerance."""
    return goals.with_tolerances([S6_GOAL], entries)


def verdicts(entries: Sequence[L4sEntry]) -> list[ErrorsVerdict | CellsVerdict]:
    """Return for each goal whether it is met. Skip goals without any measured value."""
    return [
        *goals.errors_verdicts([S1_GOAL], entries),
        *goals.cells_verdicts([S6_GOAL], entries),
    ]


def judges(entries: Sequence[L4sEntry]) -> list[Judge]:
    """Return a row of goals.csv for each goal."""
    own = noise(twins())
    return [judge(v, entries, own if v.goal is S1_GOAL else None) for v in verdicts(entries)]


def summary(entries: Sequence[L4sEntry]) -> list[dict[str, Any]]:
    """Return the list `summary` of `reproduce --json`. The list contains the errors of each
    quantity, then the result of each goal."""
    return goals.summary(entries, verdicts(entries))


def missed(entries: Iterable[L4sEntry]) -> list[L4sEntry]:
    """Return the rates of S1 whose errors exceed the limit for the 90th percentile, and the ratios
    of S6 whose errors exceed the limit.

    The largest errors come first.
    """
    one = [e for e in entries if _rate(e) and (e.size("capacity") or 0.0) > S1_P90]
    six = [e for e in entries if e.within is False]
    return [
        *sorted(one, key=lambda e: -(e.size("capacity") or 0.0)),
        *sorted(six, key=lambda e: -(e.size("relative") or 0.0)),
    ]


def twins() -> list[tuple[str, float]]:
    """Compare experiments of S1 that the publication contains twice. For each flow, return its
    queue, and the difference of its two published rates divided by the link's rate.
    """
    known = published()
    out = []
    for row in S1:
        other = twin(row)
        if other is None or row in DEFECTS or other[0] in DEFECTS:
            continue
        for column, theirs in zip(("D1", "D2"), other[1], strict=True):
            one = (row.name, column)
            two = (other[0].name, ("D1", "D2")[theirs])
            values = [known.get(("s1", *place)) for place in (one, two)]
            # Count each pair once.
            if one < two and values[0] is not None and values[1] is not None:
                out.append((row.queue, abs(values[0] - values[1]) / row.rate_mbit))
    return out


def noise(pairs: Sequence[tuple[str, float]], queue: str = "") -> Noise | None:
    """Return the median and 90th percentile of the differences in `pairs`. If `queue` is not empty,
    use only the differences with this queue."""
    gaps = [gap for where, gap in pairs if queue in ("", where)]
    middle, high = median(gaps), nearest_rank(gaps, 0.9)
    return None if middle is None or high is None else Noise(len(gaps), middle, high)
