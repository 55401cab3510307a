"""Draws means over a key as lines, with their confidence intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from tailback.plot import laws, style, values
from tailback.plot.dimensions import Dimension
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw a line for each series, with a point for each value of the key."""
    assert isinstance(plan.x, Dimension)
    across, numeric = plan.x.label, plan.x.numbers is not None
    rows: Rows = []
    for roles, found in values.estimates(plan, plan.y).items():
        own = common.by_role(roles)
        own["x"] = common.x_value(plan, own["x"], numeric=numeric)  # type: ignore[assignment]
        rows.append({**own, **common.reach(found.mean, found.ci95), "n": found.n})
    ends = [row[name] for row in rows for name in ("y", "low", "high") if row[name] is not None]
    up = common.chosen(rows, plan.y_scale, ("y",))
    curves = laws.rows(plan, plan.x.numbers or ())
    ends += [row["predicted"] for row in curves]

    def layers(panel: PlotPanel) -> Any:
        x, _ = common.key_axis(plan, panel, numeric=numeric, up=up)
        scale, axis, _ = common.value_axis(
            [*ends, *plan.look.at("y")],
            up,
            panel.height,
            panel.letter,
            zero=common.from_zero(plan.y),
            limits=plan.look.y,
            centre=common.centre(plan.y),
        )
        common.name_log(plan, y=scale)
        y = alt.Y("y:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis)
        base = alt.Chart().encode(x=x, **common.colour(plan))
        if curves:
            base = base.transform_filter("!isValid(datum.law)")
        ink = common.first_colour(plan)
        spans = base.transform_filter("isValid(datum.low)").mark_rule(
            strokeWidth=panel.weight, opacity=0.75, clip=True, **ink
        )
        marks = [
            spans.encode(
                y=alt.Y("low:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis), y2="high:Q"
            )
        ]
        if numeric:
            lines = base.mark_line(strokeWidth=1.3 * panel.weight, clip=True, **ink)
            marks.append(lines.encode(y=y, **common.dash(plan, legend=False)))
        tips = common.tooltips(
            plan,
            alt.Tooltip("x:Q" if numeric else "x:N", title=across or "all"),
            common.of_value(plan.y.label),
            common.of_value("from", "low"),
            common.of_value("to", "high"),
            alt.Tooltip("n:Q", title="runs"),
        )
        points = base.mark_point(
            filled=True, size=18 * panel.weight**1.5, opacity=1, clip=True, **ink
        )
        marks.append(points.encode(y=y, tooltip=tips, **common.shape(plan)))
        marks += common.rules(plan, panel, x=x if numeric else None, y=y)
        if curves:
            marks += _laws(panel, x, y)
        return alt.layer(*marks, data=common.data([*rows, *curves], panel))

    return PlannedDrawing(layers, common.free(y=up))


def _laws(panel: PlotPanel, x: alt.X, y: alt.Y) -> list[Any]:
    """Draw the curves of laws, with their names above them."""
    at = y.copy(deep=False)
    at["shorthand"] = "predicted:Q"
    base = alt.Chart().transform_filter("isValid(datum.law)").encode(x=x, y=at)
    line = base.mark_line(
        color=style.INK,
        strokeDash=[1.5 * panel.weight, 2 * panel.weight],
        strokeWidth=panel.weight,
        clip=True,
    )
    said: dict[str, Any] = {
        "align": "left",
        "baseline": "bottom",
        "dx": 4,
        "dy": -3,
        "fontSize": 0.9 * panel.letter,
        "color": style.INK,
    }
    outline = base.mark_text(stroke="white", strokeWidth=2.5, **said).encode(text="title:N")
    return [
        line.encode(detail="law:N"),
        outline,
        base.mark_text(**said).encode(text="title:N"),
    ]


KIND = Kind(
    name="line",
    doc="means over a swept key, with intervals",
    draw=draw,
    default="delay_ms.p99",
    x="key",
    facts="mean over seeds and its 95 % interval (Student's t)",
)
