"""Draws measured values against published values, curves over time, and dots by queue."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import CATEGORIES, MUTED, Chart, colour_scale

# Colours of published values, of measured values, and of measured values without a published
# value.
PUBLISHED = (MUTED, CATEGORIES[0], CATEGORIES[4])


def curves(
    frame: pl.DataFrame,
    *,
    panels: Sequence[str],
    order: Sequence[str],
    y_title: str,
    log: bool = True,
    columns: int = 2,
) -> Chart:
    """Draw values over time in a small chart for each panel. The columns are panel, series, time_s
    and value."""
    colour = alt.Color(
        "series:N",
        scale=colour_scale(order),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3),
    )
    samples = frame.filter(pl.col("value") > 0) if log else frame
    low, high = _ends(samples)
    scale = (
        alt.Scale(type="log", domain=[low / 1.1, high * 1.1], nice=False)
        if log
        else alt.Scale(domain=[0, high * 1.05], nice=False)
    )
    x = alt.X("time_s:Q", title="time in s", scale=alt.Scale(nice=False, zero=False))
    y = alt.Y("value:Q", title=y_title, scale=scale, axis=_axis(low, high, log))
    charts = []
    for name in panels:
        rows = samples.filter(pl.col("panel") == name).select("series", "time_s", "value")
        line = alt.Chart(rows).mark_line(strokeWidth=1.4, clip=True)
        chart = line.encode(x=x, y=y, color=colour).properties(title=name, width=350, height=130)
        charts.append(chart)
    return alt.concat(*charts, columns=columns, spacing=18)


def _ends(frame: pl.DataFrame) -> tuple[float, float]:
    if frame.is_empty():
        return 1.0, 10.0
    return float(frame["value"].min()), float(frame["value"].max())  # type: ignore[arg-type]


def _axis(low: float, high: float, log: bool) -> alt.Axis:
    """Return an axis.

    On a logarithmic axis, each decade has ticks at 1, 2 and 5. If the axis has many decades, each
    decade has ticks at 1 and 3, or only at 1.
    """
    if not log:
        return alt.Axis(tickCount=5)
    steps = (1, 2, 5) if high / low < 60 else (1, 3) if high / low < 600 else (1,)
    ticks = [float(f"{n}e{e}") for e in range(-3, 7) for n in steps]
    held = [tick for tick in ticks if low / 1.3 <= tick <= high * 1.3]
    return alt.Axis(values=held, format="~g", labelOverlap=False)


def against(
    frame: pl.DataFrame,
    *,
    panels: Sequence[str],
    order: Sequence[str],
    within: float,
    columns: int = 2,
) -> Chart:
    """Plot measured against published shares (in %) of the link's rate.

    The columns are panel, series, published, measured and row. On the solid line, both shares are
    equal. The dashed lines have a fixed distance from the solid line.
    """
    ends = pl.DataFrame({"x": [0.0, 100.0]})
    colour = alt.Color(
        "series:N",
        scale=colour_scale(order),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    scale = alt.Scale(domain=[0, 100], nice=False)
    charts = []
    for name in panels:
        layers = []
        for off, dash in ((0.0, []), (within, [4, 4]), (-within, [4, 4])):
            line = ends.with_columns((pl.col("x") + off).alias("y"))
            drawn = alt.Chart(line).mark_line(
                color=MUTED, strokeWidth=1, strokeDash=dash, clip=True
            )
            layers.append(drawn.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)))
        rows = frame.filter(pl.col("panel") == name)
        dots = alt.Chart(rows).mark_point(filled=True, size=36, opacity=0.75)
        layers.append(
            dots.encode(
                x=alt.X("published:Q", title="published, % of the rate", scale=scale),
                y=alt.Y("measured:Q", title="measured, % of the rate", scale=scale),
                color=colour,
                tooltip=[
                    alt.Tooltip("row:N"),
                    alt.Tooltip("published:Q", format=".3~g"),
                    alt.Tooltip("measured:Q", format=".3~g"),
                ],
            )
        )
        charts.append(alt.layer(*layers).properties(title=name, width=230, height=230))
    return alt.concat(*charts, columns=columns, spacing=24)


def beside(
    frame: pl.DataFrame,
    *,
    panels: Sequence[str],
    order: Sequence[str],
    series: Sequence[str],
    y_title: str,
    x_title: str,
    colours: Sequence[str] = CATEGORIES,
    log: bool = True,
    columns: int = 2,
    width: int = 330,
) -> Chart:
    """Draw a small chart for each panel. The x axis shows categories (`place`), and each value is a
    dot above its category. The columns are panel, place, series and value."""
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(series), range=list(colours[: len(series)])),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    low, high = _ends(frame)
    scale = (
        alt.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False)
        if log
        else alt.Scale(domain=[0, high * 1.1], nice=False)
    )
    offset = alt.XOffset("series:N", scale=alt.Scale(domain=list(series), paddingOuter=0.3))
    charts = []
    for name in panels:
        rows = frame.filter(pl.col("panel") == name)
        held = set(rows["place"].to_list())
        points = alt.Chart(rows).mark_point(filled=True, size=60, opacity=1)
        charts.append(
            points.encode(
                x=alt.X(
                    "place:N",
                    title=x_title or None,
                    sort=[place for place in order if place in held],
                    axis=alt.Axis(labelAngle=0, labelOverlap=False, labelLimit=200, grid=True),
                ),
                xOffset=offset,
                y=alt.Y("value:Q", title=y_title, scale=scale, axis=_axis(low, high, log)),
                color=colour,
                tooltip=[
                    alt.Tooltip("place:N"),
                    alt.Tooltip("series:N"),
                    alt.Tooltip("value:Q", format=".4~g"),
                ],
            ).properties(title=name, width=width, height=190)
        )
    return alt.concat(*charts, columns=columns, spacing=24)
