"""A recorded series over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt

from tailback.metrics import series
from tailback.metrics.statistics import t_quantile
from tailback.plot import values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows

if TYPE_CHECKING:
    import polars as pl

MOST_BINS, LEAST_BINS = 150, 40
ROLES = ["series", "column", "row"]


def draw(plan: PlotPlan) -> PlannedDrawing:
    """A line for each series: the mean over seeds in equally long intervals."""
    frame = values.over_time(plan, plan.y)
    rows, end = _pooled(frame, values.ends_s(plan, plan.y), held=values.is_state(plan.y))
    ends = [row[name] for row in rows for name in ("y", "low", "high") if row[name] is not None]
    up = common.chosen(rows, plan.y_scale, ("y",))
    banded = any(row["low"] is not None for row in rows)
    warmup = max((m.run.summary["warmup_s"] for m in plan.members), default=0.0)

    def layers(panel: PlotPanel) -> Any:
        count = max(2, min(8, int(panel.width / (4 * panel.letter))))
        x = alt.X(
            "x:Q",
            title=panel.across("time (s)"),
            scale=alt.Scale(domain=[0, end or 1], nice=False),
            axis=alt.Axis(tickCount=count, format=".4~r"),
        )
        scale, axis, _ = common.value_axis(ends, up, panel.height, panel.letter)
        common.name_log(plan, y=scale)
        base = alt.Chart().encode(x=x, **common.colour(plan))
        ink = common.first_colour(plan)
        marks = []
        if warmup:
            before = alt.Chart(common.data([{"from": 0.0, "to": warmup}], panel))
            marks.append(
                before.mark_rect(color="#000000", opacity=0.06).encode(
                    x=alt.X("from:Q", title=panel.across("time (s)")), x2="to:Q"
                )
            )
        if banded:
            band = base.transform_filter("isValid(datum.low)").mark_area(
                opacity=0.16, clip=True, **ink
            )
            low = alt.Y("low:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis)
            marks.append(band.encode(y=low, y2="high:Q"))
        tips = common.tooltips(
            plan, common.of_value("time (s)", "x"), common.of_value(plan.y.label)
        )
        y = alt.Y("y:Q", title=panel.up(plan.up or ""), scale=scale, axis=axis)
        lines = base.mark_line(strokeWidth=1.1, clip=True, **ink)
        marks.append(lines.encode(y=y, tooltip=tips, **common.dash(plan)))
        return alt.layer(*marks, data=common.data(rows, panel))

    return PlannedDrawing(layers, common.free(y=up))


def _pooled(
    frame: pl.DataFrame, ends_s: Mapping[tuple[int, str], float], *, held: bool
) -> tuple[Rows, float]:
    """The mean of each interval with the mean over seeds, and the end of the time axis.

    An interval is as long as that of the record, or longer if a figure cannot show so many. In an
    interval a state (`held`) is weighted by time.
    """
    import polars as pl

    if frame.is_empty():
        return [], 0.0
    end = float(frame["time_s"].max())  # type: ignore[arg-type]
    groups = max(1, frame.select(ROLES).n_unique())
    bins = max(LEAST_BINS, min(MOST_BINS, common.MOST_ROWS // groups))
    samples = max(frame.group_by("run", "part").len()["len"].to_list())
    start = float(frame["time_s"].min())  # type: ignore[arg-type]
    step = (end - start) / max(1, samples - 1)
    # Whole steps, so that all intervals have the same number of samples.
    width = step * -(-samples // bins) or 1.0
    place = ((pl.col("time_s") - start) / width + 1e-6).floor().alias("bin")
    by_part = (
        _held_in(frame, ends_s, start, width)
        if held
        else frame.with_columns(place)
        .group_by([*ROLES, "bin", "run", "part"], maintain_order=True)
        .agg(pl.col("value").mean())
    )
    by_run = by_part.group_by([*ROLES, "bin", "run"], maintain_order=True).agg(
        pl.col("value").mean()
    )
    means = (
        by_run.group_by([*ROLES, "bin"], maintain_order=True)
        .agg(
            pl.col("value").mean().alias("y"),
            pl.col("value").std().alias("deviation"),
            pl.len().alias("n"),
        )
        .sort("bin", maintain_order=True)
    )
    rows: Rows = []
    for row in means.iter_rows(named=True):
        low = high = None
        if row["n"] > 1 and row["deviation"]:
            half = t_quantile(row["n"] - 1) * row["deviation"] / row["n"] ** 0.5
            low, high = row["y"] - half, row["y"] + half
            # A quantity that is never negative has no interval below zero.
            low = max(0.0, low) if row["y"] >= 0 else low
        where = {role: row[role] for role in ROLES}
        # The time is the middle of its samples.
        at = start + row["bin"] * width + (width - step) / 2
        rows.append({**where, "x": at, "y": row["y"], "low": low, "high": high})
    return rows, end


def _held_in(
    frame: pl.DataFrame, ends_s: Mapping[tuple[int, str], float], start: float, width: float
) -> pl.DataFrame:
    """The mean of each part in each interval, weighted by how long every sample holds."""
    import numpy as np
    import polars as pl

    tables = []
    for keys, samples in frame.group_by([*ROLES, "run", "part"], maintain_order=True):
        *roles, run, part = keys
        times = samples["time_s"].to_numpy()
        end = ends_s.get((run, part), times[-1])
        bins = int(np.floor((max(end, times[-1]) - start) / width + 1e-6)) + 1
        # As in counting samples: a sample on an edge begins its interval.
        edges = np.asarray(start + width * (np.arange(bins + 1) - 1e-6), dtype=np.float64)
        means = series.means_between(times, samples["value"].to_numpy(), edges, end)
        known = np.flatnonzero(~np.isnan(means))
        tables.append(
            pl.DataFrame({"bin": known.astype(float), "value": means[known]}).with_columns(
                pl.lit(run, dtype=pl.UInt32).alias("run"),
                *(pl.lit(role).alias(name) for name, role in zip(ROLES, roles, strict=True)),
                pl.lit(part, dtype=pl.String).alias("part"),
            )
        )
    return pl.concat(tables)


KIND = Kind(
    name="time",
    doc="a recorded series over time",
    draw=draw,
    default="cwnd",
    over_time=True,
    lines=True,
    facts="mean over seeds; band: its 95 % interval (Student's t)",
)
