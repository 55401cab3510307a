"""Defines the goals, which were set before the first comparison, and decides whether they are
met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tailback_studies.experiments.ccafct_2020.points import CcafctEntry
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import CellsVerdict, CellsWithin
from tailback_studies.reproduction.judges import Judge, judge

# The largest relative error that the goal allows, for times and for harm.
LIMIT = 0.2

# The criterion for harm that takes chance into account.
SPREAD = "harm within its spread"

GOALS: tuple[CellsWithin[CcafctEntry], ...] = (
    CellsWithin("completion_ms", "completion times", "relative", lambda e: not e.is_harm, LIMIT),
    CellsWithin("harm", "harm", "relative", lambda e: e.is_harm, LIMIT),
)


def judged(entries: Iterable[CcafctEntry]) -> list[CcafctEntry]:
    """Return the values with the tolerances that their goals set."""
    return goals.with_tolerances(GOALS, entries)


def verdicts(entries: Sequence[CcafctEntry]) -> list[CellsVerdict]:
    """Return a verdict for each goal that has values."""
    return list(goals.cells_verdicts(GOALS, entries))


def judges(entries: Sequence[CcafctEntry]) -> list[Judge]:
    """Return the result of each goal, for tables and goals.csv."""
    own = [judge(verdict, entries) for verdict in verdicts(entries)]
    held = inside(entries)
    if held:
        own.append(
            Judge(
                judge=SPREAD,
                error="absolute",
                limit="the published harm lies within the 95 % interval of the measured harm "
                "over blocks of requests",
                cells=len(held),
                median=None,
                p90=None,
                within=sum(held),
                holds=all(held),
                sizes={
                    e.cell.id: float(not e.is_inside) for e in entries if e.is_inside is not None
                },
            )
        )
    return own


def inside(entries: Iterable[CcafctEntry]) -> list[bool]:
    """Return for each published harm whether it lies in the interval of the measured harm."""
    return [entry.is_inside for entry in entries if entry.is_inside is not None]


def summary(entries: Sequence[CcafctEntry]) -> list[dict[str, Any]]:
    """Return `summary` of `reproduce --json`. The errors by quantity come first, then the errors by
    goal."""
    rows = goals.summary(entries, verdicts(entries))
    held = inside(entries)
    return [*rows, goals.counted_row("harm_spread", held)] if held else rows


def missed(entries: Iterable[CcafctEntry]) -> list[CcafctEntry]:
    """Return the values whose errors exceed the limit of their goal.

    The largest errors come first.
    """
    off = [e for e in entries if e.within is False]
    return sorted(off, key=lambda e: -(e.size("relative") or 0.0))
