"""A quantity over two parameters, as coloured cells, with curves drawn over it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl


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
    scheme: str = "viridis",
    overlays: Sequence[tuple[str, pl.DataFrame]] | None = None,
    width: int = 560,
    height: int = 380,
) -> alt.LayerChart:
    """Cells centred on the grid of (`x`, `y`); their edges lie half-way between grid values.

    `overlays` lists curves over the cells: name, frame with columns x (ascending) and y.
    """
    edges = frame.with_columns(*_edges(frame, x, "x"), *_edges(frame, y, "y"))
    x_scale = alt.Scale(domain=[edges["x_from"].min(), edges["x_to"].max()], nice=False, zero=False)
    y_scale = alt.Scale(domain=[edges["y_from"].min(), edges["y_to"].max()], nice=False, zero=False)
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
        # Black on white is seen on every colour of the scale.
        layers.append(line.mark_line(strokeWidth=5, color="white", clip=True))
        layers.append(line.mark_line(strokeWidth=2, color="black", clip=True))
        end = curve.filter(
            pl.col("x").is_between(edges["x_from"].min(), edges["x_to"].max()),
            pl.col("y").is_between(edges["y_from"].min(), edges["y_to"].max()),
        ).tail(1)
        label = alt.Chart(end).encode(
            x=alt.X("x:Q", scale=x_scale), y=alt.Y("y:Q", scale=y_scale), text=alt.value(name)
        )
        place = {"align": "right", "baseline": "top", "dx": -8, "dy": 6, "fontSize": 12}
        layers.append(label.mark_text(**place, stroke="white", strokeWidth=4, strokeJoin="round"))
        layers.append(label.mark_text(**place, color="black"))
    return alt.layer(*layers).properties(width=width, height=height)


def _edges(frame: pl.DataFrame, column: str, name: str) -> tuple[pl.Expr, pl.Expr]:
    """Lower and upper edge of every grid value of a column."""
    grid = sorted(float(v) for v in frame[column].unique())
    if len(grid) == 1:
        bounds = [grid[0] - 0.5, grid[0] + 0.5]
    else:
        middle = [(a + b) / 2 for a, b in zip(grid, grid[1:], strict=False)]
        bounds = [2 * grid[0] - middle[0], *middle, 2 * grid[-1] - middle[-1]]
    keys = pl.Series(grid, dtype=pl.Float64)
    lower = pl.Series(bounds[:-1], dtype=pl.Float64)
    upper = pl.Series(bounds[1:], dtype=pl.Float64)
    wanted = pl.col(column).cast(pl.Float64)
    return (
        wanted.replace_strict(keys, lower, default=None).alias(f"{name}_from"),
        wanted.replace_strict(keys, upper, default=None).alias(f"{name}_to"),
    )
