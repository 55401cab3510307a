"""Defines goals for the errors of values, and makes the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tailback_studies.experiments.dualpi2_2022.law import Law
from tailback_studies.experiments.dualpi2_2022.layout import MIXED, OVERLOAD
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry
from tailback_studies.experiments.dualpi2_2022.signature import QS, signatures
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import CellsVerdict, CellsWithin
from tailback_studies.reproduction.judges import Judge, judge

# Published delays are multiples of this value (in ms).
RESOLUTION_MS = 0.032768


def _dualpi2(*columns: str) -> Callable[[DualPi2Entry], bool]:
    return lambda e: (
        e.run.archive.kind == MIXED and e.run.archive.aqm == "dualpi2" and e.column in columns
    )


def _of(aqm: str, *columns: str) -> Callable[[DualPi2Entry], bool]:
    return lambda e: e.run.archive.aqm == aqm and e.column in columns


def _overload(*columns: str, whose: str = "") -> Callable[[DualPi2Entry], bool]:
    return lambda e: (
        e.run.archive.kind == OVERLOAD
        and e.column in columns
        and (not whose or e.case.whose == whose)
    )


GOALS: tuple[CellsWithin[DualPi2Entry], ...] = (
    CellsWithin(
        "dualpi2.rate_ratio",
        "DualPI2: rate ratio; at least 10/11 of the rows must be within the limit",
        "relative",
        _dualpi2("rate_ratio"),
        0.2,
        needed=10 / 11,
    ),
    CellsWithin(
        "dualpi2.qs_nonecn",
        "DualPI2: mean and 99th percentile of C's queue delay",
        "relative",
        _dualpi2("qs_nonecn_mean", "qs_nonecn_p99"),
        0.2,
    ),
    CellsWithin(
        "dualpi2.qs_ecn_mean",
        "DualPI2: mean of L's queue delay, in ms",
        "absolute",
        _dualpi2("qs_ecn_mean"),
        0.1,
    ),
    CellsWithin(
        "dualpi2.qs_ecn_p99",
        "DualPI2: 99th percentile of L's queue delay, in ms",
        "absolute",
        _dualpi2("qs_ecn_p99"),
        0.3,
    ),
    CellsWithin(
        "dualpi2.marks_ecn_mean",
        "DualPI2: marks in L",
        "relative",
        _dualpi2("marks_ecn_mean"),
        0.25,
    ),
    CellsWithin(
        "dualpi2.drops_nonecn_mean",
        "DualPI2: drops in C",
        "relative",
        _dualpi2("drops_nonecn_mean"),
        0.25,
    ),
    CellsWithin(
        "dualpi2.util_mean",
        "DualPI2: utilisation, in percentage points",
        "absolute",
        _dualpi2("util_mean"),
        0.7,
    ),
    CellsWithin(
        "overload.qs",
        "Overload: mean queue delays",
        "relative",
        _overload(*QS),
        0.2,
        least=RESOLUTION_MS,
        unit="ms",
    ),
    CellsWithin(
        "overload.udp-drops",
        "Overload: drops of UDP, in percentage points",
        "absolute",
        _overload("drops_ecn_mean", "drops_nonecn_mean", whose="udp"),
        2.0,
    ),
    CellsWithin("pie.rate_ratio", "PIE: rate ratio", "relative", _of("pie", "rate_ratio"), 0.15),
    CellsWithin("pie.qs", "PIE: mean queue delay", "relative", _of("pie", *QS), 0.2),
    CellsWithin(
        "fq_codel.rate_ratio",
        "FQ-CoDel: rate ratio",
        "relative",
        _of("fq_codel", "rate_ratio"),
        0.15,
    ),
    CellsWithin("fq_codel.qs", "FQ-CoDel: mean queue delay", "relative", _of("fq_codel", *QS), 0.2),
)


def judged(entries: Iterable[DualPi2Entry]) -> list[DualPi2Entry]:
    """Return copies of the values with tolerances. The goal for a value's quantity sets the
    tolerance."""
    return goals.with_tolerances(GOALS, entries)


def verdicts(entries: Sequence[DualPi2Entry]) -> list[CellsVerdict]:
    """Return for each goal whether it is met. Skip goals without any measured value."""
    return list(goals.cells_verdicts(GOALS, entries))


def judged_goals(entries: Sequence[DualPi2Entry]) -> list[Judge]:
    """Return a row of goals.csv for each goal."""
    return [judge(verdict, entries) for verdict in verdicts(entries)]


def summary(entries: Sequence[DualPi2Entry], laws: Sequence[Law]) -> list[dict[str, Any]]:
    """Return the list `summary` of `reproduce --json`.

    The list contains errors by column, results of the goals, the queue that is at its target in
    overload, and the coupling law.
    """
    signs = [sign.agrees for sign in signatures(entries) if sign.agrees is not None]
    by_kind = {kind: [w.holds for w in laws if w.run.archive.kind == kind] for kind in _LAWS}
    return [
        *goals.summary(entries, verdicts(entries)),
        *([goals.counted_row("overload.signature", signs)] if signs else ()),
        *(goals.counted_row(_LAWS[kind], held) for kind, held in by_kind.items() if held),
    ]


# Ids of the summary's rows on the coupling law, by kind of run. DualPI2's base probability p is
# steady in overload and varies with mixed RTTs.
_LAWS = {OVERLOAD: "law.overload", MIXED: "law.mixed-rtt"}
