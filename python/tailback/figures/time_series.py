"""Draws quantities of flows over time, with ticks for drops and marks.

A series is drawn as steps, because a congestion window stays constant until it changes. `thin`
leaves out rows of long series. The figure's caption states which rows are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.figures.theme import WIDTH, Chart, colour_scale


def thin(frame: pl.DataFrame, *, by: Sequence[str], limit: int) -> tuple[pl.DataFrame, str | None]:
    """Keep at most about `limit` rows. Time is divided into equal bins. Each bin keeps its first
    row, and the rows with the smallest and the largest value.

    Returns the rows. If rows were left out, this function also returns a sentence for the caption
    that says so.

    `frame` has the columns time_s and value.
    """
    if frame.height <= limit:
        return frame, None
    groups = max(1, frame.select(list(by)).n_unique())
    bins = max(1, limit // (3 * groups))
    start = float(frame.select(pl.col("time_s").min()).item())
    end = float(frame.select(pl.col("time_s").max()).item())
    width = (end - start) / bins or 1.0
    binned = frame.with_row_index("row").with_columns(
        ((pl.col("time_s") - start) / width).floor().clip(0, bins - 1).cast(pl.Int64).alias("bin")
    )
    keys = [*by, "bin"]
    keep = pl.concat(
        [
            binned.group_by(keys).agg(pl.col("row").first()).select("row"),
            binned.sort("value").group_by(keys, maintain_order=True).first().select("row"),
            binned.sort("value").group_by(keys, maintain_order=True).last().select("row"),
        ]
    ).unique()
    kept = binned.join(keep, on="row", how="semi").sort("row").drop("row", "bin")
    rule = (
        f"thinned from {frame.height} to {kept.height} samples: of every {width * 1e3:.3g} ms the "
        f"first, "
        "the smallest and the largest are drawn"
    )
    return kept, rule


def time_series(
    frame: pl.DataFrame,
    *,
    y_title: str,
    order: Sequence[str],
    series: str = "flow",
    series_title: str = "flow",
    events: pl.DataFrame | None = None,
    event_order: Sequence[str] = (),
    rows: bool = False,
    width: int = WIDTH,
    height: int = 220,
    x_domain: tuple[float, float] | None = None,
    rules: Sequence[tuple[float, str]] = (),
    zero: bool = True,
    x_title: str | None = "time in s",
) -> Chart:
    """Draw values over time in seconds. `frame` has the columns time_s, value and `series`.

    `events` has the columns time_s, event and `series`. Each row of `events` is a drop or mark,
    drawn as a tick under the curves. The ticks of each kind of event form a row, in the order of
    `event_order`. With `rows`, every series has its own panel."""
    domain: dict[str, Any] = {"domain": list(x_domain)} if x_domain else {}
    x = alt.X("time_s:Q", title=x_title, scale=alt.Scale(nice=False, zero=False, **domain))
    top = frame["value"].max() if frame.height else 1.0
    y_scale = alt.Scale(zero=zero, domainMax=float(top) * 1.06)  # type: ignore[arg-type]
    y = alt.Y("value:Q", title=y_title, scale=y_scale)
    colour = alt.Color(
        f"{series}:N",
        scale=colour_scale(order),
        legend=None
        if rows or len(order) < 2
        else alt.Legend(title=series_title, symbolType="stroke", symbolStrokeWidth=3),
    )

    def curves(data: pl.DataFrame, name: str | None) -> Chart:
        layers: list[alt.Chart] = []
        for value, says in rules:
            at = pl.DataFrame({"at": [float(value)], "says": [says]})
            layers.append(
                alt.Chart(at)
                .mark_rule(color="#52606d", strokeDash=[5, 4], strokeWidth=1)
                .encode(y=alt.Y("at:Q", scale=y_scale))
            )
            layers.append(
                alt.Chart(at)
                .mark_text(align="right", baseline="bottom", dx=-4, dy=-2, fontSize=11)
                .encode(y=alt.Y("at:Q", scale=y_scale), x=alt.value(width), text="says:N")
            )
        layers.append(
            alt.Chart(data)
            .mark_line(interpolate="step-after", strokeWidth=1.6, clip=True)
            .encode(x=x, y=y, color=colour)
        )
        chart = alt.layer(*layers).properties(width=width, height=height)
        return chart.properties(title=name) if name else chart

    if rows:
        # Only the last panel has a title under its axis.
        bottom, x = x, x.title(None)
        charts = []
        for name in order:
            x = bottom if name == order[-1] else x
            charts.append(curves(frame.filter(pl.col(series) == name), name))
        return alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", y="shared")
    if events is None or events.is_empty():
        return curves(frame, None)
    # Only the axis under the ticks has a title.
    bottom, x = x, x.title(None)
    main = curves(frame, None)
    ticks = (
        alt.Chart(events)
        .mark_tick(thickness=1.4, size=16, clip=True, opacity=1)
        .encode(x=bottom, y=alt.Y("event:N", title=None, sort=list(event_order)), color=colour)
        .properties(width=width, height=26 * max(1, len(event_order)))
    )
    return alt.vconcat(main, ticks, spacing=10).resolve_scale(x="shared", color="shared")
