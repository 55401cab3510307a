"""Draws means as bars, with their confidence intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from tailback.plot import style, values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw a bar for each x value and colour."""
    rows: Rows = []
    for roles, found in values.estimates(plan, plan.y).items():
        own: dict[str, Any] = common.by_role(roles)
        own["x"] = common.x_value(plan, own["x"], numeric=False)
        rows.append({**own, **common.reach(found.mean, found.ci95), "n": found.n, "from": 0.0})
    ends = [row[name] for row in rows for name in ("y", "low", "high") if row[name] is not None]

    up = common.chosen(rows, plan.y_scale, ("y",), log=False)

    def layers(panel: PlotPanel) -> Any:
        x, _ = common.key_axis(plan, panel, numeric=False, up=up)
        scale, axis, (start, _) = common.value_axis(
            [*ends, *plan.look.at("y")],
            up,
            panel.height,
            panel.letter,
            zero=True,
            limits=plan.look.y,
        )
        common.name_log(plan, y=scale)
        # A logarithmic axis has no zero, so bars begin at its lower end.
        bottom = alt.datum(start) if up == "log" else alt.datum(0)
        base = alt.Chart().encode(x=x, **common.beside(plan))
        y = alt.Y("y:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis)
        plain: dict[str, Any] = {} if plan.series is not None else {"fill": style.COLOURS[4]}
        tips = common.tooltips(
            plan,
            alt.Tooltip("x:N", title=plan.roles["x"].title or "all"),
            common.of_value(plan.y.label),
            alt.Tooltip("n:Q", title="runs"),
        )
        bars = base.mark_bar(
            stroke=style.INK, strokeWidth=0.6 * panel.weight, clip=True, **plain
        ).encode(y=y, y2=bottom, tooltip=tips, **common.fill(plan))
        spans = base.transform_filter("isValid(datum.low)").mark_rule(
            strokeWidth=panel.weight, color=style.INK, clip=True
        )
        marks = [
            bars,
            spans.encode(
                y=alt.Y("low:Q", scale=scale, axis=axis, title=panel.up(plan.up or "")), y2="high:Q"
            ),
        ]
        marks += common.rules(plan, panel, x=None, y=y)
        return alt.layer(*marks, data=common.data(rows, panel))

    return PlannedDrawing(layers, common.free(y=up))


KIND = Kind(
    name="bar",
    doc="means as bars, with intervals",
    draw=draw,
    default="delay_ms.p99",
    x="name",
    facts="mean over seeds and its 95 % interval (Student's t)",
)
