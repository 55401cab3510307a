"""Draws curves over a parameter. Each series has a line and a confidence band. Published values can
be added as points.

Several quantities over the same axis are drawn in panels, one below the other (`panels`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt
import polars as pl

from tailback.figures.theme import WIDTH, Chart, colour_scale, shape_scale


@dataclass(frozen=True)
class LinePanel:
    """A panel that shows one quantity over the common x axis.

    `y`, `low` and `high` are columns of the frame. Rows where `y` is null are left out.
    """

    y: str
    title: str
    low: str | None = None
    high: str | None = None
    scale: Literal["linear", "log"] = "linear"
    domain: tuple[float, float] | None = None
    #: The value and label of each horizontal line.
    rules: Sequence[tuple[float, str]] = ()
    #: Published points, with the columns x, series and y, named as in the frame.
    published: pl.DataFrame | None = None
    published_label: str = "published"
    height: int = 200
    format: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def band(cls, y: str, title: str, **more: Any) -> LinePanel:
        """Return the panel of the column `y`, with intervals from the columns `y_low` and
        `y_high`."""
        return cls(y, title, f"{y}_low", f"{y}_high", **more)


def panel(
    frame: pl.DataFrame,
    spec: LinePanel,
    *,
    x: str,
    x_title: str,
    series: str,
    series_title: str,
    order: Sequence[str],
    ordered: bool = False,
    x_domain: tuple[float, float] | None = None,
    x_scale: Literal["linear", "log"] = "linear",
    x_ticks: Sequence[float] | None = None,
    interpolate: Literal["linear", "step-after"] = "linear",
    points: bool = True,
    width: int = WIDTH,
    show_x_title: bool = True,
) -> Chart:
    """Draw one panel of curves.

    `order` lists the series in the order of the legend. Set `ordered` if the series are values of a
    parameter. The colours then follow the order of the series. With `interpolate="step-after"`, the
    curve keeps each value from its x to the next x.
    """
    rows = frame.filter(pl.col(spec.y).is_not_null())
    limits = {"domain": list(spec.domain), "clamp": True} if spec.domain else {"zero": False}
    ticks: dict[str, Any] = {"format": spec.format} if spec.format else {}
    if spec.scale == "log":
        limits, values = _log_axis(rows, spec)
        ticks["values"] = values
    nice = spec.domain is None and spec.scale == "linear"
    y_scale = alt.Scale(type=spec.scale, nice=nice, **limits)
    y_axis = alt.Y(f"{spec.y}:Q", title=spec.title, scale=y_scale, axis=alt.Axis(**ticks))
    x_axis = alt.X(
        f"{x}:Q",
        title=x_title if show_x_title else None,
        scale=alt.Scale(
            type=x_scale,
            nice=False,
            **({"domain": list(x_domain)} if x_domain else {"zero": False}),
        ),
        axis=alt.Axis(values=list(x_ticks), format=".3~g", labelOverlap=False)
        if x_ticks
        else alt.Axis(tickCount=12, labelOverlap=True),
    )
    many = len(order) > 1
    legend = _legend(series_title, points) if many else None
    colour = alt.Color(f"{series}:N", scale=colour_scale(order, ordered=ordered), legend=legend)
    shape = alt.Shape(f"{series}:N", scale=shape_scale(order), legend=legend)
    tooltip = [
        alt.Tooltip(f"{series}:N", title=series_title or "series"),
        alt.Tooltip(f"{x}:Q", title=x_title, format=".4~g"),
        alt.Tooltip(f"{spec.y}:Q", title=spec.title, format=".4~g"),
    ]
    layers = _rules(spec, y_scale, width)
    base = alt.Chart(rows)
    if spec.low and spec.high:
        bounded = rows.filter(pl.col(spec.low).is_not_null() & pl.col(spec.high).is_not_null())
        if bounded.height:
            layers.append(
                alt.Chart(bounded)
                .mark_area(opacity=0.2, interpolate=interpolate, clip=True)
                .encode(
                    x=x_axis,
                    y=alt.Y(f"{spec.low}:Q", scale=y_scale, title=spec.title),
                    y2=f"{spec.high}:Q",
                    color=colour,
                )
            )
    layers.append(
        base.mark_line(interpolate=interpolate, clip=True).encode(x=x_axis, y=y_axis, color=colour)
    )
    if points:
        layers.append(
            base.mark_point(filled=True, size=34, clip=True).encode(
                x=x_axis, y=y_axis, color=colour, shape=shape, tooltip=tooltip
            )
        )
    if spec.published is not None and spec.published.height:
        layers.append(
            alt.Chart(spec.published.with_columns(pl.lit(spec.published_label).alias("source")))
            .mark_point(filled=False, size=150, strokeWidth=2.5, opacity=1)
            .encode(
                x=x_axis,
                y=y_axis,
                color=colour,
                shape=alt.Shape(f"{series}:N", scale=shape_scale(order), legend=legend),
                tooltip=[alt.Tooltip("source:N"), *tooltip],
            )
        )
    return alt.layer(*layers).properties(width=width, height=spec.height)


def _rules(spec: LinePanel, y_scale: alt.Scale, width: int) -> list[Any]:
    layers: list[Any] = []
    for value, says in spec.rules:
        at = pl.DataFrame({"at": [float(value)], "says": [says]})
        rule = alt.Chart(at).mark_rule(color="#52606d", strokeDash=[5, 4], strokeWidth=1)
        layers.append(rule.encode(y=alt.Y("at:Q", scale=y_scale)))
        if says:
            text = alt.Chart(at).mark_text(
                align="right", baseline="bottom", dx=-4, dy=-2, fontSize=11, color="#52606d"
            )
            layers.append(
                text.encode(y=alt.Y("at:Q", scale=y_scale), x=alt.value(width), text="says:N")
            )
    return layers


def _legend(title: str, points: bool) -> alt.Legend:
    """Return a legend with symbols that look like the curves, not like the bands."""
    if points:
        return alt.Legend(title=title or None, symbolOpacity=1)
    return alt.Legend(
        title=title or None, symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3
    )


def _log_axis(rows: pl.DataFrame, spec: LinePanel) -> tuple[dict[str, Any], list[float]]:
    """Return the domain and ticks (1, 2, 5 in every decade) of a logarithmic axis. The domain
    includes the values of `rules`."""
    found = [float(v) for v in rows[spec.y] if v is not None and v > 0]
    found += [value for value, _ in spec.rules if value > 0]
    low, high = spec.domain or (min(found, default=0.1) / 1.15, max(found, default=10.0) * 1.15)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{n}e{e}") for e in decades for n in (1, 2, 5)]
    return {"domain": [low, high]}, [t for t in ticks if low <= t <= high]


def panels(frame: pl.DataFrame, specs: Sequence[LinePanel], **common: Any) -> Chart:
    """Draw several panels over one axis. `common` are further arguments of `panel`."""
    last = len(specs) - 1
    charts = [
        panel(frame, spec, show_x_title=(i == last), **common) for i, spec in enumerate(specs)
    ]
    return alt.vconcat(*charts, spacing=18).resolve_scale(color="shared", shape="shared")
