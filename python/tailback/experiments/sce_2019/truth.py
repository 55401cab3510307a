"""How far off the cells are, what was hoped for, and how far off the source is from itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.experiments.sce_2019.layout import SHARED, TABLES, Setup, published
from tailback.experiments.sce_2019.points import Entry
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import summarise

#: Errors as they are counted: over the published value, over Cake's rate, as they are.
KINDS = {"relative": "relative", "capacity": "of the rate", "absolute": "absolute"}


@dataclass(frozen=True)
class Goal:
    """A group of cells and what its errors are to stay below."""

    id: str
    title: str
    #: One of `KINDS`.
    kind: str
    #: Shares, or differences of Jain's index.
    median: float
    p90: float
    belongs: Callable[[Entry], bool]


def _clear(entry: Entry) -> bool:
    """No flow shares a queue with another."""
    return entry.table.quantity == "throughput_mbit" and not entry.table.setup.shared


def _rtt(entry: Entry) -> bool:
    return entry.table.quantity == "tcp_rtt_ms"


GOALS = (
    Goal(
        "throughput_mbit.one-flow,fair-queued",
        "throughput, one flow and fair-queued",
        "relative",
        0.015,
        0.06,
        _clear,
    ),
    Goal(
        "throughput_mbit.one-flow,fair-queued.cubic,reno",
        "the same, CUBIC and Reno alone",
        "relative",
        0.01,
        0.06,
        lambda e: _clear(e) and set(e.table.setup.ccs) <= {"cubic", "reno"},
    ),
    Goal(
        "throughput_mbit.shared",
        "throughput, shared queue",
        "capacity",
        0.02,
        0.06,
        lambda e: e.table.quantity == "throughput_mbit" and e.table.setup.shared,
    ),
    Goal(
        "tcp_rtt_ms.from-5Mbit",
        "TCP RTT from 5 Mbit/s up",
        "relative",
        0.02,
        0.08,
        lambda e: _rtt(e) and e.rate_mbit >= 5,
    ),
    Goal(
        "tcp_rtt_ms.below-5Mbit",
        "TCP RTT below 5 Mbit/s",
        "relative",
        0.08,
        0.25,
        lambda e: _rtt(e) and e.rate_mbit < 5,
    ),
    Goal(
        "jain",
        "Jain's index",
        "absolute",
        0.015,
        0.06,
        lambda e: e.table.quantity == "jain",
    ),
)


@dataclass(frozen=True)
class Verdict:
    """A goal and what came out."""

    goal: Goal
    cells: int
    median: float
    p90: float

    @property
    def holds(self) -> bool:
        """Both errors are within the goal."""
        return self.median <= self.goal.median and self.p90 <= self.goal.p90


def size(entry: Entry, kind: str) -> float | None:
    """The error of a cell, counted in this way, without its sign."""
    error = {
        "relative": entry.relative,
        "capacity": entry.of_capacity,
        "absolute": entry.cell.error,
    }[kind]
    return None if error is None else abs(error)


def sizes(entries: Iterable[Entry], kind: str) -> list[float]:
    """The errors of all cells that have one."""
    return [error for entry in entries if (error := size(entry, kind)) is not None]


def verdicts(entries: Sequence[Entry]) -> list[Verdict]:
    """Every goal that some cell belongs to."""
    out = []
    for goal in GOALS:
        errors = sizes((e for e in entries if goal.belongs(e)), goal.kind)
        middle, high = median(errors), nearest_rank(errors, 0.9)
        if middle is not None and high is not None:
            out.append(Verdict(goal, len(errors), middle, high))
    return out


def summary(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The summary of `reproduce --json`: by quantity, then the groups that have a goal."""
    rows: list[dict[str, Any]] = list(summarise([entry.cell for entry in entries]))
    for verdict in verdicts(entries):
        goal = verdict.goal
        (row,) = summarise([e.cell for e in entries if goal.belongs(e)])
        told: dict[str, Any] = {
            **row,
            "quantity": goal.id,
            "goal": {"error": goal.kind, "median": goal.median, "p90": goal.p90},
            "median_goal_error": verdict.median,
            "p90_goal_error": verdict.p90,
            "holds": verdict.holds,
        }
        if goal.id == "throughput_mbit.shared":
            told["source_noise"] = noise("throughput_mbit", "capacity")
        rows.append(told)
    return rows


def noise(quantity: str, kind: str) -> dict[str, float]:
    """How far the source is from itself: CUBIC and Reno in a shared queue do not notice SCE, so
    that the two shared modes are one experiment, done twice."""
    known = published()
    gaps = []
    for table in TABLES.values():
        if table.quantity != quantity or table.setup.mode != SHARED[0]:
            continue
        if not set(table.setup.ccs) <= {"cubic", "reno"}:
            continue
        twin = next(
            t
            for t in TABLES.values()
            if t.quantity == quantity and t.setup == Setup(SHARED[1], table.setup.ccs)
        )
        for (number, position, rate, delay), value in known.items():
            other = known.get((twin.number, position, rate, delay))
            if number == table.number and other is not None:
                whole = rate if kind == "capacity" else (value + other) / 2
                gaps.append(abs(value - other) / whole)
    return {
        "cells": len(gaps),
        "median": median(gaps) or 0.0,
        "p90": nearest_rank(gaps, 0.9) or 0.0,
        "max": max(gaps),
    }
