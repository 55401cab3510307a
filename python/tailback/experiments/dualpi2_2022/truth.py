"""How far off the cells are, what was hoped for, and the law that must hold in what is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.experiments.dualpi2_2022.layout import MIXED, OVERLOAD, Run
from tailback.experiments.dualpi2_2022.points import (
    BEFORE,
    UDP_FRAME,
    UDP_PAYLOAD,
    Entry,
    Stored,
    left_out,
)
from tailback.metrics.statistics import median, nearest_rank, t_quantile
from tailback.report import summarise

#: Delays of the source are multiples of this, ms.
RESOLUTION_MS = 0.032768
#: Rate of the link with UDP, Mbit/s.
_LINK_MBIT = 100.0


@dataclass(frozen=True)
class Goal:
    """A group of cells and how far off each may be."""

    id: str
    title: str
    #: "relative" or "absolute".
    kind: str
    #: Share of the published value, or a difference in the unit of the cells.
    limit: float
    belongs: Callable[[Entry], bool]
    #: Share of the cells that must be within it.
    needed: float = 1.0
    #: Smallest tolerance, in the unit of the cells.
    least: float = 0.0

    def tolerance(self, known: float) -> float:
        """Largest difference from a published value that agrees."""
        return max(self.limit * abs(known) if self.kind == "relative" else self.limit, self.least)

    @property
    def text(self) -> str:
        """The limit in words."""
        if self.kind == "relative":
            floor = f" or {self.least:.2g}" if self.least else ""
            return f"{100 * self.limit:g} %{floor}"
        return f"{self.limit:g}"


def _dualpi2(*columns: str) -> Callable[[Entry], bool]:
    return lambda e: (
        e.run.archive.kind == MIXED and e.run.archive.aqm == "dualpi2" and e.column in columns
    )


def _of(aqm: str, *columns: str) -> Callable[[Entry], bool]:
    return lambda e: e.run.archive.aqm == aqm and e.column in columns


def _overload(*columns: str, whose: str = "") -> Callable[[Entry], bool]:
    return lambda e: (
        e.run.archive.kind == OVERLOAD
        and e.column in columns
        and (not whose or e.case.whose == whose)
    )


_QS = ("qs_ecn_mean", "qs_nonecn_mean")

GOALS = (
    Goal(
        "dualpi2.rate_ratio",
        "DualPI2: rate ratio (10 of 11)",
        "relative",
        0.2,
        _dualpi2("rate_ratio"),
        needed=10 / 11,
    ),
    Goal(
        "dualpi2.qs_nonecn",
        "DualPI2: mean and P99 of C's queue delay",
        "relative",
        0.2,
        _dualpi2("qs_nonecn_mean", "qs_nonecn_p99"),
    ),
    Goal(
        "dualpi2.qs_ecn_mean",
        "DualPI2: mean of L's queue delay, ms",
        "absolute",
        0.1,
        _dualpi2("qs_ecn_mean"),
    ),
    Goal(
        "dualpi2.qs_ecn_p99",
        "DualPI2: P99 of L's queue delay, ms",
        "absolute",
        0.3,
        _dualpi2("qs_ecn_p99"),
    ),
    Goal(
        "dualpi2.marks_ecn_mean",
        "DualPI2: marks in L",
        "relative",
        0.25,
        _dualpi2("marks_ecn_mean"),
    ),
    Goal(
        "dualpi2.drops_nonecn_mean",
        "DualPI2: drops in C",
        "relative",
        0.25,
        _dualpi2("drops_nonecn_mean"),
    ),
    Goal(
        "dualpi2.util_mean",
        "DualPI2: utilisation, points",
        "absolute",
        0.7,
        _dualpi2("util_mean"),
    ),
    Goal(
        "overload.qs",
        "Overload: mean queue delays",
        "relative",
        0.2,
        _overload(*_QS),
        least=RESOLUTION_MS,
    ),
    Goal(
        "overload.udp-drops",
        "Overload: drops of UDP, points",
        "absolute",
        2.0,
        _overload("drops_ecn_mean", "drops_nonecn_mean", whose="udp"),
    ),
    Goal("pie.rate_ratio", "PIE: rate ratio", "relative", 0.15, _of("pie", "rate_ratio")),
    Goal("pie.qs", "PIE: mean queue delay", "relative", 0.2, _of("pie", *_QS)),
    Goal(
        "fq_codel.rate_ratio",
        "FQ-CoDel: rate ratio",
        "relative",
        0.15,
        _of("fq_codel", "rate_ratio"),
    ),
    Goal("fq_codel.qs", "FQ-CoDel: mean queue delay", "relative", 0.2, _of("fq_codel", *_QS)),
)


def goal_of(entry: Entry) -> Goal | None:
    """The goal that a cell belongs to."""
    return next((goal for goal in GOALS if goal.belongs(entry)), None)


def judged(entries: Iterable[Entry]) -> list[Entry]:
    """The same cells with the tolerances of their goals."""
    out = []
    for entry in entries:
        goal, known = goal_of(entry), entry.cell.published
        if goal is not None and known is not None:
            cell = replace(entry.cell, tolerance=goal.tolerance(known))
            entry = replace(entry, cell=cell)
        out.append(entry)
    return out


def within(entry: Entry) -> bool | None:
    """Whether a cell is within its tolerance; None if there is nothing to say."""
    if entry.cell.tolerance is None or entry.cell.error is None:
        return None
    return entry.cell.status == "pass"


def chance(entry: Entry) -> bool:
    """Whether the published value is within what one more run of ours would give in 95 % of cases.

    The source ran once: a miss within this is not told from chance.
    """
    n, known = len(entry.values), entry.cell.published
    if n < 2 or known is None:
        return False
    mean = math.fsum(entry.values) / n
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in entry.values) / (n - 1))
    return abs(known - mean) <= t_quantile(n - 1) * deviation * math.sqrt(1 + 1 / n)


def size(entry: Entry, kind: str) -> float | None:
    """The error of a cell without its sign."""
    error = entry.relative if kind == "relative" else entry.cell.error
    return None if error is None else abs(error)


@dataclass(frozen=True)
class Verdict:
    """A goal and what came out."""

    goal: Goal
    cells: int
    hits: int
    #: Misses that chance in the source's single run accounts for.
    chance: int
    median: float
    worst: float

    @property
    def holds(self) -> bool:
        """Enough cells are within the goal."""
        return self.hits >= math.ceil(self.goal.needed * self.cells - 1e-9)


def verdicts(entries: Sequence[Entry]) -> list[Verdict]:
    """Every goal that some cell belongs to."""
    out = []
    for goal in GOALS:
        own = [e for e in entries if goal.belongs(e) and within(e) is not None]
        if not own:
            continue
        errors = [error for e in own if (error := size(e, goal.kind)) is not None]
        missed = [e for e in own if not within(e)]
        out.append(
            Verdict(
                goal,
                len(own),
                len(own) - len(missed),
                sum(chance(e) for e in missed),
                median(errors) or 0.0,
                max(errors),
            )
        )
    return out


# --- overload ----------------------------------------------------------------------------------


def udp_share(payload_mbit: float) -> float:
    """Percent of UDP that must be dropped if it gets the whole link: (input - capacity)/input."""
    sent = payload_mbit * UDP_FRAME / UDP_PAYLOAD
    return max(0.0, 100 * (sent - _LINK_MBIT) / sent)


@dataclass(frozen=True)
class Signature:
    """Which queue is held at the target in a run with UDP, published and measured."""

    run: Run
    published: str | None
    measured: str

    @property
    def agrees(self) -> bool | None:
        """None if nothing is published of it."""
        return None if self.published is None else self.published == self.measured


def signatures(entries: Iterable[Entry]) -> list[Signature]:
    """The queue that is at the target (L where UDP overloads it, else C), by run of overload."""
    found: dict[Run, dict[str, Entry]] = {}
    for e in entries:
        if e.run.archive.kind == OVERLOAD and e.case.whose == "tcp" and e.column in _QS:
            found.setdefault(e.run, {})[e.column] = e
    out = []
    for run, cells in found.items():
        pairs = [(cells[c].cell.published, cells[c].cell.measured) for c in _QS if c in cells]
        if len(pairs) != 2:
            continue
        (known_l, got_l), (known_c, got_c) = pairs
        if got_l is None or got_c is None:
            continue
        known = None if known_l is None or known_c is None else at_target(known_l, known_c)
        out.append(Signature(run, known, at_target(got_l, got_c)))
    return out


def at_target(q_l: float, q_c: float) -> str:
    """ "L" or "C", whose mean delay (ms) is within 20 % of the target of 15 ms while the other's
    is below 2.5 ms; "neither" otherwise."""
    for name, held, other in (("L", q_l, q_c), ("C", q_c, q_l)):
        if 12 <= held <= 18 and other < 2.5:
            return name
    return "neither"


# --- the law -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """p_C over (p_L / 2) squared in a run of DualPI2 in which L was not overloaded."""

    run: Run
    #: Shares of packets, over all seeds; p_l of the marks that the coupling made.
    p_l: float
    p_c: float
    #: The mean of the squared probability, sampled every second; None without samples.
    square: float | None
    #: Relative 95 % half width that the counts of marks and drops leave, and the samples if used.
    noise: float
    published: float | None

    @property
    def ratio(self) -> float:
        """1 if the law holds and the probability does not vary."""
        return self.p_c / (self.p_l / 2) ** 2

    @property
    def judged(self) -> float:
        """1 if the law holds: where p varies, C meets the mean of its square."""
        if self.run.archive.kind == OVERLOAD or not self.square:
            return self.ratio
        return self.p_c / self.square

    @property
    def limit(self) -> float:
        """The larger of 6 % and the noise."""
        return max(0.06, self.noise)

    @property
    def holds(self) -> bool:
        """Whether it is within its limit."""
        return abs(self.judged - 1) <= self.limit


def laws(runs: Sequence[Run], results: Sequence[Iterable[Stored]]) -> list[Law]:
    """The law in each run of DualPI2 with both classes in which L was not overloaded."""
    out = []
    for run, stored in zip(runs, results, strict=True):
        if run.archive.aqm != "dualpi2" or not run.rtt_nonecn:
            continue
        law = _law(run, list(stored))
        if law is not None:
            out.append(law)
    return out


def _law(run: Run, stored: Sequence[Stored]) -> Law | None:
    counts = {"L": [0, 0, 0], "C": [0, 0, 0]}
    for one in stored:
        for entry in one.summary["classes"]:
            own = counts[entry["name"].partition("-")[0]]
            own[0] += entry["packets"]
            own[1] += entry["causes"].get("mark", 0)
            own[2] += entry["drops"]
    (packets_l, marks, drops_l), (packets_c, _, drops) = counts["L"], counts["C"]
    if drops_l or not marks or not drops or not packets_l:
        return None
    p_l, p_c = marks / packets_l, drops / (packets_c + drops)
    if run.archive.kind == OVERLOAD:
        noise = 1.96 * math.sqrt((1 - p_c) / drops + 4 * (1 - p_l) / marks)
        return Law(run, p_l, p_c, None, noise, _published_law(run))
    squares = [p * p for one in stored for p in _probabilities(run, one)]
    square = math.fsum(squares) / len(squares)
    variance = math.fsum((x - square) ** 2 for x in squares) / max(len(squares) - 1, 1)
    sampled = variance / len(squares) / square**2 if square else 0.0
    noise = 1.96 * math.sqrt((1 - p_c) / drops + sampled)
    return Law(run, p_l, p_c, square, noise, _published_law(run))


def _probabilities(run: Run, stored: Stored) -> list[float]:
    """p every second, of the time that counts."""
    import polars as pl

    start = (BEFORE + left_out(run)) * 1e9
    found: list[float] = (
        stored.series()
        .filter(pl.col("quantity") == "dualpi2_probability", pl.col("time_ns") >= start)["value"]
        .to_list()
    )
    return found


def _published_law(run: Run) -> float | None:
    from tailback.experiments.dualpi2_2022.layout import published

    known = published()
    case = run.cases[0]
    key = (run.archive.name, case.name)
    p_l, p_c = known.get((*key, "marks_ecn_mean")), known.get((*key, "drops_nonecn_mean"))
    if not p_l or p_c is None:
        return None
    return (p_c / 100) / (p_l / 200) ** 2


# --- summary -----------------------------------------------------------------------------------


def summary(entries: Sequence[Entry], found: Sequence[Law]) -> list[dict[str, Any]]:
    """The summary of `reproduce --json`: by column, the goals, the signature, the law."""
    rows: list[dict[str, Any]] = list(summarise([entry.cell for entry in entries]))
    for verdict in verdicts(entries):
        goal = verdict.goal
        own = [e.cell for e in entries if goal.belongs(e)]
        relative = [abs(e.relative) for e in entries if goal.belongs(e) and e.relative is not None]
        errors = [abs(cell.error) for cell in own if cell.error is not None]
        rows.append(
            {
                "quantity": goal.id,
                "cells": verdict.cells,
                "median_rel_error": median(relative),
                "p90_rel_error": nearest_rank(relative, 0.9),
                "median_abs_error": median(errors),
                "p90_abs_error": nearest_rank(errors, 0.9),
                "goal": {"error": goal.kind, "limit": goal.limit, "needed": goal.needed},
                "within": verdict.hits,
                "chance": verdict.chance,
                "holds": verdict.holds,
            }
        )
    signs = [s for s in signatures(entries) if s.agrees is not None]
    if signs:
        rows.append(_counted("overload.signature", len(signs), sum(bool(s.agrees) for s in signs)))
    steady = [law for law in found if law.run.archive.kind == OVERLOAD]
    if steady:
        rows.append(_counted("law.overload", len(steady), sum(law.holds for law in steady)))
    mixed = [law for law in found if law.run.archive.kind == MIXED]
    if mixed:
        rows.append(_counted("law.mixed-rtt", len(mixed), sum(law.holds for law in mixed)))
    return rows


def _counted(name: str, cells: int, hits: int) -> dict[str, Any]:
    errors = dict.fromkeys(
        ("median_rel_error", "p90_rel_error", "median_abs_error", "p90_abs_error")
    )
    return {"quantity": name, "cells": cells, **errors, "within": hits, "holds": hits == cells}
