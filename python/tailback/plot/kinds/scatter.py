"""Draws one metric against another metric: a dot for each combination of swept values, with
confidence intervals of both metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from tailback.errors import InputError
from tailback.metrics import Estimate, estimate
from tailback.plot import values
from tailback.plot.dimensions import Dimension
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows
from tailback.plot.quantities import PlotQuantity
from tailback.plot.values import Value


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw a dot for each combination of swept values. If x is a swept key, draw a dot for each
    run."""
    rows = _over_key(plan) if isinstance(plan.x, Dimension) else _pairs(plan, plan.x)
    numeric = not isinstance(plan.x, Dimension) or plan.x.numbers is not None
    across = [row[n] for row in rows for n in ("x", "x_low", "x_high") if row[n] is not None]
    upwards = [row[n] for row in rows for n in ("y", "low", "high") if row[n] is not None]
    assert plan.x is not None
    over_key = isinstance(plan.x, Dimension)
    wide = plan.x_scale if over_key else common.chosen(rows, plan.x_scale, ("x",))
    up = common.chosen(rows, plan.y_scale, ("y",))
    title = plan.x.label

    def layers(panel: PlotPanel) -> Any:
        if isinstance(plan.x, Dimension):
            x, _ = common.key_axis(plan, panel, numeric=numeric)
            span = None
        else:
            scale, axis, _ = common.value_axis(
                [*across, *plan.look.at("x")],
                wide,
                panel.width,
                panel.letter,
                zero=False,
                limits=plan.look.x,
                centre=common.centre(plan.x) if plan.x is not None else None,
            )
            common.name_log(plan, x=scale)
            x = alt.X("x:Q", title=panel.across(plan.across or ""), scale=scale, axis=axis)
            span = alt.X("x_low:Q", title=panel.across(plan.across or ""), scale=scale, axis=axis)
        y_scale, y_axis, _ = common.value_axis(
            [*upwards, *plan.look.at("y")],
            up,
            panel.height,
            panel.letter,
            zero=False,
            limits=plan.look.y,
            centre=common.centre(plan.y),
        )
        common.name_log(plan, y=y_scale)

        def y(name: str) -> alt.Y:
            return alt.Y(f"{name}:Q", title=panel.up(plan.up or ""), scale=y_scale, axis=y_axis)

        ink = common.first_colour(plan)
        base = alt.Chart().encode(**common.colour(plan))
        rule: dict[str, Any] = {
            "strokeWidth": 0.8 * panel.weight,
            "opacity": 0.6,
            "clip": True,
            **ink,
        }
        upright = base.transform_filter("isValid(datum.low)").mark_rule(**rule)
        marks = [upright.encode(x=x, y=y("low"), y2="high:Q")]
        if span is not None:
            flat = base.transform_filter("isValid(datum.x_low)").mark_rule(**rule)
            marks.append(flat.encode(x=span, x2="x_high:Q", y=y("y")))
        tips = common.tooltips(
            plan,
            alt.Tooltip("x:Q" if numeric else "x:N", title=title, format=".4~g")
            if numeric
            else alt.Tooltip("x:N", title=title),
            common.of_value(plan.y.label),
            *([alt.Tooltip("point:N", title="point")] if any(r["point"] for r in rows) else []),
        )
        points = base.mark_point(
            filled=True, size=24 * panel.weight**1.5, opacity=0.95, clip=True, **ink
        )
        marks.append(points.encode(x=x, y=y("y"), tooltip=tips, **common.shape(plan)))
        marks += common.rules(plan, panel, x=x if numeric else None, y=y("y"))
        return alt.layer(*marks, data=common.data(rows, panel))

    return PlannedDrawing(layers, common.free(x=wide, y=up))


def _over_key(plan: PlotPlan) -> Rows:
    assert isinstance(plan.x, Dimension)
    numeric = plan.x.numbers is not None
    return [
        {
            **common.by_role(value.place.roles),
            "x": common.x_value(plan, value.place.roles[0], numeric=numeric),
            **dict.fromkeys(("x_low", "x_high", "low", "high")),
            "y": value.value,
            "point": "",
        }
        for value in values.numbers(plan, plan.y)
    ]


def _pairs(plan: PlotPlan, across: PlotQuantity | None) -> Rows:
    """Return the mean of both metrics for each combination of swept values."""
    assert across is not None
    ups = values.numbers(plan, plan.y)
    others = values.numbers(plan, across)
    for quantity in (plan.y, across):
        estimates = [
            values.pooled(quantity, [reading])
            for _, reading in values.readings(plan, quantity)
            if reading.value is None
        ]
        lacking = sum(mean.at_least is not None for mean in estimates)
        if lacking:
            plan.missing.append(
                f"{quantity.name}: {lacking} transfers had not finished and are not drawn"
            )
    by_part = {(value.place.run, value.place.part): value.value for value in others}
    by_run: dict[int, list[float]] = {}
    for value in others:
        by_run.setdefault(value.place.run, []).append(value.value)
    settings: dict[tuple[str, ...], list[tuple[Value, float]]] = {}
    for value in ups:
        run = value.place.run
        if across.on == plan.y.on:
            beside = by_part.get((run, value.place.part))
        elif across.on == "link":
            link = values.first_link(plan, value.place) if plan.own_link else None
            beside = (
                by_part.get((run, link))
                if link is not None
                else _only(plan, across, by_run.get(run, []))
            )
        else:
            beside = _only(plan, across, by_run.get(run, []))
        if beside is None:
            continue
        texts = plan.members[run].texts
        key = (*value.place.roles, *(text for name, text in texts.items() if name != "seed"))
        settings.setdefault(key, []).append((value, beside))
    rows: Rows = []
    for key, pairs in settings.items():
        x, y = _over_runs(across, pairs, 1), _over_runs(plan.y, pairs, 0)
        sideways = common.reach(x.mean, x.ci95)
        rows.append(
            {
                **common.by_role(key[:4]),
                "x": x.mean,
                "x_low": sideways["low"],
                "x_high": sideways["high"],
                **common.reach(y.mean, y.ci95),
                "point": ", ".join(key[4:]),
            }
        )
    return rows


def _only(plan: PlotPlan, across: PlotQuantity, numbers: Sequence[float]) -> float | None:
    if len(numbers) > 1:
        raise InputError(
            f"--x: {across.name} has a value for each {across.on}, {plan.y.name} does not; choose "
            f"one with --where {across.on}=NAME"
        )
    return numbers[0] if numbers else None


def _over_runs(quantity: PlotQuantity, own: Sequence[tuple[Value, float]], which: int) -> Estimate:
    runs: dict[int, list[float]] = {}
    for value, beside in own:
        runs.setdefault(value.place.run, []).append((value.value, beside)[which])
    least, most = (metric.least, metric.most) if (metric := quantity.metric) else (None, None)
    return estimate((sum(one) / len(one) for one in runs.values()), least=least, most=most)


KIND = Kind(
    name="scatter",
    doc="one metric over another, a point for each setting",
    draw=draw,
    default="throughput_total_mbit",
    x="quantity",
    facts="means over seeds and their 95 % intervals (Student's t)",
)
