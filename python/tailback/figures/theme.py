"""The common style of all figures: fonts, sizes, and colours that colour-blind readers can
distinguish.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import altair as alt

#: An Altair chart. The type is `Any`, because Altair's own annotations of charts differ between
#: releases and contradict each other.
Chart: TypeAlias = Any

#: The palette of Okabe and Ito, without its yellow, which is too light on white.
CATEGORIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
#: Five steps from dark to light for curves that follow a parameter. All colours have a contrast
#: above 3:1 on white.
ORDERED = ["#2d1160", "#721f81", "#b5367a", "#e2592f", "#c98a00"]
#: Each colour has a shape, so that curves can be distinguished on a page printed in grey.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK = "#1f2933"
MUTED = "#52606d"
GRID = "#e4e7eb"
#: The dark-mode colour for each colour of a figure, for pages that follow the reader's setting. The
#: table must have every colour that figures use.
DARK = {
    "white": "#14181d",
    "black": "#f0f3f6",
    "#000": "#f0f3f6",
    "#000000": "#f0f3f6",
    INK: "#e4e7eb",
    MUTED: "#a5b1bd",
    GRID: "#2c343d",
    "#9aa5b1": "#66727f",
    "#0072B2": "#4aa8e0",
    "#D55E00": "#f0803c",
    "#009E73": "#2fc296",
    "#CC79A7": "#e29fc6",
    "#56B4E9": "#a3dcfa",
    "#E69F00": "#f2b63c",
    **dict(zip(ORDERED, ["#a58bff", "#d07ad6", "#f0719d", "#ff8f63", "#f2bd45"], strict=True)),
}
WIDTH = 620
HEIGHT = 240
#: Altair rejects a dataset with more rows than this. A figure of more data
#: divides the data into bins, and its caption states how.
MAX_ROWS = 5000


@alt.theme.register("tailback", enable=True)
def theme() -> alt.theme.ThemeConfig:
    return {
        "config": {
            "background": "white",
            # On a page, the title of a figure is its label for screen readers. Vega's own
            # descriptions would contain untrusted names as expressions.
            "aria": False,
            "font": FONT,
            "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
            "title": {
                "fontSize": 14,
                "fontWeight": 600,
                "color": INK,
                "anchor": "start",
                "subtitleColor": MUTED,
                "subtitleFontSize": 12,
                "offset": 10,
            },
            "axis": {
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": 500,
                "labelColor": MUTED,
                "titleColor": INK,
                "gridColor": GRID,
                "domainColor": "#9aa5b1",
                "tickColor": "#9aa5b1",
                "titlePadding": 8,
            },
            "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12},
            "legend": {
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": 500,
                "labelColor": INK,
                "titleColor": INK,
                "symbolSize": 90,
                "symbolStrokeWidth": 2,
                "labelLimit": 260,
                "titleLimit": 260,
            },
            "line": {"strokeWidth": 2},
            "point": {"size": 45, "filled": True},
            "range": {"category": CATEGORIES, "symbol": SHAPES},
        }
    }


def colour_scale(names: Sequence[str], *, ordered: bool = False) -> alt.Scale:
    """Assign a colour to each name, in this order. Set `ordered` if the names are values of a
    parameter. The colours then change from dark to light.
    """
    palette = ORDERED if ordered else CATEGORIES
    if ordered and 1 < len(names) < len(ORDERED):
        last = len(names) - 1
        palette = [ORDERED[round(i * (len(ORDERED) - 1) / last)] for i in range(len(names))]
    colours = [palette[i % len(palette)] for i in range(len(names))]
    return alt.Scale(domain=list(names), range=colours)


def shape_scale(names: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])
