"""Defines goals, which limit the errors of a group of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from tailback.metrics.statistics import median, nearest_rank
from tailback.report.model import errors, summarise
from tailback_studies.reproduction.entries import Entry, sizes

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Goal(Generic[E]):
    """A goal that applies to the values for which `belongs` returns true."""

    id: str
    """The name of the goal's row in the summary."""
    title: str
    kind: str
    """The kind of errors, which is one of `entries.KINDS`."""
    belongs: Callable[[E], bool]

    def own(self, entries: Iterable[E]) -> list[E]:
        """Return the values of the goal's group."""
        return [entry for entry in entries if self.belongs(entry)]


@dataclass(frozen=True)
class ErrorsBelow(Goal[E]):
    """A goal that limits the median and the 90th percentile of a group's errors."""

    median: float
    p90: float

    @property
    def text(self) -> str:
        absolute = self.kind == "absolute"
        both = (f"{n:g}" if absolute else f"{100 * n:g} %" for n in (self.median, self.p90))
        return "median at most {}, 90th percentile at most {}".format(*both)


@dataclass(frozen=True)
class CellsWithin(Goal[E]):
    """A goal that limits the error of each value. A share of the values must be within the
    limit."""

    limit: float
    """The limit. The limit is a share of the published value, or a difference in the unit of the
    values."""
    needed: float = 1.0
    """Share of the values that must be within the limit."""
    least: float = 0.0
    """Smallest tolerance, in the unit of the values."""
    unit: str = ""
    """The unit of `least`, which the limit's text names."""

    def tolerance(self, published: float) -> float:
        """Return the largest difference from a published value that is within the limit."""
        limit = self.limit * abs(published) if self.kind == "relative" else self.limit
        return max(limit, self.least)

    @property
    def text(self) -> str:
        """The limit as text."""
        if self.kind != "relative":
            return f"{self.limit:g}"
        return f"{100 * self.limit:g} %" + (
            f" or {self.least:.2g} {self.unit}".rstrip() + ", whichever is larger"
            if self.least
            else ""
        )


@dataclass(frozen=True)
class ErrorsVerdict:
    """The result of comparing values with a goal `ErrorsBelow`."""

    goal: ErrorsBelow[Any]
    cells: int
    median: float
    p90: float

    @property
    def holds(self) -> bool:
        """Whether the median and the 90th percentile are within their limits."""
        return self.median <= self.goal.median and self.p90 <= self.goal.p90

    def row(self, entries: Iterable[Entry]) -> dict[str, Any]:
        """Return the row of the summary for this goal."""
        goal = self.goal
        return {
            **errors(goal.id, [entry.cell for entry in goal.own(entries)]),
            "goal": {"error": goal.kind, "median": goal.median, "p90": goal.p90},
            "median_goal_error": self.median,
            "p90_goal_error": self.p90,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class CellsVerdict:
    """The result of comparing values with a goal `CellsWithin`."""

    goal: CellsWithin[Any]
    cells: int
    within: int
    chance: int
    """Number of misses that may be due to chance, because the publication has only one run. Misses
    that may be due to chance still count as misses."""
    median: float
    worst: float

    @property
    def holds(self) -> bool:
        """Whether enough values are within the limit."""
        return self.within >= math.ceil(self.goal.needed * self.cells - 1e-9)

    def row(self, entries: Iterable[Entry]) -> dict[str, Any]:
        """Return the row of the summary for this goal."""
        goal = self.goal
        return {
            **errors(goal.id, [entry.cell for entry in goal.own(entries)]),
            "cells": self.cells,
            "goal": {"error": goal.kind, "limit": goal.limit, "needed": goal.needed},
            "within": self.within,
            "chance": self.chance,
            "holds": self.holds,
        }


def errors_verdicts(
    goals: Iterable[ErrorsBelow[E]], entries: Sequence[E]
) -> Iterator[ErrorsVerdict]:
    """Yield the verdict of every goal that has values."""
    for goal in goals:
        found = sizes(goal.own(entries), goal.kind)
        middle, high = median(found), nearest_rank(found, 0.9)
        if middle is not None and high is not None:
            yield ErrorsVerdict(goal, len(found), middle, high)


def cells_verdicts(goals: Iterable[CellsWithin[E]], entries: Sequence[E]) -> Iterator[CellsVerdict]:
    """Yield the verdict of every goal that has values."""
    for goal in goals:
        cells = [entry for entry in goal.own(entries) if entry.within is not None]
        missed = [entry for entry in cells if not entry.within]
        if cells:
            found = sizes(cells, goal.kind)
            chance = sum(entry.chance for entry in missed)
            hits = len(cells) - len(missed)
            yield CellsVerdict(goal, len(cells), hits, chance, median(found) or 0.0, max(found))


def goal_of(goals: Iterable[CellsWithin[E]], entry: E) -> CellsWithin[E] | None:
    """Return the first goal whose group contains the value."""
    return next((goal for goal in goals if goal.belongs(entry)), None)


def with_tolerances(goals: Sequence[CellsWithin[E]], entries: Iterable[E]) -> list[E]:
    """Return the values, each with the tolerance that its goal allows."""
    out = []
    for entry in entries:
        goal, known = goal_of(goals, entry), entry.cell.published
        if goal is not None and known is not None:
            entry = replace(entry, cell=replace(entry.cell, tolerance=goal.tolerance(known)))
        out.append(entry)
    return out


def summary(
    entries: Sequence[Entry], verdicts: Iterable[ErrorsVerdict | CellsVerdict]
) -> list[dict[str, Any]]:
    """Return the summary of `reproduce --json`. Rows for quantities come first, then rows for the
    groups of values with a goal."""
    rows = summarise([entry.cell for entry in entries])
    return rows + [verdict.row(entries) for verdict in verdicts]


def counted_row(name: str, holds: Sequence[bool]) -> dict[str, Any]:
    """Return a row of the summary that counts how many conditions hold. The row's error columns are
    empty."""
    within = sum(holds)
    held = {"within": within, "holds": within == len(holds)}
    return {**errors(name, []), "cells": len(holds), **held}
