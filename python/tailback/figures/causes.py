"""Drops and marks by cause, stacked, a bar for each point."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import WIDTH, Chart, colour_scale


def causes(frame: pl.DataFrame, *, x_title: str, order: Sequence[str], width: int = WIDTH) -> Chart:
    """Bars of the columns point, cause and packets; points in the order of `order`."""
    found = list(dict.fromkeys(frame["cause"].to_list()))
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=alt.Y("point:N", title=x_title, sort=list(order)),
            x=alt.X("packets:Q", title="packets of a run"),
            color=alt.Color("cause:N", scale=colour_scale(found), legend=alt.Legend(title="cause")),
            tooltip=["point:N", "cause:N", alt.Tooltip("packets:Q", format=".4~g")],
        )
        .properties(width=width)
    )
