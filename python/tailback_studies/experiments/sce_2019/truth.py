"""Defines the goals, and estimates the noise of the published values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tailback.metrics.statistics import median, nearest_rank
from tailback_studies.experiments.sce_2019.layout import SHARED, TABLES, SceSetup, published
from tailback_studies.experiments.sce_2019.points import SceEntry
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import ErrorsBelow, ErrorsVerdict
from tailback_studies.reproduction.judges import Judge, Noise, judge


def _clear(entry: SceEntry) -> bool:
    """Return whether a value is the throughput of a flow that has its own queue."""
    return entry.table.quantity == "throughput_mbit" and not entry.table.setup.shared


def _rtt(entry: SceEntry) -> bool:
    return entry.table.quantity == "tcp_rtt_ms"


GOALS: tuple[ErrorsBelow[SceEntry], ...] = (
    ErrorsBelow(
        "throughput_mbit.one-flow,fair-queued",
        "throughput of a single flow, or of flows under fair queueing",
        "relative",
        _clear,
        0.015,
        0.06,
    ),
    ErrorsBelow(
        "throughput_mbit.one-flow,fair-queued.cubic,reno",
        "throughput of CUBIC or Reno alone",
        "relative",
        lambda e: _clear(e) and set(e.table.setup.ccs) <= {"cubic", "reno"},
        0.01,
        0.06,
    ),
    ErrorsBelow(
        "throughput_mbit.shared",
        "throughput in a shared queue",
        "capacity",
        lambda e: e.table.quantity == "throughput_mbit" and e.table.setup.shared,
        0.02,
        0.06,
    ),
    ErrorsBelow(
        "tcp_rtt_ms.from-5Mbit",
        "TCP RTT at 5 Mbit/s and more",
        "relative",
        lambda e: _rtt(e) and e.rate_mbit >= 5,
        0.02,
        0.08,
    ),
    ErrorsBelow(
        "tcp_rtt_ms.below-5Mbit",
        "TCP RTT below 5 Mbit/s",
        "relative",
        lambda e: _rtt(e) and e.rate_mbit < 5,
        0.08,
        0.25,
    ),
    ErrorsBelow(
        "jain", "Jain's index", "absolute", lambda e: e.table.quantity == "jain", 0.015, 0.06
    ),
)


def verdicts(entries: Sequence[SceEntry]) -> list[ErrorsVerdict]:
    """Return for each goal whether it is met. Skip goals without any measured value."""
    return list(goals.errors_verdicts(GOALS, entries))


def judges(entries: Sequence[SceEntry]) -> list[Judge]:
    """Return a row of goals.csv for each goal."""
    return [judge(verdict, entries, _twins(verdict)) for verdict in verdicts(entries)]


def _twins(verdict: ErrorsVerdict) -> Noise | None:
    """Return the noise of the published values that a goal covers."""
    goal = verdict.goal.id
    if goal == "throughput_mbit.shared":
        spread = noise("throughput_mbit", "capacity")
    elif goal == "tcp_rtt_ms.from-5Mbit":
        spread = noise("tcp_rtt_ms", "relative", lambda rate: rate >= 5)
    elif goal == "tcp_rtt_ms.below-5Mbit":
        spread = noise("tcp_rtt_ms", "relative", lambda rate: rate < 5)
    else:
        return None
    return Noise(int(spread["cells"]), spread["median"], spread["p90"])


def summary(entries: Sequence[SceEntry]) -> list[dict[str, Any]]:
    """Return the list `summary` of `reproduce --json`. The list contains the errors of each
    quantity, then the result of each goal."""
    rows = goals.summary(entries, verdicts(entries))
    for row in rows:
        if row["quantity"] == "throughput_mbit.shared":
            row["source_noise"] = noise("throughput_mbit", "capacity")
    return rows


def _any(_rate: float) -> bool:
    return True


def noise(quantity: str, kind: str, rates: Callable[[float], bool] = _any) -> dict[str, float]:
    """Return the noise of the published values.

    CUBIC and Reno do not respond to SCE. For these congestion controls, the two modes
    with a shared queue are therefore repetitions of one experiment. The results of the two modes
    differ only by noise."""
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
            if t.quantity == quantity and t.setup == SceSetup(SHARED[1], table.setup.ccs)
        )
        for (number, position, rate, delay), value in known.items():
            other = known.get((twin.number, position, rate, delay))
            if number == table.number and other is not None and rates(rate):
                whole = rate if kind == "capacity" else (value + other) / 2
                gaps.append(abs(value - other) / whole)
    return {
        "cells": len(gaps),
        "median": median(gaps) or 0.0,
        "p90": nearest_rank(gaps, 0.9) or 0.0,
        "max": max(gaps),
    }
