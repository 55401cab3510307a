"""Draws a heat map: a metric over two keys, as shaded cells with numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import altair as alt

from tailback.base.numbers import short
from tailback.plot import values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows

SHADES = ["#f3f6fa", "#b9d3e8", "#6ba6d0", "#2a6ea8", "#0b2a55"]
"""Shades from light to dark, so that the order is visible in grey print."""


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw a cell for each pair of key values."""
    assert plan.down is not None
    across, down = plan.roles["x"], plan.down
    # Assign the row key to the role "series", because `values` has no role for the rows of a heat
    # map.
    inner = dataclasses.replace(plan, roles={**plan.roles, "series": down})
    rows: Rows = []
    for roles, estimate in values.estimates(inner, plan.y).items():
        own: dict[str, Any] = common.by_role(roles)
        own["x"] = common.x_value(plan, own["x"], numeric=False)
        own["down"] = down.short(own.pop("series")) if down.name else ""
        half = estimate.half_width
        rows.append({**own, "y": estimate.mean, "half": half, "text": short(estimate.mean, 3)})
    means = [row["y"] for row in rows]
    log = common.is_log(means, plan.y_scale)
    low, high = min(means, default=0.0), max(means, default=1.0)

    def layers(panel: PlotPanel) -> Any:
        x, _ = common.key_axis(plan, panel, numeric=False, gaps=False)
        texts = [down.short(text) for text in down.texts] if down.name else [""]
        y = alt.Y(
            "down:N",
            title=panel.up(down.label),
            # Values of the rows increase upwards, as on an axis.
            sort=texts[::-1] if down.numbers is not None else texts,
            scale=alt.Scale(padding=0),
            axis=alt.Axis(grid=False, ticks=False, domain=False, labelOverlap=False),
        )
        scale = alt.Scale(
            range=SHADES, type="log" if log else "linear", domain=[low, high], nice=False
        )
        legend = alt.Legend(
            orient="top",
            direction="horizontal",
            gradientThickness=6,
            gradientLength=min(150, max(70, panel.width)),
            format=".3~r",
            tickCount=4,
        )
        base = alt.Chart().encode(x=x, y=y)
        tips = common.tooltips(
            plan,
            alt.Tooltip("x:N", title=across.label or "all"),
            alt.Tooltip("down:N", title=down.label or "all"),
            common.of_value(plan.y.label),
            common.of_value("± half its interval", "half"),
        )
        cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
            color=alt.Color("y:Q", title=plan.y.label, scale=scale, legend=legend), tooltip=tips
        )
        room = min(
            panel.width / max(1, len(across.texts)) / 5, panel.height / max(1, len(texts)) / 1.3
        )
        marks = [cells]
        if room >= 0.6 * panel.letter:
            dark = f"{_darkness(low, high, log=log)} > 0.5"
            letters = base.mark_text(fontSize=min(panel.letter * 0.9, room * 1.6))
            ink = alt.condition(dark, alt.value("white"), alt.value("black"))
            marks.append(letters.encode(text="text:N", color=ink))
        return alt.layer(*marks, data=common.data(rows, panel))

    return PlannedDrawing(layers)


def _darkness(low: float, high: float, *, log: bool) -> str:
    """Return a Vega expression that computes a cell's darkness (0 to 1) from the cell's value."""
    if log:
        return f"log(datum.y / {low:.6g}) / {max(1e-9, math.log(high / low)):.6g}"
    return f"(datum.y - {low:.6g}) / {max(1e-12, high - low):.6g}"


KIND = Kind(
    name="heat",
    doc="a metric over two keys, as a map",
    draw=draw,
    default="delay_ms.p99",
    x="key",
    coloured=False,
    facts="mean over seeds",
)
