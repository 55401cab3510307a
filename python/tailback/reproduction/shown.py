"""Tables and captions of a reproduction's report, and numbers as they stand in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.metrics.statistics import Estimate
from tailback.report import Facts, Table, Value
from tailback.report.tables import left, mark, right
from tailback.reproduction.entries import KINDS
from tailback.reproduction.goals import CellsVerdict, ErrorsVerdict
from tailback.results import Results

NO_OFFLOADS = "every segment is a packet: no TSO, GSO, GRO"
"""Where every reproduction differs from a test bed."""


def facts(
    results: Iterable[Results],
    *,
    warmup: str = "",
    unit: str = "s simulated",
    options: Sequence[str] = (),
    deviations: Sequence[str] = (),
) -> Facts:
    """What figures and tables made from these results rest on; every caption states it."""
    found = list(results)
    runs = [run for result in found for run in result]
    return Facts(
        runs=len(runs),
        seeds=len({run.seed for run in runs}),
        duration=span((run.summary["duration_s"] for run in runs), unit),
        warmup=warmup,
        engine=f"{found[0].engine} {found[0].version}" if found else "",
        options=options,
        deviations=deviations,
    )


def span(values: Iterable[float], unit: str) -> str:
    """The smallest and the largest number; empty without any."""
    ordered = sorted(values)
    if not ordered:
        return ""
    low, high = ordered[0], ordered[-1]
    return f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"


def errors_table(verdicts: Iterable[ErrorsVerdict], facts: Facts) -> Table:
    """Median and 90th percentile of the errors of each group beside its goal."""
    rows: list[list[Value]] = [
        [
            v.goal.title,
            v.cells,
            KINDS[v.goal.kind],
            size(v.median, v.goal.kind, ".3f"),
            size(v.goal.median, v.goal.kind, ".3f"),
            size(v.p90, v.goal.kind, ".3f"),
            size(v.goal.p90, v.goal.kind, ".3f"),
            mark(v.holds),
        ]
        for v in verdicts
    ]
    columns = [
        *left(""),
        *right("cells"),
        *left("error"),
        *right("median", "goal", "90 % below", "goal"),
        *left(""),
    ]
    caption = "Errors of the cells that are published, and what was hoped for."
    return Table("goals", "Errors by group", columns, rows, caption, facts)


def goals_table(verdicts: Iterable[CellsVerdict], facts: Facts) -> Table:
    """Cells within their limits, without and with those that only chance keeps out."""
    rows: list[list[Value]] = [
        [
            v.goal.title,
            v.goal.text,
            v.cells,
            v.within,
            v.chance,
            size(v.median, v.goal.kind),
            size(v.worst, v.goal.kind),
            mark(v.holds),
        ]
        for v in verdicts
    ]
    columns = [
        *left(""),
        *right("goal", "cells", "within", "of the others chance", "median error", "largest"),
        *left(""),
    ]
    caption = (
        "Cells that are published, and how far off they may be. The source ran each case once: "
        "chance are misses within what one more run here would give in 95 % of cases."
    )
    return Table("goals", "Goals", columns, rows, caption, facts)


def size(value: float | None, kind: str, digits: str = ".2g") -> str | None:
    """An error without a sign: in percent, or as it is with these digits."""
    if value is None:
        return None
    return f"{value:{digits}}" if kind == "absolute" else f"{100 * value:.2g} %"


def signed(value: float | None) -> str | None:
    """A relative error in percent."""
    return None if value is None else f"{100 * value:+.1f} %"


def with_half(value: Estimate, digits: int) -> str:
    """A mean and half of its interval."""
    if value.mean is None:
        return ""
    half = "" if value.half_width is None else f" \u00b1{value.half_width:.{digits}f}"
    return f"{value.mean:.{digits}f}{half}"
