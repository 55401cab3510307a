"""Draws statistics of a quantity, with a column for each version and a row for each setting.

A thin line extends from the 1st to the 99th percentile, and a thick line from the 25th to the 75th.
A point marks the mean. The panels of a row have the same axes.

This module builds the specification itself, because Altair takes seconds for so many panels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tailback.figures.theme import INK, MUTED, WIDTH

MARGIN = 66
"""Width of the axis of the first column, in pixels."""
GAP = 12
LETTER = 6.5
"""Approximate width of a letter on an axis, in pixels."""
HEADING = 8
"""Approximate width of a letter of a heading, in pixels."""
FLAG = "∗"
"""The mark above values that differ from the baseline by more than noise."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

Spec = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A Vega-Lite specification that can be used like a chart of Altair."""

    spec: Spec

    def to_dict(self) -> Spec:
        return dict(self.spec)


@dataclass(frozen=True)
class Item:
    row: str
    column: str
    x: str
    series: str
    stat: Mapping[str, float]
    """The statistics by name: p1, p25, mean, p75, p99."""
    flagged: bool = False


@dataclass(frozen=True)
class Curve:
    """A line in one panel."""

    row: str
    column: str
    series: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Look:
    """The axes and titles of a figure that shows statistics."""

    y_title: str
    x_title: str
    scale: Literal["linear", "log"] = "linear"
    floor: float | None = None
    """The smallest value on a logarithmic axis. Smaller values are drawn at this value. None means
    a linear axis."""
    zero: bool = True
    """Whether a linear axis begins at 0."""
    rule: float | None = None
    """The value of a horizontal line. None draws no line."""
    height: int = 120
    dashes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Dash pattern of the curve of each series."""


Panel = Callable[[str, str, "_Place"], list[Spec]]


@dataclass(frozen=True)
class _Place:
    first: bool
    last: bool
    domain: tuple[float, float]
    y_title: Any
    x_title: list[str]


def spread(
    items: Sequence[Item],
    look: Look,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    xs: Sequence[str],
    colours: Mapping[str, str],
    width: int = WIDTH,
) -> Drawn:
    """Draw panels of statistics. `colours` has the colour of each series, in the order of the
    legend."""
    wide = _width(columns, width)

    def layers(row: str, column: str, at: _Place) -> list[Spec]:
        own = [i for i in items if i.row == row and i.column == column]
        return _stat_layers(own, look, at, xs, colours, wide)

    domains = {
        row: _domain((v for i in items if i.row == row for v in i.stat.values()), look)
        for row in rows
    }
    return _panels(look, rows, columns, domains, layers, wide)


def curves(
    lines: Sequence[Curve],
    look: Look,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Mapping[str, str],
    x_domain: tuple[float, float],
    width: int = WIDTH,
) -> Drawn:
    """Draw panels that contain lines. All panels have the same axes."""
    wide = _width(columns, width)
    domain = _domain((y for line in lines for _, y in line.points), look)

    def layers(row: str, column: str, at: _Place) -> list[Spec]:
        own = [c for c in lines if c.row == row and c.column == column]
        values = [{"series": c.series, "x": x, "y": y} for c in own for x, y in c.points]
        x_axis = _x_axis(at, {"tickCount": 5, "labelAngle": 0, "labelFlush": True})
        x_scale = {"domain": list(x_domain), "nice": False, "zero": False}
        return [
            {
                "data": {"values": values},
                "mark": {"type": "line", "strokeWidth": 1.6, "clip": True},
                "encoding": {
                    "x": {"field": "x", "type": "quantitative", "scale": x_scale, **x_axis},
                    "y": {"field": "y", "type": "quantitative", **_y(look, at)},
                    "color": _colour(colours, "stroke"),
                },
            }
        ]

    return _panels(look, rows, columns, dict.fromkeys(rows, domain), layers, wide)


