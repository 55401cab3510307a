"""Draws shares of a whole as divided bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import WIDTH, Chart, colour_scale


def shares(
    rows: Mapping[str, Mapping[str, float]],
    *,
    parts: Sequence[str],
    x_title: str,
    part_title: str,
    width: int = WIDTH - 120,
) -> Chart:
    """Draw a bar for each row, divided in the order of `parts`. The values are between 0 and 1."""
    names = [part for part in parts if any(row.get(part, 0.0) > 0 for row in rows.values())]
    frame = pl.DataFrame(
        [
            {"row": name, "part": part, "order": place, "share": row.get(part, 0.0)}
            for name, row in rows.items()
            for place, part in enumerate(names)
        ],
        schema={"row": pl.String, "part": pl.String, "order": pl.Int64, "share": pl.Float64},
    )
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title=x_title,
                axis=alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("row:N", sort=list(rows), title=None, axis=alt.Axis(labelLimit=320)),
            color=alt.Color(
                "part:N",
                scale=colour_scale(names),
                sort=names,
                legend=alt.Legend(title=part_title, orient="top", columns=4),
            ),
            order=alt.Order("order:Q"),
        )
        .properties(width=width, height=alt.Step(22))
    )
