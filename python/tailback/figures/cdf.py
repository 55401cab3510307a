"""Draws cumulative distributions from histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import WIDTH, Chart, colour_scale

#: The largest number of points to draw for each distribution.
STEPS = 250


def cumulative(
    lower: Sequence[float], upper: Sequence[float], count: Sequence[int]
) -> pl.DataFrame:
    """Return the cumulative distribution function at the upper end of each histogram bucket.

    The frame has the columns value and share. The frame has at most `STEPS` points, which are
    evenly spaced in probability.
    """
    total = sum(count)
    frame = pl.DataFrame(
        {"lower": lower, "value": upper, "count": count},
        schema={"lower": pl.Float64, "value": pl.Float64, "count": pl.Int64},
    ).sort("value")
    if not total:
        return pl.DataFrame(schema={"value": pl.Float64, "share": pl.Float64})
    frame = frame.with_columns((pl.col("count").cum_sum() / total).alias("share"))
    start = pl.DataFrame({"value": [float(frame["lower"][0])], "share": [0.0]})
    binned = (
        frame.with_columns((pl.col("share") * STEPS).ceil().alias("bin"))
        .group_by("bin", maintain_order=True)
        .agg(pl.col("value").last(), pl.col("share").last())
        .select("value", "share")
    )
    return pl.concat([start, binned])


def cdf(
    distributions: Mapping[str, pl.DataFrame],
    *,
    x_title: str,
    series_title: str,
    ordered: bool = False,
    width: int = WIDTH,
    height: int = 260,
) -> Chart:
    """Draw a curve for each distribution. `distributions` has frames that `cumulative` has
    returned."""
    frame = pl.concat(
        [d.with_columns(pl.lit(name).alias("series")) for name, d in distributions.items()]
    )
    return (
        alt.Chart(frame)
        .mark_line(interpolate="step-after", clip=True)
        .encode(
            x=alt.X("value:Q", title=x_title, scale=alt.Scale(nice=False)),
            y=alt.Y("share:Q", title="share of packets", axis=alt.Axis(format="%")),
            color=alt.Color(
                "series:N",
                scale=colour_scale(list(distributions), ordered=ordered),
                legend=alt.Legend(title=series_title) if len(distributions) > 1 else None,
            ),
        )
        .properties(width=width, height=height)
    )
