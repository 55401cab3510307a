"""Chooses the sizes of panels and legend so that the figure has exactly the requested width.

The size of a panel is given to Vega, which adds axes, titles and legend outside the panel.
This module therefore draws the figure, measures it, and draws it again with panels that fill
the remaining space.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from tailback.base.vega import cleaned
from tailback.plot import style
from tailback.plot.dimensions import Dimension
from tailback.plot.plan import PlannedDrawing, PlotPanel, PlotPlan

VEGA_LITE = ".".join(alt.VEGALITE_VERSION.split(".")[:2])
SHAPE = 0.64
"""Ratio of a panel's height to its width, if the user does not set the height of the figure."""
TALLEST = 190.0
LEAST_PANEL = 24.0
TRIES = 4
CLOSE = 2.0
"""The accepted error of the figure's size, in pixels. Vega rounds sizes. The finished figure is
scaled to remove the error."""
NARROW = 75.0
"""The smallest width of a panel, in pixels. If the panels of a key would be narrower, they are put
into several rows."""


@dataclass(frozen=True)
class Size:
    """The requested size of a figure and of its letters."""

    width: float
    height: float | None
    points: float
    """Size of the letters in titles, in points. Other letters are a point smaller."""
    weight: float = 1.0
    """Width of lines, as a multiple of the width on paper."""


@dataclass(frozen=True)
class LaidOut:
    """A drawn figure as a chart and as SVG."""

    chart: Any
    svg: str


def laid_out(plan: PlotPlan, drawing: PlannedDrawing, size: Size) -> LaidOut:
    """Draw a figure repeatedly until it has the requested width and height."""
    letter = (size.points - 1) * style.POINT
    columns, rows = _grid(plan, size)
    width = max(LEAST_PANEL, (size.width - 8 * letter) / columns - 8)
    height = _height(width, rows, size, letter)
    per_row = _legend_columns(plan, size)
    rough = True
    for left in reversed(range(TRIES)):
        wrapped = rows > 1 and "row" not in plan.roles
        panel = PlotPanel(
            width,
            height,
            letter,
            own_x="column" not in plan.roles,
            own_y="row" not in plan.roles and not wrapped,
            weight=size.weight,
            rough=rough,
        )
        chart = _chart(plan, drawing.layers(panel), panel, size, columns, per_row)
        if drawing.free and plan.faceted:
            chart = chart.resolve_scale(**dict.fromkeys(drawing.free, "independent"))
        svg = drawn(chart)
        wide, high = measured(svg)
        off = size.width - wide
        up = 0.0 if size.height is None else size.height - high
        if not rough and (not left or (abs(off) <= CLOSE and abs(up) <= CLOSE)):
            return LaidOut(chart, _scaled(svg, size.width / wide))
        rough = False
        wider = width + off / columns
        if wider < LEAST_PANEL and per_row > 1:
            # A legend that is too wide gets fewer entries in a row.
            per_row -= 1
            continue
        width = max(LEAST_PANEL, wider)
        height = _height(width, rows, size, letter) if size.height is None else height + up / rows
        height = max(LEAST_PANEL, height)
    raise AssertionError("the last try returns")


def specification(chart: Any) -> dict[str, Any]:
    """Return a chart as a Vega-Lite specification. The user's Altair theme is ignored, and control
    characters in untrusted texts are escaped."""
    with alt.theme.enable("none"):
        made: dict[str, Any] = cleaned(chart.to_dict(validate=False))
    return made


def drawn(chart: Any) -> str:
    """Return a chart as SVG. Renumber element ids, because Vega continues the numbers of earlier
    figures in the process."""
    made = vl_convert.vegalite_to_svg(json.dumps(specification(chart)), vl_version=VEGA_LITE)
    numbers: dict[str, str] = {}
    return _NAMES.sub(lambda found: numbers.setdefault(found[0], f"{found[1]}{len(numbers)}"), made)


def measured(svg: str) -> tuple[float, float]:
    """Return the width and height of an SVG in pixels."""
    found = _SIZE.search(svg)
    assert found is not None
    return float(found[2]), float(found[3])


_NAMES = re.compile(r"(?<=[\"#])(clip|gradient_)\d+(?=[\")])")
_SIZE = re.compile(r'(<svg[^>]*?)\bwidth="([\d.]+)" height="([\d.]+)"')


def _scaled(svg: str, times: float) -> str:
    def sized(found: re.Match[str]) -> str:
        wide, high = (float(found[i]) * times for i in (2, 3))
        return f'{found[1]}width="{wide:.6g}" height="{high:.6g}"'

    return _SIZE.sub(sized, svg, count=1)


