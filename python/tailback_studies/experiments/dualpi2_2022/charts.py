"""Draws published and measured values side by side. The x axis lists the runs."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import CATEGORIES, INK, MUTED, Chart

# Colours of published and of measured values.
WHOSE = {"published": MUTED, "measured": CATEGORIES[0]}


def beside(
    frame: pl.DataFrame,
    *,
    facet: str,
    order: Sequence[str],
    facets: Sequence[str],
    y_title: str,
    x_title: str,
    log: bool = False,
    columns: int = 3,
    width: int = 250,
    height: int = 170,
    rule: float | None = None,
) -> Chart:
    """Draw a small chart for each value of the column `facet`. The runs (column `case`) are on the
    x axis. `whose` is "published" or "measured". Boxes span p25 to p75, and whiskers span p1 to
    p99, unless these columns are null.
    """
    limits = {"type": "log"} if log else {"zero": True}
    scale = alt.Scale(**limits)
    colour = alt.Color(
        "whose:N",
        scale=alt.Scale(domain=list(WHOSE), range=list(WHOSE.values())),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    offset = alt.XOffset("whose:N", scale=alt.Scale(domain=list(WHOSE), paddingOuter=0.3))
    charts = []
    for name in facets:
        rows = frame.filter(pl.col(facet) == name)
        held = set(rows["case"].to_list())
        x = alt.X(
            "case:N",
            title=x_title,
            sort=[case for case in order if case in held],
            axis=alt.Axis(labelAngle=0, labelOverlap=False, labelFontSize=9),
        )
        base = alt.Chart(rows).encode(x=x, xOffset=offset, color=colour)
        layers = []
        if rule is not None:
            layers.append(
                alt.Chart(pl.DataFrame({"at": [rule]}))
                .mark_rule(color=INK, strokeDash=[5, 4], strokeWidth=1)
                .encode(y=alt.Y("at:Q", scale=scale))
            )
        if rows["p99"].null_count() < rows.height:
            layers.append(
                base.mark_rule(strokeWidth=1.2).encode(
                    y=alt.Y("p1:Q", scale=scale, title=y_title), y2="p99:Q"
                )
            )
            layers.append(
                base.mark_bar(size=8, opacity=0.35).encode(
                    y=alt.Y("p25:Q", scale=scale, title=y_title), y2="p75:Q"
                )
            )
        layers.append(
            base.mark_point(filled=True, size=42).encode(
                y=alt.Y("mean:Q", scale=scale, title=y_title),
                tooltip=[
                    alt.Tooltip("case:N"),
                    alt.Tooltip("whose:N"),
                    *(
                        alt.Tooltip(f"{column}:Q", format=".4~g")
                        for column in ("mean", "p1", "p25", "p75", "p99")
                    ),
                ],
            )
        )
        charts.append(alt.layer(*layers).properties(title=name, width=width, height=height))
    return alt.concat(*charts, columns=columns, spacing=24)


def tail(
    frame: pl.DataFrame, *, facet: str, facets: Sequence[str], x_title: str, columns: int = 3
) -> Chart:
    """Plot the percentage of packets (column percent) whose queue delay exceeds each delay (column
    value). Each facet has its own small chart. Rows with "published" in the column `whose` are
    drawn as single points."""
    colour = alt.Color(
        "series:N", scale=alt.Scale(range=CATEGORIES), legend=alt.Legend(title=None, orient="top")
    )
    x = alt.X("value:Q", title=x_title, scale=alt.Scale(zero=True, nice=False))
    y = alt.Y(
        "percent:Q", title="% of packets beyond", scale=alt.Scale(type="log", domain=[0.01, 100])
    )
    charts = []
    for name in facets:
        rows = frame.filter(pl.col(facet) == name)
        lines = alt.Chart(rows.filter(pl.col("whose") == "measured"))
        points = alt.Chart(rows.filter(pl.col("whose") == "published"))
        chart = lines.mark_line(clip=True).encode(x=x, y=y, color=colour) + points.mark_point(
            filled=False, size=70, strokeWidth=2
        ).encode(x=x, y=y, color=colour)
        charts.append(chart.properties(title=name, width=250, height=190))
    return alt.concat(*charts, columns=columns, spacing=24)
