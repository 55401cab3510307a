"""Draws the ellipses of RFC 7928 section 2.7: goodput against queue delay.

Each point represents one second. The coordinates of a point are the mean queue delay divided by the
smallest round trip, and the payload that the flows delivered in order. An ellipse is a contour of
the two-dimensional Gaussian with the mean and covariance of the points. The ellipse encloses 68 %
of the Gaussian's probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import polars as pl

from tailback.evaluate.criteria import label_of
from tailback.figures.theme import WIDTH, colour_scale
from tailback.report.model import ReportFigure
from tailback.store.results import Results, Run

SHARE = 0.68
STEPS = 60


def figure(section: str, sides: Mapping[str, Results], rtt_ms: float) -> list[ReportFigure]:
    rows: list[dict[str, object]] = []
    centres: list[dict[str, object]] = []
    names = list(dict.fromkeys(sides))
    for name, results in sides.items():
        for group in results.groups():
            points = [pair for run in group for pair in _points(run, rtt_ms)]
            if len(points) < 3:
                continue
            label = label_of(group)
            shown = f"{name}, {label}" if label else name
            (x, y), outline = contour(points)
            centres.append({"side": name, "point": shown, "x": x, "y": y})
            rows += [
                {"side": name, "point": shown, "x": a, "y": b, "step": i}
                for i, (a, b) in enumerate(outline)
            ]
    if not rows:
        return []
    x_title, y_title = "mean queue delay ÷ smallest RTT", "goodput (Mbit/s)"
    colour = alt.Color("side:N", scale=colour_scale(names), legend=alt.Legend(title=None))
    lines = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title=x_title),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False)),
            order="step:O",
            detail="point:N",
            color=colour,
        )
    )
    dots = (
        alt.Chart(pl.DataFrame(centres))
        .mark_point(filled=True, size=50, opacity=1)
        .encode(x="x:Q", y="y:Q", color=colour, tooltip=["point:N", "x:Q", "y:Q"])
    )
    chart = alt.layer(lines, dots).properties(width=WIDTH, height=280)
    caption = (
        "Each second of each seed is a point: its mean queue delay, and the payload delivered in "
        "order. The dot is their mean. The ellipse is the contour of a Gaussian with their mean "
        "and covariance, which would hold 68 % of them. Points further left and higher are better."
    )
    name = f"section-{section.replace('.', '-')}-ellipse"
    return [ReportFigure(name, "Goodput against queue delay", chart, caption)]


def _points(run: Run, rtt_ms: float) -> list[tuple[float, float]]:
    """Return the delay and goodput of each second for which both values are known."""
    frame = run.series()
    delays = frame.filter(pl.col("quantity").str.ends_with(".delay_ms"))
    times = delays["time_ns"].unique().sort()
    if len(times) < 2:
        return []
    second = times[1] - times[0]
    # The payload of a second is the difference between two samples, so also take the sample before
    # the first second.
    grid = pl.DataFrame({"time_ns": [times[0] - second, *times]})
    delivered = frame.filter(
        pl.col("quantity") == "delivered_bytes", pl.col("flow").is_not_null()
    ).join(grid, on="time_ns", how="semi")
    step = pl.col("value").diff().over("flow", order_by="time_ns")
    goodput = (
        delivered.with_columns(step.alias("bytes"))
        .drop_nulls("bytes")
        .group_by("time_ns")
        .agg((pl.col("bytes").sum() * 8e3 / second).alias("goodput"))
    )
    both = (
        delays.group_by("time_ns")
        .agg(pl.col("value").mean().alias("delay"))
        .join(goodput, on="time_ns")
        .sort("time_ns")
    )
    return [(delay / rtt_ms, rate) for delay, rate in both.select("delay", "goodput").rows()]


def contour(
    points: list[tuple[float, float]],
) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """Return the mean of the points, and the contour around it."""
    n = len(points)
    mean_x, mean_y = (math.fsum(point[i] for point in points) / n for i in (0, 1))
    xx = math.fsum((x - mean_x) ** 2 for x, _ in points) / (n - 1)
    yy = math.fsum((y - mean_y) ** 2 for _, y in points) / (n - 1)
    xy = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / (n - 1)
    # The Cholesky factor of the covariance matrix maps a circle to the contour.
    a = math.sqrt(xx)
    b = xy / a if a else 0.0
    c = math.sqrt(max(yy - b * b, 0.0))
    radius = math.sqrt(-2 * math.log(1 - SHARE))
    outline = []
    for step in range(STEPS + 1):
        angle = 2 * math.pi * step / STEPS
        u, v = radius * math.cos(angle), radius * math.sin(angle)
        outline.append((mean_x + a * u, mean_y + b * u + c * v))
    return (mean_x, mean_y), outline