def _grid(plan: PlotPlan, size: Size) -> tuple[int, int]:
    """Return the number of panels in a row, and the number of rows."""
    column, row = plan.roles.get("column"), plan.roles.get("row")
    columns = len(column.texts) if column else 1
    if row is not None or column is None:
        return columns, len(row.texts) if row else 1
    # Put as many panels into a row as fit, with equally long rows if possible.
    most = max(1, int(size.width / NARROW))
    even = -(-columns // -(-columns // most))
    whole = [n for n in range(most, most // 2, -1) if columns % n == 0]
    across = columns if columns <= most else next(iter(whole), even)
    return across, -(-columns // across)


def _height(width: float, rows: int, size: Size, letter: float) -> float:
    if size.height is not None:
        return max(LEAST_PANEL, (size.height - 9 * letter) / rows - 8)
    return max((9 if rows == 1 else 6) * letter, min(TALLEST * size.points / 8, SHAPE * width))


def _legend_columns(plan: PlotPlan, size: Size) -> int:
    """Estimate how many entries of the legend fit into one row."""
    if plan.series is None:
        return 1
    letter = (size.points - 1) * style.POINT
    longest = max(len(text) for text in plan.series.texts)
    title = len(plan.series.title) * style.LETTER * size.points * style.POINT + 8
    entry = longest * style.LETTER * letter + 30 * size.weight**0.75
    most = max(1, int((size.width - title - 8) / entry))
    rows = -(-len(plan.series.texts) // most)
    return -(-len(plan.series.texts) // rows)


def _chart(
    plan: PlotPlan, layered: Any, panel: PlotPanel, size: Size, columns: int, per_row: int
) -> Any:
    chart = layered.properties(width=round(panel.width, 2), height=round(panel.height, 2))
    column, row = plan.roles.get("column"), plan.roles.get("row")
    spacing = round(0.9 * panel.letter, 1)
    # Panels share their axis titles, so write each title once, in the headings.
    below = alt.Header(
        title=panel.lines(plan.across or "", columns * panel.width),
        titleOrient="bottom",
        labelOrient="top",
        **_said(column, panel.width, panel),
    )
    facet: dict[str, Any] = {}
    if column is not None:
        facet = {"sort": list(column.texts), "header": below}
    if row is not None or (column is not None and columns == len(column.texts)):
        parts: dict[str, Any] = {}
        if column is not None:
            parts["column"] = alt.Column("column:N", **facet)
        if row is not None:
            left = alt.Header(
                title=panel.lines(plan.up or "", len(row.texts) * panel.height),
                titleOrient="left",
                labelOrient="right",
                labelAngle=90,
                **_said(row, panel.height, panel),
            )
            parts["row"] = alt.Row("row:N", sort=list(row.texts), header=left)
        chart = _lifted(chart, **parts).properties(spacing=spacing)
    elif column is not None:
        below.titlePadding = panel.letter
        beside = alt.Title(
            panel.lines(plan.up or "", size.width),
            orient="left",
            anchor="middle",
            angle=-90,
            offset=4,
        )
        chart = _lifted(chart, facet=alt.Facet("column:N", **facet), columns=columns).properties(
            spacing={"row": round(1.2 * panel.letter, 1), "column": spacing}, title=beside
        )
    if plan.look.title:
        text = panel.lines(plan.look.title, 0.9 * size.width)
        bold = alt.Title(text, fontWeight="bold", frame="group")
        taken = chart.title is not alt.Undefined
        # In a figure with several rows of panels, the chart's title already serves as the title of
        # the x axis. Wrap the chart, so that the figure can have its own title.
        chart = alt.vconcat(chart, title=bold) if taken else chart.properties(title=bold)
    config = style.config(size.points, size.weight)
    legend = {**config["legend"], "orient": "top", "direction": "horizontal", "titleOrient": "left"}
    if plan.kind.coloured:
        legend |= {"columns": per_row, "symbolOpacity": 1}
        if not plan.kind.lines:
            # Without this setting, Vega would outline the legend's symbols with dashes.
            legend |= {"symbolStrokeWidth": 0}
        if plan.kind.lines:
            legend |= {
                "symbolType": "stroke",
                "symbolSize": 130 * size.weight**1.5,
                "symbolStrokeWidth": 1.4 * size.weight,
            }
    else:
        legend |= {"titleOrient": "top"}
    config["legend"] = legend
    return chart.configure(**config)


def _lifted(chart: Any, **facets: Any) -> Any:
    """Split a chart into panels that share its data."""
    data = chart.data
    chart = chart.copy(deep=False)
    chart.data = alt.Undefined
    return chart.facet(data=data, **facets)


def _said(dimension: Dimension | None, room: float, panel: PlotPanel) -> dict[str, Any]:
    """Return the headings of panels, with the dimension's title if it fits."""
    if dimension is None:
        return {}
    longest = max(len(text) for text in dimension.texts) + len(dimension.title) + 1
    if longest * style.LETTER * panel.letter > room:
        return {}
    joint = ": " if dimension.numbers is None else " "
    return {"labelExpr": f"{json.dumps(dimension.title + joint)} + datum.value"}
