"""Draws a quantity over two parameters as coloured cells, with curves on top."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import altair as alt
import polars as pl

from tailback.figures.theme import Chart


def heatmap(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    x_title: str,
    y_title: str,
    value_title: str,
    domain: tuple[float, float],
    scheme: Literal["viridis", "cividis", "magma"] = "viridis",
    overlays: Sequence[tuple[str, pl.DataFrame]] | None = None,
    width: int = 560,
    height: int = 380,
) -> Chart:
    """Draw cells centred on the grid of (`x`, `y`), with edges half-way between grid values.

    `overlays` maps the name of each curve over the cells to a frame with the columns x (ascending)
    and y.
    """
    edges = frame.with_columns(*_edges(frame, x, "x"), *_edges(frame, y, "y"))
    x_range = [min(edges["x_from"].to_list()), max(edges["x_to"].to_list())]
    y_range = [min(edges["y_from"].to_list()), max(edges["y_to"].to_list())]
    x_scale = alt.Scale(domain=x_range, nice=False, zero=False)
    y_scale = alt.Scale(domain=y_range, nice=False, zero=False)
    cells = (
        alt.Chart(edges)
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("x_from:Q", title=x_title, scale=x_scale),
            x2="x_to:Q",
            y=alt.Y("y_from:Q", title=y_title, scale=y_scale),
            y2="y_to:Q",
            color=alt.Color(
                f"{value}:Q",
                title=value_title,
                scale=alt.Scale(scheme=scheme, domain=list(domain), clamp=True),
                legend=alt.Legend(gradientLength=height - 40, format=".2f"),
            ),
            tooltip=[
                alt.Tooltip(f"{x}:Q", title=x_title, format=".4~g"),
                alt.Tooltip(f"{y}:Q", title=y_title, format=".4~g"),
                alt.Tooltip(f"{value}:Q", title=value_title, format=".4f"),
            ],
        )
    )
    layers: list[alt.Chart] = [cells]
    for name, curve in overlays or []:
        line = alt.Chart(curve).encode(
            x=alt.X("x:Q", scale=x_scale, title=x_title),
            y=alt.Y("y:Q", scale=y_scale, title=y_title),
            order="x:Q",
        )
        # Black text with a white outline is readable on every colour of the scale.
        layers.append(line.mark_line(strokeWidth=5, color="white", clip=True))
        layers.append(line.mark_line(strokeWidth=2, color="black", clip=True))
        end = curve.filter(pl.col("x").is_between(*x_range), pl.col("y").is_between(*y_range)).tail(
            1
        )
        label = alt.Chart(end).encode(
            x=alt.X("x:Q", scale=x_scale), y=alt.Y("y:Q", scale=y_scale), text=alt.value(name)
        )
        place: dict[str, Any] = {
            "align": "right",
            "baseline": "top",
            "dx": -8,
            "dy": 6,
            "fontSize": 12,
        }
        layers.append(label.mark_text(**place, stroke="white", strokeWidth=4, strokeJoin="round"))
        layers.append(label.mark_text(**place, color="black"))
    return alt.layer(*layers).properties(width=width, height=height)


def _edges(frame: pl.DataFrame, column: str, name: str) -> tuple[pl.Expr, pl.Expr]:
    """Return expressions that give the lower and the upper edge of a cell, for each grid value in a
    column.
    """
    grid = sorted(float(v) for v in frame[column].unique())
    if len(grid) == 1:
        bounds = [grid[0] - 0.5, grid[0] + 0.5]
    else:
        middle = [(a + b) / 2 for a, b in pairwise(grid)]
        bounds = [2 * grid[0] - middle[0], *middle, 2 * grid[-1] - middle[-1]]
    keys = pl.Series(grid, dtype=pl.Float64)
    lower = pl.Series(bounds[:-1], dtype=pl.Float64)
    upper = pl.Series(bounds[1:], dtype=pl.Float64)
    wanted = pl.col(column).cast(pl.Float64)
    return (
        wanted.replace_strict(keys, lower, default=None).alias(f"{name}_from"),
        wanted.replace_strict(keys, upper, default=None).alias(f"{name}_to"),
    )
