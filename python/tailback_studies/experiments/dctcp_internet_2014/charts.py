"""Draws measured curves and formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import Chart, colour_scale
from tailback_studies.experiments.dctcp_internet_2014 import points as pts


def staircase_rows(means: pl.DataFrame, m: float) -> pl.DataFrame:
    """Return the means as rows of a step curve. Each row is the left edge of a step. The last row
    is repeated as the right edge of the last step.
    """
    edges = [pts.staircase(k, m) for k in means["k"].to_list()]
    rows = means.with_columns(pl.Series("x", [max(low, 1.0) for low, _ in edges]))
    last = rows.tail(1).with_columns(pl.lit(edges[-1][1]).alias("x"))
    return pl.concat([rows, last])


def window(run: pl.DataFrame, quantity: str, start: float, end: float) -> pl.DataFrame:
    """Return a quantity within a time span, with the columns time_s, flow and value. The first row
    contains the value at the beginning of the time span."""
    rows = run.filter(pl.col("quantity") == quantity).sort("time_s")
    before = (
        rows.filter(pl.col("time_s") < start)
        .group_by("flow", maintain_order=True)
        .last()
        .with_columns(pl.lit(start).alias("time_s"))
    )
    inside = rows.filter(pl.col("time_s").is_between(start, end))
    columns = ["time_s", "flow", "value"]
    return pl.concat([before.select(columns), inside.select(columns)])


def sawtooth(rows: pl.DataFrame) -> str:
    """Return the range of the window as text."""
    values = rows["value"].to_list()
    return f"{min(values):.0f} to {max(values):.0f} segments" if values else "nothing"


def formula_curve(low: float, high: float) -> pl.DataFrame:
    """Return the curve of formula (3): Max_Prob_DCTCP as a function of Min_Thresh_DCTCP, up to a
    probability of 1."""
    end = min(high, 0.9)
    xs = [low + (end - low) * i / 120 for i in range(121)]
    return pl.DataFrame({"x": xs, "y": [pts.formula3(x) for x in xs]})


def fixed_point(min_ratio: float, bdp: float = 20.8333) -> float:
    """Return the Max_Prob_DCTCP at which the windows W_DCTCP = 1/p and W_Reno = 0.87/sqrt(p) are
    equal.

    Assumptions: windows grow by half a packet per RTT, packets are marked with the probability of
    the slope, and the pipe is full (2 W = BDP + q). Min_Thresh_Reno is one BDP, and slopes are 2
    BDP wide.
    """
    width, max_reno = 2.0, 0.1
    low, high = 1.0, 3.0
    for _ in range(100):
        q = (low + high) / 2
        w = bdp * (1 + q) / 2
        low, high = (q, high) if max_reno * (q - 1) / width < 0.75 / (w * w) else (low, q)
    q = (low + high) / 2
    return width / (bdp * (1 + q) / 2) / (q - min_ratio)


def ridge_chart(ridge: Sequence[Mapping[str, float | None]]) -> Chart:
    """Draw figure 9: the measured line of equal rates, formula (3) and the fixed point."""
    names = ["measured", "formula (3): y = x/(x \u2212 1)", "fixed point of the response functions"]
    xs = [1.05 + 0.05 * i for i in range(180)]
    formula = [{"curve": names[1], "x": x, "y": x / (x - 1)} for x in xs]
    ratios = [0.11 + 0.01 * i for i in range(80)]
    computed = [{"curve": names[2], "x": fixed_point(v) / 0.1, "y": 1 / v} for v in ratios]
    schema = {"x": pl.Float64, "y": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    dots = pl.DataFrame(list(ridge), schema=schema).with_columns(pl.lit(names[0]).alias("curve"))
    x_scale, y_scale = alt.Scale(domain=[1, 8], nice=False), alt.Scale(domain=[1, 9], nice=False)
    x_title = "Max_Prob_DCTCP / Max_Prob_Reno"
    x = alt.X("x:Q", title=x_title, scale=x_scale)
    y = alt.Y("y:Q", title="Min_Thresh_Reno / Min_Thresh_DCTCP", scale=y_scale)
    legend = alt.Legend(
        title=None,
        orient="top",
        symbolType="stroke",
        symbolStrokeWidth=3,
        symbolOpacity=1,
        labelLimit=400,
    )
    colour = alt.Color("curve:N", scale=colour_scale(names), legend=legend)
    dash = alt.StrokeDash(
        "curve:N", legend=None, scale=alt.Scale(domain=names, range=[[1, 0], [1, 0], [6, 4]])
    )
    lines = (
        alt.Chart(pl.DataFrame(formula + computed))
        .mark_line(clip=True)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
    )
    bars = (
        alt.Chart(dots.filter(pl.col("low").is_not_null()))
        .mark_rule(clip=True, strokeWidth=1.5)
        .encode(x=alt.X("low:Q", scale=x_scale, title=x_title), x2="high:Q", y=y, color=colour)
    )
    tooltip = [alt.Tooltip("x:Q", title=x_title, format=".3f"), alt.Tooltip("y:Q", format=".3f")]
    marks = (
        alt.Chart(dots)
        .mark_point(filled=True, size=55, clip=True, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    return alt.layer(lines, bars, marks).properties(width=560, height=340)
