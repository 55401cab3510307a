"""Draws the figures and tables of a section for the report."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.evaluate.decision import PointOutcome
from tailback.evaluate.model import Evaluation
from tailback.figures.theme import GRID, INK, WIDTH
from tailback.report.model import Block, Column, ReportFigure, Table, Value
from tailback.report.tables import left, right

ROW_HEIGHT = 26


def points_figure(
    section: str, measure: str, bound: float, points: Sequence[PointOutcome], against: str
) -> list[Block]:
    """Draw the value and interval of each sweep point next to the bound, and add a table."""
    known = [point for point in points if point.values]
    if not known:
        return []
    labels = [point.label or "all seeds" for point in known]
    ends = [point.ends(len(known)) or (point.mean, point.mean) for point in known]
    frame = pl.DataFrame(
        {
            "point": labels,
            "value": [point.mean for point in known],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        }
    )
    y = alt.Y("point:N", title=None, sort=labels, axis=alt.Axis(labelLimit=320))
    base = alt.Chart(frame).encode(y=y)
    x = alt.X("value:Q", title=measure)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=measure), x2="high:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x)
    limit = (
        alt.Chart(pl.DataFrame({"at": [bound]}))
        .mark_rule(color=INK, strokeDash=[4, 3])
        .encode(x="at:Q")
    )
    height = max(2, len(known)) * ROW_HEIGHT
    chart = alt.layer(bars, dots, limit).properties(width=WIDTH, height=height)
    caption = (
        "Dots are means over seeds, bars their simultaneous 95 % intervals; the dashed line is "
        "the bound."
    )
    if against:
        caption += f" Differences to {against}, seed by seed."
    name = f"section-{section.replace('.', '-')}"
    numbers = [Column(title, format=".4g") for title in ("value", "low", "high")]
    columns = [*left("point"), *numbers, *right("seeds"), *left("numbers")]
    rows: list[list[Value]] = [
        [label, point.mean, *end, len(point.values), point.says]
        for label, point, end in zip(labels, known, ends, strict=True)
    ]
    table = Table(f"{name}-points", "Every point", columns, rows)
    return [ReportFigure(f"{name}-figure", measure, chart, caption), table]


COLOURS: dict[str, str] = {
    "pass": "#009E73",
    "no worse": "#56B4E9",
    "undecided": "#9aa5b1",
    "not observable": GRID,
    "worse": "#E69F00",
    "fail": "#D55E00",
}
"""Colours of verdicts, in the order of the columns."""


def matrix(evaluation: Evaluation) -> ReportFigure:
    """Draw a row for each section and a column for each verdict. A mark shows the section's
    verdict.
    """
    labels = [f"{one.id}  {one.title}" for one in evaluation.sections]
    frame = pl.DataFrame(
        {"section": labels, "verdict": [one.verdict for one in evaluation.sections]}
    )
    order = list(COLOURS)
    chart = (
        alt.Chart(frame)
        .mark_square(size=150, opacity=1)
        .encode(
            x=alt.X(
                "verdict:N",
                title=None,
                sort=order,
                scale=alt.Scale(domain=order),
                axis=alt.Axis(orient="top", labelAngle=0, grid=True),
            ),
            y=alt.Y("section:N", title=None, sort=labels, axis=alt.Axis(labelLimit=360, grid=True)),
            color=alt.Color(
                "verdict:N",
                scale=alt.Scale(domain=order, range=list(COLOURS.values())),
                legend=None,
            ),
        )
        .properties(width=WIDTH, height=max(2, len(labels)) * 20)
    )
    caption = (
        "Pass and fail are for requirements with a bound. Worse and no worse compare with a "
        "reference, or with the harm that a second flow of the incumbent's algorithm does. "
        "Undecided: the bound is inside the interval over seeds."
    )
    return ReportFigure("matrix", "Verdict of every section", chart, caption)
