"""Draws small panels with the same axes, one for each point of a sweep. A panel shows values with
their intervals over a swept key, or distributions.

This module builds the specification itself, because Altair takes seconds for so many panels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.figures.spread import Drawn
from tailback.figures.theme import WIDTH, colour_scale, shape_scale

Spec = dict[str, Any]
Row = dict[str, Any]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
ROW_HEIGHT = 17
"""Height in pixels of a row with a name."""
LABEL = 230
"""The largest width of a name beside an axis, in pixels."""


@dataclass(frozen=True)
class Panels:
    """The names of the panels and of the series (one colour each), in the order of display."""

    panels: Sequence[str] = ("",)
    panels_title: str = ""
    series: Sequence[str] = ("",)
    series_title: str = ""
    ordered: bool = False
    """Whether the series are values of a parameter. The colours of such series go from dark to
    light."""
    columns: int = 0
    """Number of panels in a row. 0 means as many as fit."""


MOST_TICKS = 40
"""If an axis has more tick positions than this, Vega chooses ticks. With thousands of ticks, the
grid would fill the panel, and Vega would take seconds to choose labels that do not overlap."""


@dataclass(frozen=True)
class FacetAxis:
    """The title, tick positions and ends of an axis."""

    title: str
    ticks: Sequence[float] = ()
    log: bool = False
    zero: bool = False
    format: str = ""
    domain: tuple[float, float] | None = None

    def spec(self) -> Spec:
        scale: Spec = {"type": "log"} if self.log else {"zero": self.zero}
        axis: Spec = {"format": self.format} if self.format else {}
        if 0 < len(self.ticks) <= MOST_TICKS:
            axis |= {"values": list(self.ticks), "format": ".6~g", "labelOverlap": True}
        if self.domain:
            scale |= {"domain": list(self.domain), "nice": False}
        return {"type": "quantitative", "title": self.title, "scale": scale, "axis": axis}


def log_axis(title: str, values: Sequence[float]) -> FacetAxis:
    """Return a logarithmic axis that ends close to these values. The axis has ticks at 1, 2 and 5
    of each decade, or only at powers of ten if there are many decades.
    """
    low, high = min(values) / 1.2, max(values) * 1.2
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ones = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [float(f"{n}e{e}") for e in decades for n in ones]
    within = [tick for tick in ticks if low <= tick <= high]
    return FacetAxis(title, within, log=True, domain=(low, high))


def around(rows: Sequence[Row], *, zero: bool, most: float | None = None) -> tuple[float, float]:
    """Return the ends of a linear axis for values with intervals. An interval longer than the range
    of all values is cut, because it would leave the values too little space.
    """
    values = [row["y"] for row in rows]
    low, high = min(values), max(values)
    room = 0.6 * ((high - min(low, 0.0) if zero else high - low) or abs(high) or 1.0)
    bottom = max([low - room, min(row["low"] if "low" in row else row["y"] for row in rows)])
    top = min([high + room, max(row["high"] if "high" in row else row["y"] for row in rows)])
    if low >= 0:
        bottom = max(0.0, bottom)
    pad = 0.04 * (top - bottom or abs(top) or 1.0)
    if zero and low >= 0:
        return 0.0, top + pad
    return bottom - pad, min(top, most if most is not None else top) + pad


def over_numbers(rows: Sequence[Row], x: FacetAxis, y: FacetAxis, of: Panels) -> Drawn:
    """Draw curves with intervals. Rows have the keys panel, series, x, y, low and high (null
    without an interval)."""
    width, height, columns = _size(of, y.title)
    colour = _colour(of)
    x_channel = {"field": "x", **x.spec()}
    y_channel = {"field": "y", **y.spec()}
    # Without padding, points on the edge would be cut.
    x_channel["scale"] = {**x_channel["scale"], "padding": 8, "nice": False}
    tooltip = [
        *([_tip("series", of.series_title)] if len(of.series) > 1 else []),
        _tip("x", x.title, ".4~g"),
        _tip("y", y.title, y.format if y.format.endswith("%") else ".4~g"),
    ]
    common = {"x": x_channel, "color": colour}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.4, "clip": True},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {**common, "y": {**y_channel, "field": "low"}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "line"}, "encoding": {**common, "y": y_channel}},
        {
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {**common, "y": y_channel, "shape": _shape(of), "tooltip": tooltip},
        },
    ]
    inner = {"layer": _with_intervals(rows, layers), "width": width, "height": height}
    return _faceted(rows, inner, of, columns)


def over_names(
    rows: Sequence[Row], names: Sequence[str], x: FacetAxis, of: Panels, *, width: int = 0
) -> Drawn:
    """Draw dots with intervals in rows that are labelled with names.

    Rows have the keys panel, series, name, y, low and high.
    """
    wide, _, columns = _size(of, "")
    several = len(of.series) > 1
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {
            "labelLimit": LABEL,
            "grid": True,
            "ticks": False,
            "domain": False,
            "labelPadding": 7,
        },
    }
    beside = {"yOffset": {"field": "series", "sort": list(of.series)}} if several else {}
    x_channel = {"field": "y", **x.spec()}
    common = {"y": y, "color": _colour(of), **beside}
    tooltip = [
        *([_tip("series", of.series_title)] if several else []),
        _tip("name", "at"),
        _tip("y", x.title, x.format if x.format.endswith("%") else ".4~g"),
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "clip": True},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {**common, "x": {**x_channel, "field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**common, "x": x_channel, "shape": _shape(of), "tooltip": tooltip},
        },
    ]
    height = max(2, len(names)) * (ROW_HEIGHT * max(1, len(of.series)) * 0.8 + 8)
    inner = {"layer": _with_intervals(rows, layers), "width": width or wide}
    inner["height"] = round(height)
    return _faceted(rows, inner, of, columns)


def distributions(rows: Sequence[Row], x: FacetAxis, y: FacetAxis, of: Panels) -> Drawn:
    """Draw distributions as steps. Rows have the keys panel, series, x and y."""
    width, height, columns = _size(of, y.title)
    inner = {
        "mark": {"type": "line", "interpolate": "step-after", "clip": True},
        "encoding": {
            "x": {"field": "x", **x.spec()},
            "y": {"field": "y", **y.spec()},
            "color": _colour(of, curves=True),
        },
        "width": width,
        "height": height,
    }
    return _faceted(rows, inner, of, columns)


def beside(charts: Sequence[Drawn], columns: int) -> Drawn:
    """Combine figures of different quantities into one figure."""
    parts = [{k: v for k, v in chart.spec.items() if k != "$schema"} for chart in charts]
    apart = {"color": "independent", "shape": "independent"}
    made = {"$schema": _SCHEMA, "concat": parts, "columns": columns, "spacing": 26}
    return Drawn({**made, "resolve": {"scale": apart}})


def _with_intervals(rows: Sequence[Row], layers: list[Spec]) -> list[Spec]:
    """The first layer draws intervals. If no row has an interval, return the layers without the
    first layer. Otherwise return all layers.
    """
    return layers if any("low" in row for row in rows) else layers[1:]


def _size(of: Panels, y_title: str) -> tuple[int, int, int]:
    """Return the width and height of a panel, and the number of panels in a row. Panels with long
    axis titles are higher."""
    panels = len(of.panels)
    if panels == 1:
        return WIDTH, 260, 1
    columns = of.columns or min(panels, 3 if panels in (3, 5, 6, 9) else 4)
    width, height = {1: (WIDTH, 200), 2: (340, 220), 3: (235, 165), 4: (185, 150)}.get(
        columns, (round(760 / columns), 150)
    )
    return width, max(height, 175) if len(y_title) > 25 else height, columns


def _faceted(rows: Sequence[Row], inner: Spec, of: Panels, columns: int) -> Drawn:
    head = {"$schema": _SCHEMA, "data": {"values": list(rows)}}
    if len(of.panels) == 1:
        return Drawn({**head, **inner})
    header = {"titleFontSize": 12, "titleFontWeight": 500, "labelFontSize": 12, "labelLimit": 260}
    facet = {
        "field": "panel",
        "type": "nominal",
        "sort": list(of.panels),
        "title": of.panels_title,
        "header": {**header, "titleAnchor": "start", "labelAnchor": "start", "labelPadding": 4},
    }
    made = {**head, "facet": facet, "columns": columns, "spacing": 18, "spec": inner}
    if len(of.panels) % columns:
        # If the last row is incomplete, panels do not share the x axis. Vega would draw a shared x
        # axis below the last row, even in a column without a panel in that row.
        made["resolve"] = {"axis": {"x": "independent"}}
    return Drawn(made)


def _colour(of: Panels, *, curves: bool = False) -> Spec:
    legend: Spec | None = {"title": of.series_title or None, "symbolOpacity": 1}
    if curves and legend is not None:
        legend |= {"symbolType": "stroke", "symbolStrokeWidth": 3}
    if len(of.series) < 2:
        legend = None
    scale = colour_scale(of.series, ordered=of.ordered).to_dict()
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}


def _shape(of: Panels) -> Spec:
    legend = {"title": of.series_title or None} if len(of.series) > 1 else None
    scale = shape_scale(of.series).to_dict()
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}


def _tip(field: str, title: str, form: str = "") -> Spec:
    kind = {"type": "quantitative", "format": form} if form else {"type": "nominal"}
    return {"field": field, "title": title or field, **kind}
