"""Draws published and measured statistics and ratios side by side."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.report import Facts, ReportFigure
from tailback_studies.experiments.dualpi2_2022 import charts
from tailback_studies.experiments.dualpi2_2022.layout import (
    MIXED,
    OVERLOAD,
    RATIOS,
    STATISTICS,
    Run,
)
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry

# Quantities with a figure: id, title, beginning of the column names (without the class), and title
# of the axis.
DRAWN: tuple[tuple[str, str, str, str], ...] = (
    ("delay", "Queue delay", "qs", "ms"),
    ("rate", "Rate of a flow", "rpf", "Mbit/s"),
    ("marks", "Marks, share of the packets forwarded", "marks", "%"),
    ("drops", "Drops, share of the packets that arrived", "drops", "%"),
)


def place_of(run: Run) -> str:
    """Return the label of a run on the x axis."""
    return str(run.title)


def _x_title(kind: str) -> str:
    if kind == OVERLOAD:
        return "class with UDP, Mbit/s"
    return "round-trip times, ms: with ECN / without"


def beside(
    entries: Sequence[DualPi2Entry],
    kind: str,
    figure_id: str,
    title: str,
    stem: str,
    unit: str,
    facts: Facts,
) -> ReportFigure | None:
    sides = {f"{stem}_ecn": "L", f"{stem}_nonecn": "C"}
    groups: dict[tuple[str, str, str], dict[str, DualPi2Entry]] = {}
    for e in entries:
        if e.quantity in sides and e.case.whose != "udp":
            facet = f"{e.run.archive.title}: {side_of(e.run, sides[e.quantity])}"
            statistic = e.column.rpartition("_")[2]
            groups.setdefault((facet, place_of(e.run), e.quantity), {})[statistic] = e
    factor = 8e-6 if stem == "rpf" else 1.0
    rows = []
    for (facet, place, _), cells in groups.items():
        for whose in charts.WHOSE:
            numbers = {
                name: _of(cells[name], whose, factor) for name in STATISTICS[:-1] if name in cells
            }
            if numbers.get("mean") is not None:
                rows.append({"facet": facet, "case": place, "whose": whose, **numbers})
    drawn = [row for row in rows if any(row[k] for k in ("mean", "p99"))]
    if not drawn:
        return None
    schema = dict.fromkeys(("facet", "case", "whose"), pl.String()) | dict.fromkeys(
        STATISTICS[:-1], pl.Float64()
    )
    frame = pl.DataFrame(drawn, schema=schema)
    chart = charts.beside(
        frame,
        facet="facet",
        facets=list(dict.fromkeys(frame["facet"].to_list())),
        order=list(dict.fromkeys(frame["case"].to_list())),
        y_title=f"{title.lower()}, {unit}",
        x_title=_x_title(kind),
        columns=1 if kind == OVERLOAD else 2,
        width=760 if kind == OVERLOAD else 440,
    )
    caption = (
        "For published and for measured values, the figure shows the mean (point), the 25th to "
        "75th percentile (bar) and the 1st to 99th percentile (line)."
    )
    return ReportFigure(f"{kind}-{figure_id}", title, chart, caption, facts)


def side_of(run: Run, name: str) -> str:
    """Return the name of a traffic class for headings."""
    if run.archive.aqm == "dualpi2":
        return name
    return "with ECN" if name == "L" else "without ECN"


def _of(entry: DualPi2Entry, whose: str, factor: float) -> float | None:
    value = entry.cell.published if whose == "published" else entry.cell.measured
    return None if value is None else value * factor


def ratios(entries: Sequence[DualPi2Entry], facts: Facts) -> ReportFigure | None:
    rows = []
    for e in entries:
        if e.column in RATIOS:
            name = "rate" if e.column == "rate_ratio" else "window"
            for whose in charts.WHOSE:
                value = _of(e, whose, 1.0)
                if value is not None:
                    facet = f"{e.run.archive.title}: {name} ratio"
                    rows.append(
                        {"facet": facet, "case": place_of(e.run), "whose": whose, "mean": value}
                    )
    if not rows:
        return None
    frame = pl.DataFrame(rows).with_columns(
        pl.lit(None, dtype=pl.Float64).alias(p) for p in ("p1", "p25", "p75", "p99")
    )
    chart = charts.beside(
        frame,
        facet="facet",
        facets=list(dict.fromkeys(frame["facet"].to_list())),
        order=list(dict.fromkeys(frame["case"].to_list())),
        y_title="with ECN / without",
        x_title=_x_title(MIXED),
        log=True,
        columns=2,
        width=440,
        rule=1.0,
    )
    caption = (
        "Mean rate (window) of the flow with ECN divided by that of the flow without, "
        "published and measured."
    )
    return ReportFigure("mixed-rtt-ratio", "Rate and window ratio", chart, caption, facts)
