"""Draws box plots, with every single value if there are few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from tailback.plot import style, values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows

FEW = 12
"""The largest number of values to draw one by one beside their box."""


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw a box for each x value and colour."""
    import polars as pl

    cloud = values.samples(plan, plan.y).sort("lower", maintain_order=True)
    middle = (pl.col("lower") + pl.col("upper")) / 2
    rows: Rows = []
    dots: Rows = []
    for roles, group in cloud.group_by(["x", "series", "column", "row"], maintain_order=True):
        where: dict[str, Any] = common.by_role(tuple(str(role) for role in roles))
        where["x"] = common.x_value(plan, where["x"], numeric=False)
        found = group.select(middle.alias("value"), "count")
        rows.append({**where, **_box(found["value"].to_list(), found["count"].to_list(), plan)})
        if not plan.y.spread and group.height <= FEW:
            dots += [{**where, "dot": value} for value in found["value"]]
    rows.sort(key=_place(plan))
    if len(rows) + len(dots) > common.MOST_ROWS:
        dots = []
    ends = [row[name] for row in rows for name in ("low", "high")]
    up = common.chosen(rows, plan.y_scale, ("low", "high"))
    few = bool(dots)
    rows += dots

    def layers(panel: PlotPanel) -> Any:
        x, _ = common.key_axis(plan, panel, numeric=False, up=up)
        scale, axis, (start, _) = common.value_axis(
            [*ends, *plan.look.at("y")],
            up,
            panel.height,
            panel.letter,
            limits=plan.look.y,
            centre=common.centre(plan.y),
        )
        common.name_log(plan, y=scale)

        def y(name: str) -> alt.Y:
            return alt.Y(f"{name}:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis)

        slots = 1 if common.repeats(plan) or plan.series is None else len(plan.series.texts)
        wide = 0.62 * panel.width / max(1, len(plan.roles["x"].texts)) / slots
        size = max(2.5, min(16.0 * panel.weight, wide))
        base = alt.Chart().encode(x=x, **common.beside(plan))
        box = base.transform_filter("isValid(datum.p50)")
        plain: dict[str, Any] = {} if plan.series is not None else {"fill": style.COLOURS[4]}
        tips = common.tooltips(
            plan,
            alt.Tooltip("x:N", title=plan.roles["x"].title or "all"),
            *(common.of_value(title, name) for name, title in _TIPS),
            alt.Tooltip("n:Q", title="values"),
        )
        rule: dict[str, Any] = {"strokeWidth": 0.8 * panel.weight, "color": style.INK, "clip": True}
        boxes = box.mark_bar(
            size=size, stroke=style.INK, strokeWidth=0.7 * panel.weight, clip=True, **plain
        ).encode(y=y("p25"), y2="p75", tooltip=tips, **common.fill(plan))
        marks = [
            box.mark_rule(**rule).encode(y=y("low"), y2="high"),
            boxes,
            # A white line under the black median line makes the median visible on dark boxes.
            box.mark_tick(thickness=2.4 * panel.weight, size=size, color="white", clip=True).encode(
                y=y("p50")
            ),
            box.mark_tick(thickness=1.2 * panel.weight, size=size, color="black", clip=True).encode(
                y=y("p50")
            ),
        ]
        if few:
            dots = base.transform_filter("isValid(datum.dot)").encode(y=y("dot"))
            marks.append(
                dots.mark_point(
                    filled=True,
                    size=7 * panel.weight,
                    color="black",
                    stroke="white",
                    strokeWidth=0.4 * panel.weight,
                    opacity=1,
                )
            )
        marks += common.rules(plan, panel, x=None, y=y("p50"))
        return alt.layer(
            *marks, data=common.data(_from(rows, start) if up == "log" else rows, panel)
        )

    return PlannedDrawing(layers, common.free(y=up))


def _from(rows: Rows, start: float) -> Rows:
    """Raise values that lie below a logarithmic axis to the axis's lower end."""
    ranks = (*_WHOLE, "dot")
    return [
        {**row, **{rank: max(start, row[rank]) for rank in ranks if rank in row}} for row in rows
    ]


_TIPS = (
    ("high", "upper whisker"),
    ("p75", "75th percentile"),
    ("p50", "median"),
    ("p25", "25th percentile"),
    ("low", "lower whisker"),
)


def _box(samples: Sequence[float], counts: Sequence[int], plan: PlotPlan) -> dict[str, float]:
    """Compute the quartiles and whiskers of sorted values.

    If each run has many values, the whiskers end at the 1st and the 99th percentile. If each run
    has one value, the whiskers end at the smallest and the largest value.
    """
    if plan.y.spread:
        shares = {"low": 0.01, "p25": 0.25, "p50": 0.5, "p75": 0.75, "high": 0.99}
        quantiles = {name: nearest(samples, counts, share) for name, share in shares.items()}
    else:
        quantiles = {name: _between(samples, share) for name, share in _WHOLE.items()}
    # Samples of a series are weighted by time, so report their number instead of their weight.
    weighted = plan.y.source in ("series", "rate")
    return {**quantiles, "n": len(samples) if weighted else sum(counts)}


_WHOLE = {"low": 0.0, "p25": 0.25, "p50": 0.5, "p75": 0.75, "high": 1.0}


def nearest(samples: Sequence[float], counts: Sequence[int], share: float) -> float:
    """Return the smallest value that at least this share of the weighted values do not exceed."""
    wanted, seen = share * sum(counts), 0
    for value, count in zip(samples, counts, strict=True):
        seen += count
        if seen >= wanted - 1e-9:
            return value
    return samples[-1]


def _between(samples: Sequence[float], share: float) -> float:
    at = share * (len(samples) - 1)
    low = int(at)
    high = min(low + 1, len(samples) - 1)
    return samples[low] + (samples[high] - samples[low]) * (at - low)


def _place(plan: PlotPlan) -> Callable[[dict[str, Any]], tuple[int, ...]]:
    orders = {
        role: {dimension.short(t) if role == "x" else t: i for i, t in enumerate(dimension.texts)}
        for role, dimension in plan.roles.items()
        if dimension.name
    }
    return lambda row: tuple(order.get(row[role], 0) for role, order in orders.items())


KIND = Kind(
    name="box",
    doc="boxes of all values",
    draw=draw,
    default="throughput_mbit",
    x="name",
    facts="box: quartiles and median",
)
