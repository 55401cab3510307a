"""Draws each difference from a baseline as a dot with its interval.

A filled dot is a difference that exceeds noise. A hollow dot is a difference that may be noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.figures.theme import INK, WIDTH, Chart, colour_scale, shape_scale

ROW_HEIGHT = 15
"""Height of a row in pixels."""
SAID = 150
"""Width in pixels of the text at the right of the dots."""


def differences(
    frame: pl.DataFrame,
    *,
    order: Sequence[str],
    variants: Sequence[str],
    baseline: str,
    x_title: str,
    width: int = WIDTH,
) -> Chart:
    """Draw a dot with its interval, in a row for each variant and each place. A place is,
    for example, a flow or a link at one sweep point.

    `frame` has the columns place (as in `order`), variant (as in `variants`), value, low, high
    (null without an interval), flagged, and says (text to the right of the dot). The first colour
    and shape are reserved for `baseline`, so that each variant has the same colour and shape in all
    figures of a report.
    """
    height = max(2, len(order)) * (ROW_HEIGHT * len(variants) + 5)
    x_scale = alt.Scale(zero=True, nice=True, padding=8)
    y = alt.Y(
        "place:N",
        title=None,
        sort=list(order),
        axis=alt.Axis(labelLimit=320, grid=True, domain=False, ticks=False, labelPadding=7),
        scale=alt.Scale(paddingInner=0.25, paddingOuter=0.2),
    )
    beside = alt.YOffset("variant:N", sort=list(variants))
    several = len(variants) > 1
    legend = (
        alt.Legend(title="variant", symbolOpacity=1, values=list(variants), offset=SAID)
        if several
        else None
    )
    everyone = [baseline, *variants]
    colour = alt.Color("variant:N", scale=colour_scale(everyone), legend=legend)
    shape = alt.Shape("variant:N", scale=shape_scale(everyone), legend=legend)
    zero = (
        alt.Chart(pl.DataFrame({"at": [0.0]}))
        .mark_rule(color=INK, strokeWidth=1)
        .encode(x=alt.X("at:Q", scale=x_scale))
    )
    # Use few ticks, so that their labels do not overlap on a phone, which shows the figure at half
    # its width.
    x_axis = alt.Axis(tickCount=6, labelOverlap=True)
    x = alt.X("value:Q", title=x_title, scale=x_scale, axis=x_axis)
    tooltip = [
        alt.Tooltip("place:N"),
        alt.Tooltip("variant:N"),
        alt.Tooltip("value:Q", title=x_title, format="+.4~g"),
        alt.Tooltip("low:Q", title="from", format="+.4~g"),
        alt.Tooltip("high:Q", title="to", format="+.4~g"),
        alt.Tooltip("says:N", title="values"),
    ]
    bars = (
        alt.Chart(frame.filter(pl.col("low").is_not_null()))
        .mark_rule(strokeWidth=1.6)
        .encode(x=alt.X("low:Q", title=x_title, scale=x_scale, axis=x_axis), x2="high:Q")
        .encode(y=y, yOffset=beside, color=colour)
    )
    inside: dict[bool, dict[str, Any]] = {False: {"fill": "white"}, True: {}}
    dots = [
        alt.Chart(frame.filter(pl.col("flagged") == flagged))
        .mark_point(size=52, opacity=1, filled=flagged, **inside[flagged])
        .encode(x=x, y=y, yOffset=beside, color=colour, shape=shape, tooltip=tooltip)
        for flagged in (False, True)
        if frame.filter(pl.col("flagged") == flagged).height
    ]
    labels = (
        alt.Chart(frame)
        .mark_text(align="left", baseline="middle", fontSize=11)
        .encode(x=alt.value(width + 10), y=y, yOffset=beside, text="says:N", color=colour)
    )
    return alt.layer(zero, bars, *dots, labels).properties(width=width, height=height)
