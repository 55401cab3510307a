"""A table as coloured cells with their numbers: how far off each one is."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import INK, Chart


def grid(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    facet: str,
    x_title: str,
    y_title: str,
    value_title: str,
    order: Sequence[str],
    limit: float,
    columns: int = 3,
    cell: int = 30,
) -> Chart:
    """Small tables beside one another, one for each of `order` in column `facet`.

    Rows and columns are the values of `y` and `x`, evenly spaced; `value` is a signed share,
    coloured up to `limit` either way and written in percent. Cells without a value stay white.
    """
    rows = frame.filter(pl.col(value).is_not_null()).with_columns(
        (100 * pl.col(value)).round(1).alias("percent")
    )
    span = 100 * limit
    ends = {"x": sorted(frame[x].unique()), "y": sorted(frame[y].unique())}
    x_axis = alt.X(f"{x}:O", title=x_title, sort=ends["x"], axis=alt.Axis(labelAngle=0))
    y_axis = alt.Y(f"{y}:O", title=y_title, sort=ends["y"])
    colour = alt.Color(
        "percent:Q",
        title=value_title,
        scale=alt.Scale(scheme="blueorange", domain=[-span, 0, span], clamp=True),
        legend=alt.Legend(format="+.0f"),
    )
    # On the dark ends of the scale black is not read.
    ink = alt.condition(f"abs(datum.percent) > {0.7 * span}", alt.value("white"), alt.value(INK))
    # One table, given data and a name for each: what is said of axes and colours is made once.
    boxes = alt.Chart().mark_rect(stroke="white")
    boxes = boxes.encode(
        x=x_axis,
        y=y_axis,
        color=colour,
        tooltip=[
            alt.Tooltip(f"{y}:O", title=y_title),
            alt.Tooltip(f"{x}:O", title=x_title),
            alt.Tooltip("percent:Q", title=value_title, format="+.1f"),
        ],
    )
    texts = alt.Chart().mark_text(fontSize=10)
    texts = texts.encode(x=x_axis, y=y_axis, text=alt.Text("percent:Q", format="+.1f"), color=ink)
    size = {"width": cell * len(ends["x"]), "height": cell * len(ends["y"])}
    table = alt.layer(boxes, texts, **size)
    tables = [
        table.properties(data=rows.filter(pl.col(facet) == name), title=name) for name in order
    ]
    return alt.concat(*tables, columns=columns, spacing=18)
