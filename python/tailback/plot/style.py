"""Defines how figures for papers look, with their widths, letter sizes, and colours that differ in
grey print.

A figure is laid out in CSS pixels, 96 to an inch. Letters of 8 points have that size on paper if
the figure is not scaled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.base.foreign import quoted
from tailback.errors import InputError

INCH = 96.0
POINT = INCH / 72
UNITS = {"mm": INCH / 25.4, "cm": INCH / 2.54, "in": INCH, "pt": POINT, "px": 1.0}
COLUMN, PAGE = "85mm", "178mm"
"""Width of a column and of a page in most journals and proceedings."""
LEAST, MOST = 113.0, 3780.0
"""The smallest and the largest length in pixels. These lengths are 30 mm and 1 m."""

SLIDE, SLIDE_HEIGHT = "254mm", "143mm"
"""Width and height of a slide of 16:9 in presentation programs."""


@dataclass(frozen=True)
class Style:
    """Sizes for one purpose, such as a paper or a slide."""

    points: float
    """Size of letters in points."""
    weight: float
    """Width of lines, as a multiple of the width on paper."""
    column: str
    page: str
    """Width of a figure without panels, and of a figure with panels."""
    height: str | None = None
    """Height of a figure. None for a height that suits the width."""


PAPER = Style(8.0, 1.0, COLUMN, PAGE)
STYLES = {"paper": PAPER, "slides": Style(24.0, 3.0, SLIDE, SLIDE, SLIDE_HEIGHT)}

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Fonts. The drawing library contains the first font, so lines break at the same places on every
machine."""
LETTER = 0.55
"""Mean width of a letter, as a share of the font size."""

INK = "#1a1a1a"
FAINT = "#dfe3e8"
COLOURS = ["#10275e", "#a12d1c", "#0a7862", "#bb6bad", "#4fafe6", "#ecb12a", "#000000"]
"""Colours from dark to light, which differ in grey print and for colour-blind readers."""
ORDERED = ["#2d1160", "#721f81", "#b5367a", "#e2592f", "#e0a100"]
"""Colours for values of a parameter: dark for small values, light for large values."""
DASHES = [[1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [9, 3], [3, 1, 1, 1], [1, 2]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke"]


def length(text: str, option: str) -> float:
    """Convert a length such as 85mm to pixels."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", str(text))
    units = ", ".join(UNITS)
    if match is None or match[2] not in UNITS:
        shown = quoted(text)
        raise InputError(
            f"{option}: {shown} is not a length; expected a number with {units}, e.g. 85mm"
        )
    pixels = float(match[1]) * UNITS[match[2]]
    if not LEAST <= pixels <= MOST:
        raise InputError(f"{option}: {quoted(text)} is out of range; expected 30mm to 1000mm")
    return pixels


def config(points: float, weight: float = 1.0) -> dict[str, Any]:
    """Return a Vega-Lite configuration with letters of this size and lines of this weight."""
    # Draw the lines of axes thinner than the curves. Their width grows only with the square root of
    # the weight.
    thin = weight**0.5
    title, label = points * POINT, (points - 1) * POINT
    axis = {
        "labelFontSize": label,
        "titleFontSize": title,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "titlePadding": round(0.375 * title, 2),
        "labelPadding": 2,
        "gridColor": FAINT,
        "gridWidth": 0.6 * thin,
        "domainColor": INK,
        "domainWidth": 0.7 * thin,
        "tickColor": INK,
        "tickWidth": 0.7 * thin,
        "tickSize": 3 * thin,
        "labelOverlap": True,
        "labelLimit": 22 * label,
    }
    return {
        "background": "white",
        "aria": False,
        "font": FONT,
        "padding": 2,
        "view": {"stroke": None},
        "axis": axis,
        "header": {
            "labelFontSize": label,
            "titleFontSize": title,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "labelPadding": 3,
            "titlePadding": -6,
        },
        "legend": {
            "labelFontSize": label,
            "titleFontSize": title,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "labelLimit": 0,
            "titleLimit": 0,
            "symbolSize": 36 * weight,
            "symbolStrokeWidth": 0.7 * thin,
            "rowPadding": 1,
            "columnPadding": 8,
            "titlePadding": 3,
            "offset": 5,
        },
        "title": {
            "fontSize": title,
            "fontWeight": "normal",
            "color": INK,
            "anchor": "start",
            "offset": 0.6 * title,
        },
        # Leave space, because the last number below a panel must not touch the first number below
        # the next panel.
        "facet": {"spacing": round(max(8.0, 8 + 2.5 * (title - 8 * POINT)), 2)},
    }


def colours(count: int, *, ordered: bool) -> list[str]:
    """Return `count` colours. Unordered colours repeat if there are too few."""
    if not ordered:
        return [COLOURS[i % len(COLOURS)] for i in range(count)]
    return [_between(i / max(1, count - 1)) for i in range(count)]


def _between(share: float) -> str:
    place = share * (len(ORDERED) - 1)
    low = min(int(place), len(ORDERED) - 2)
    ends = [[int(ORDERED[i][k : k + 2], 16) for k in (1, 3, 5)] for i in (low, low + 1)]
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def cycled(items: Sequence[Any], count: int) -> list[Any]:
    """Return `count` dashes or symbols. The dashes or symbols repeat if there are too few."""
    return [items[i % len(items)] for i in range(count)]
