"""Draws cumulative distributions: the share of values up to x (cdf), or above x (ccdf)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from tailback.metrics.statistics import t_quantile
from tailback.plot import values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows, Scale

if TYPE_CHECKING:
    import polars as pl

MOST_STEPS, LEAST_STEPS = 200, 25
TAIL = 1e-4
"""The smallest share that the axis of a ccdf shows."""
UP = ("cumulative share", "share above")
ROLES = ["series", "column", "row"]


def _draw(plan: PlotPlan, *, tail: bool) -> PlannedDrawing:
    cloud = values.samples(plan, plan.y)
    groups = cloud.partition_by(ROLES, as_dict=True, maintain_order=True)
    steps = max(LEAST_STEPS, min(MOST_STEPS, common.MOST_ROWS // max(1, len(groups)) - 2))
    rows: Rows = []
    ends: list[tuple[float, float]] = []
    for roles, own in groups.items():
        where = dict(zip(ROLES, map(str, roles), strict=True))
        points, inner = _curve(own, steps, tail=tail)
        ends.append(inner)
        rows += [{**where, **point} for point in points]
    low = min((one for one, _ in ends), default=0.0)
    high = max((one for _, one in ends), default=1.0)
    log = common.is_log([low, high], plan.x_scale)
    across: Scale = "log" if log else "free" if plan.x_scale == "free" else "linear"
    least = min((row["y"] for row in rows if row["y"] > 0), default=1.0)
    banded = any(row["low"] is not None for row in rows)

    def layers(panel: PlotPanel) -> Any:
        scale, axis, (start, _) = common.value_axis(
            [low, high, *plan.look.at("x")],
            across,
            panel.width,
            panel.letter,
            zero=None if log else low < 0.5 * high,
            limits=plan.look.x,
        )
        common.name_log(plan, x=scale)
        x = alt.X("x:Q", title=panel.across(plan.across or ""), scale=scale, axis=axis)
        y_scale, y_axis = _shares(panel, max(TAIL, least), plan, tail=tail)
        title = panel.up(UP[tail])
        shown = rows
        if log:
            # If a value is below the start of the logarithmic axis, draw it at the start.
            shown = [{**row, "x": max(row["x"], start)} for row in rows]
        ink = common.first_colour(plan)
        base = alt.Chart().encode(x=x, **common.colour(plan))
        marks = []
        if banded:
            band = base.transform_filter("isValid(datum.low)").mark_area(
                opacity=0.16, interpolate="step-after", clip=True, **ink
            )
            low_y = alt.Y("low:Q", title=title, scale=y_scale, axis=y_axis)
            marks.append(band.encode(y=low_y, y2="high:Q"))
        tips = common.tooltips(
            plan, common.of_value(plan.y.label, "x"), common.of_value("share", number=".3~%")
        )
        lines = base.mark_line(
            interpolate="step-after", strokeWidth=1.3 * panel.weight, clip=True, **ink
        )
        y = alt.Y("y:Q", title=title, scale=y_scale, axis=y_axis)
        marks.append(lines.encode(y=y, tooltip=tips, **common.dash(plan)))
        marks += common.rules(plan, panel, x=x, y=y)
        return alt.layer(*marks, data=common.data(shown, panel))

    return PlannedDrawing(layers, common.free(x=plan.x_scale))


def _shares(
    panel: PlotPanel, least: float, plan: PlotPlan, *, tail: bool
) -> tuple[alt.Scale, alt.Axis]:
    """Return the y axis, which shows shares. By default, this axis is logarithmic for a ccdf
    (`tail`)."""
    log = plan.y_scale == "log" if plan.y_scale != "auto" else tail
    if log:
        scale = alt.Scale(type="log", domain=[least, 1], nice=False, clamp=True)
        return scale, alt.Axis(
            values=common.ticks(least, 1, max(2, int(panel.height / (2 * panel.letter)))),
            format=".4~r",
            labelOverlap="greedy",
        )
    few = panel.height < 9 * panel.letter
    marks = [0, 0.5, 1] if few else [0, 0.25, 0.5, 0.75, 1]
    return alt.Scale(domain=[0, 1], nice=False), alt.Axis(values=marks, format=".4~r")


def _curve(
    samples: pl.DataFrame, steps: int, *, tail: bool
) -> tuple[list[dict[str, float | None]], tuple[float, float]]:
    """Return points of the distribution over all runs, with confidence intervals.

    Also return the x range of the distribution's main part.

    The points have equal steps in the share, or in its logarithm for a ccdf (`tail`).
    """
    import numpy as np

    ordered = samples.sort("upper")
    at = ordered["upper"].to_numpy()
    weight = ordered["count"].to_numpy().astype(float)
    total = weight.sum()
    share = np.cumsum(weight) / total
    last = np.append(at[1:] != at[:-1], True)
    at, share = at[last], share[last]
    if tail:
        depth = max(TAIL / 10, 1 / total)
        wanted = 1 - np.geomspace(1, depth, steps)
    else:
        wanted = np.linspace(0, 1, steps)
    chosen = np.unique(np.minimum(np.searchsorted(share, wanted - 1e-12), len(at) - 1))
    first = float(ordered["lower"].min())  # type: ignore[arg-type]
    runs = samples.partition_by("run", maintain_order=True)
    curves = []
    for run in runs if len(runs) > 1 else []:
        buckets = run.sort("upper")
        counts = np.append(0.0, np.cumsum(buckets["count"].to_numpy()).astype(float))
        place = np.searchsorted(buckets["upper"].to_numpy(), at[chosen], side="right")
        curves.append(counts[place] / counts[-1])
    points: list[dict[str, float | None]] = [
        {"x": first, "y": 1.0 if tail else 0.0, "low": None, "high": None}
    ]
    half = None
    if curves:
        spread = np.std(curves, axis=0, ddof=1)
        half = t_quantile(len(curves) - 1) * spread / np.sqrt(len(curves))
    for number, index in enumerate(chosen):
        y = float(1 - share[index] if tail else share[index])
        point: dict[str, float | None] = {"x": float(at[index]), "y": y, "low": None, "high": None}
        if half is not None:
            reach = float(half[number])
            point |= {"low": max(0.0, y - reach), "high": min(1.0, y + reach)}
        points.append(point)
    if tail:
        # The share above the largest value is 0, which a logarithmic axis cannot show.
        points = [point for point in points if point["y"]]
    bulk = [0.02, 0.999 if tail else 0.99]
    inner = np.minimum(np.searchsorted(share, bulk), len(at) - 1)
    return points, (float(at[inner[0]]), float(at[inner[1]]))


def draw_cdf(plan: PlotPlan) -> PlannedDrawing:
    """Draw for each value the share of values up to it."""
    return _draw(plan, tail=False)


def draw_ccdf(plan: PlotPlan) -> PlannedDrawing:
    """Draw for each value the share of values above it."""
    return _draw(plan, tail=True)


KINDS = (
    Kind(
        name="cdf",
        doc="cumulative distributions of all values",
        draw=draw_cdf,
        default="delay_ms",
        lines=True,
        up=UP[0],
        facts="all seeds together; band: 95 % interval over seeds (Student's t)",
    ),
    Kind(
        name="ccdf",
        doc="their complements, tails on a logarithmic axis",
        draw=draw_ccdf,
        default="delay_ms",
        lines=True,
        up=UP[1],
        facts="all seeds together; band: 95 % interval over seeds (Student's t)",
    ),
)