def _width(columns: Sequence[str], width: int) -> int:
    return max(60, (width - MARGIN - GAP * (len(columns) - 1)) // max(1, len(columns)))


def _panels(
    look: Look,
    rows: Sequence[str],
    columns: Sequence[str],
    domains: Mapping[str, tuple[float, float]],
    layers: Panel,
    wide: int,
) -> Drawn:
    x_title = _wrapped(look.x_title, wide, LETTER)
    panels = []
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            title = None
            if j == 0:
                title = [row, look.y_title] if row and look.y_title else row or look.y_title
            at = _Place(j == 0, i == len(rows) - 1, domains[row], title, x_title)
            panel: Spec = {"width": wide, "height": look.height, "layer": layers(row, column, at)}
            if i == 0:
                panel["title"] = {"text": _wrapped(column, wide, HEADING), "anchor": "middle"}
            panels.append(panel)
    return Drawn(
        {
            "$schema": _SCHEMA,
            # Axis titles extend beyond the size that Vega measures.
            "padding": {"left": 5, "top": 16, "right": 5, "bottom": 18},
            "concat": panels,
            "columns": len(columns),
            "align": {"row": "each", "column": "all"},
            "spacing": {"row": 10, "column": GAP},
            "resolve": {"scale": {"color": "shared", "y": "independent"}},
        }
    )


def _wrapped(name: str, wide: int, letter: float) -> list[str]:
    """Break a title into lines that fit into its column."""
    lines: list[str] = []
    for word in re.findall(r"[^\s-]+-?|-", name):
        joint = "" if lines and lines[-1].endswith("-") else " "
        if lines and letter * len(lines[-1] + joint + word) <= wide:
            lines[-1] += joint + word
        else:
            lines.append(word)
    return lines or [name]


def _stat_layers(
    items: Sequence[Item],
    look: Look,
    at: _Place,
    xs: Sequence[str],
    colours: Mapping[str, str],
    wide: int,
) -> list[Spec]:
    rotated = max((len(x) for x in xs), default=0) * len(xs) * 7 > wide
    common = {
        "x": {
            "field": "x",
            "type": "nominal",
            "scale": {"domain": list(xs), "paddingInner": 0.15, "paddingOuter": 0.1},
            **_x_axis(at, {"labelAngle": -60 if rotated else 0, "grid": False}),
        },
        "xOffset": {"field": "series", "type": "nominal", "scale": {"domain": list(colours)}},
    }
    coloured = {**common, "color": _colour(colours, "circle")}
    y = _y(look, at)
    values = [
        {"x": i.x, "series": i.series, **i.stat, "flagged": i.flagged}
        for i in items
        if i.stat and i.x in xs
    ]
    layers: list[Spec] = []
    if look.rule is not None:
        layers.append(
            {
                "data": {"values": [{"at": look.rule}]},
                "mark": {"type": "rule", "color": MUTED, "strokeDash": [4, 4], "strokeWidth": 1},
                "encoding": {"y": {"field": "at", "type": "quantitative", **y}},
            }
        )
    for low, high, thick, opacity in (("p1", "p99", 1.2, 1.0), ("p25", "p75", 4.5, 0.45)):
        drawn = [v for v in values if low in v and high in v]
        if drawn:
            layers.append(
                {
                    "data": {"values": drawn},
                    "mark": {"type": "rule", "strokeWidth": thick, "opacity": opacity},
                    "encoding": {
                        "y": {"field": low, "type": "quantitative", **y},
                        "y2": {"field": high},
                        **coloured,
                    },
                }
            )
    ranks = [r for r in ("p1", "p25", "mean", "p75", "p99") if any(r in v for v in values)]
    tooltip = [{"field": "series", "type": "nominal"}, {"field": "x", "type": "nominal"}]
    tooltip += [{"field": r, "type": "quantitative", "format": ".4~g"} for r in ranks]
    layers.append(
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 26, "opacity": 1},
            "encoding": {
                "y": {"field": "mean", "type": "quantitative", **y},
                "tooltip": tooltip,
                **coloured,
            },
        }
    )
    marked = [{"x": v["x"], "series": v["series"]} for v in values if v["flagged"]]
    if marked:
        text = {"type": "text", "text": FLAG, "fontSize": 14, "fontWeight": "bold", "color": INK}
        layers.append(
            {
                "data": {"values": marked},
                "mark": {**text, "baseline": "top"},
                "encoding": {"y": {"value": -2}, **common},
            }
        )
    return layers


def _y(look: Look, at: _Place) -> Spec:
    scale: Spec = {"domain": list(at.domain), "nice": False}
    axis: Spec = {"tickCount": 4}
    if look.scale == "log":
        scale |= {"type": "log", "clamp": True}
        axis = {"values": _ticks(at.domain), "format": "~g"}
    else:
        scale |= {"zero": look.zero}
    if not at.first:
        axis |= {"labels": False, "ticks": False}
    return {"scale": scale, "axis": axis, "title": at.y_title}


def _x_axis(at: _Place, axis: Spec) -> Spec:
    shown = {"labels": at.last, "ticks": at.last}
    return {"axis": {**axis, **shown}, "title": at.x_title if at.last else None}


def _colour(colours: Mapping[str, str], symbol: str) -> Spec:
    legend: Any = None
    if len(colours) > 1:
        legend = {"title": None, "orient": "top", "symbolOpacity": 1, "symbolType": symbol}
        if symbol == "stroke":
            legend["symbolStrokeWidth"] = 3
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}


def _domain(values: Iterable[float], look: Look) -> tuple[float, float]:
    numbers = [v for v in values if math.isfinite(v)]
    if look.rule is not None:
        numbers.append(look.rule)
    if look.scale == "log":
        above = [v for v in numbers if v > 0 and (look.floor is None or v >= look.floor)]
        low = min(above, default=look.floor or 0.1)
        high = max([*numbers, low * 2])
        below = look.floor is not None and any(v < look.floor for v in numbers)
        return (look.floor if below and look.floor else low / 1.2), high * 1.3
    low = 0.0 if look.zero else min(numbers, default=0.0)
    high = max(numbers, default=1.0)
    room = (high - low or abs(high) or 1.0) * 0.08
    return (low if look.zero else low - room), high + room


def _ticks(domain: tuple[float, float]) -> list[float]:
    """Return ticks at 1 in every decade, and also at 2 and 5 if the axis has few decades."""
    low, high = domain
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 60 else (1,)
    return [t for e in decades for n in steps if low <= (t := float(f"{n}e{e}")) <= high]
