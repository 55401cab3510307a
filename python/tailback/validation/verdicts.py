"""What agreement is asked for, and whether it is there.

A cell that misses its limit by no more than its own noise is not a miss; both counts are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.statistics import median
from tailback.validation.cells import Cell, Measure


@dataclass(frozen=True)
class Limit:
    """How far off a cell may be."""

    quantity: str
    relative: float
    share: float
    """Of the cells that have to be within it."""
    absolute: float = 0.0
    """A smaller difference is within it too, in the quantity's unit."""

    def within(self, measure: Measure) -> bool:
        """Whether the means are that close."""
        near = not measure.logarithmic and abs(measure.absolute) <= self.absolute
        return abs(measure.error) <= self.relative or near

    def misses(self, cell: Cell) -> list[Measure]:
        """What is further off."""
        return [measure for measure in cell.of(self.quantity) if not self.within(measure)]

    def missed(self, cell: Cell) -> bool:
        """Whether something is further off, and by more than noise."""
        return any(not measure.inside_noise for measure in self.misses(cell))

    @property
    def words(self) -> str:
        """The limit for people."""
        names = {
            "throughput": "throughput",
            "ratio": "throughput ratio of two flows",
            "delay": "mean queue delay",
            "signals": "marks and drops",
        }
        absolute = f" or {self.absolute:g} ms" if self.absolute else ""
        share = f"{100 * self.share:g} % of cells"
        return f"{names[self.quantity]} within {100 * self.relative:g} %{absolute} in {share}"


MEDIAN = 0.02
"""Largest median error of throughput."""

LIMITS = (
    Limit("throughput", 0.08, 0.95),
    Limit("delay", 0.10, 0.90, absolute=0.3),
    Limit("signals", 0.20, 0.90),
    Limit("ratio", 0.15, 0.90),
)


@dataclass(frozen=True)
class Verdict:
    """A goal and what became of it."""

    goal: str
    value: float
    """What is held against the goal: an error, or the share of cells that do not miss."""
    plain: float
    """The same with misses inside noise counted as misses."""
    cells: int
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """The verdict in `--json`."""
        return {
            "goal": self.goal,
            "value": self.value,
            "value_without_noise": self.plain,
            "cells": self.cells,
            "holds": self.holds,
        }


def verdicts(cells: Sequence[Cell]) -> list[Verdict]:
    """Every goal that there are cells for."""
    errors = [abs(worst.error) for cell in cells if (worst := cell.worst("throughput")) is not None]
    middle = median(errors)
    if middle is None:
        return []
    goal = f"throughput: median error at most {100 * MEDIAN:g} %"
    found = [Verdict(goal, middle, middle, len(errors), middle <= MEDIAN)]
    for limit in LIMITS:
        chosen = [cell for cell in cells if cell.of(limit.quantity)]
        if not chosen:
            continue
        n = len(chosen)
        fair = sum(not limit.missed(cell) for cell in chosen) / n
        plain = sum(not limit.misses(cell) for cell in chosen) / n
        found.append(Verdict(limit.words, fair, plain, n, fair >= limit.share))
    return found


def badness(cell: Cell) -> float:
    """By how much a cell misses its limits: errors over limits, the largest; 0 without a miss
    that is more than noise."""
    worst = 0.0
    for limit in LIMITS:
        for measure in limit.misses(cell):
            if not measure.inside_noise:
                error = abs(measure.error) / limit.relative
                worst = max(worst, error if math.isfinite(error) else 1e9)
    return worst


def worst(cells: Sequence[Cell], most: int) -> list[Cell]:
    """The cells that miss a limit by more than noise, the worst first."""
    missing = [cell for cell in cells if badness(cell) > 0]
    return sorted(missing, key=lambda cell: (-badness(cell), cell.id))[:most]
