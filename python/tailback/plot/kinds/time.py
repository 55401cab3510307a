"""Draws a recorded series over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from tailback.metrics import series
from tailback.metrics.statistics import t_quantile
from tailback.plot import quantities, style, values
from tailback.plot.kinds import common
from tailback.plot.plan import Kind, PlannedDrawing, PlotPanel, PlotPlan, Rows

if TYPE_CHECKING:
    import polars as pl

MOST_BINS, LEAST_BINS = 600, 40
"""The largest and the smallest number of intervals of a curve. A figure as wide as a page has about
600 pixels."""
ROLES = ["series", "column", "row"]
RUG = 0.9
"""Height of a row of event ticks, as a multiple of the letter size."""


@dataclass(frozen=True)
class _Curves:
    """The data rows of the curves, and whether the rows are samples or means."""

    rows: Rows
    end: float
    stepped: bool = False
    """Whether a value is valid until the next value."""
    extremes: bool = False
    """Whether the band shows the range from the smallest to the largest value, instead of an
    interval."""


def draw(plan: PlotPlan) -> PlannedDrawing:
    """Draw each series as a line. The line shows every sample of a single run, or means over seeds
    in equal intervals.
    """
    names = quantities.STATES.get(plan.y.stored)
    frame = _within(plan, values.over_time(plan, plan.y))
    if names is not None:
        frame = _first_run(plan, frame)
    ends_s = values.ends_s(plan, plan.y)
    curves = _curves(frame, ends_s, held=values.is_state(plan.y), named=names is not None)
    rows = curves.rows
    if curves.extremes:
        plan.missing.append("band: from the smallest to the largest sample of each interval")
    begin = plan.look.begin_s or 0.0
    whole = max(curves.end, _duration(plan)) if rows else curves.end
    end = whole if plan.look.end_s is None else plan.look.end_s
    ends = [row[name] for row in rows for name in ("y", "low", "high") if row[name] is not None]
    up = "linear" if names is not None else common.chosen(rows, plan.y_scale, ("y",), log=False)
    banded = any(row["low"] is not None for row in rows)
    warmup = max((m.run.summary["warmup_s"] for m in plan.members), default=0.0)
    events = _events(plan)

    def layers(panel: PlotPanel) -> Any:
        count = max(2, min(8, int(panel.width / (4 * panel.letter))))
        low_x, high_x = plan.look.x
        x = alt.X(
            "x:Q",
            title=panel.across("time (s)"),
            scale=alt.Scale(
                domain=[
                    begin if low_x is None else low_x,
                    (end or 1) if high_x is None else high_x,
                ],
                nice=False,
            ),
            axis=alt.Axis(tickCount=count, format=",.4~r"),
        )
        scale, axis, (low_y, high_y) = common.value_axis(
            [*ends, *plan.look.at("y")],
            up,
            panel.height,
            panel.letter,
            zero=common.from_zero(plan.y),
            limits=plan.look.y,
            centre=common.centre(plan.y),
        )
        if names is not None:
            scale, axis = _named(names)
            low_y, high_y = scale["domain"]
        strip = RUG * panel.letter * len(events)
        if events and up == "linear" and plan.look.y[1] is None:
            # Leave space above the curves for the ticks of events.
            share = min(0.5, strip / panel.height)
            scale["domain"] = [low_y, low_y + (high_y - low_y) / (1 - share)]
        common.name_log(plan, y=scale)
        base = alt.Chart().encode(x=x, **common.colour(plan))
        ink = common.first_colour(plan)
        marks = []
        if warmup > begin:
            before = alt.Chart(common.data([{"from": begin, "to": warmup}], panel))
            marks.append(
                before.mark_rect(color="#000000", opacity=0.06, clip=True).encode(
                    x=alt.X("from:Q", title=panel.across("time (s)")), x2="to:Q"
                )
            )
        how: dict[str, Any] = {"interpolate": "step-after"} if curves.stepped else {}
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
        lines = base.transform_filter("isValid(datum.y)").mark_line(
            strokeWidth=1.1 * panel.weight, clip=True, **how, **ink
        )
        marks.append(lines.encode(y=y, tooltip=tips, **common.dash(plan)))
        marks += _rug(plan, panel, events, x)
        marks += common.rules(plan, panel, x=x, y=y)
        every = [*rows, *(row for _, own in events for row in own)]
        return alt.layer(*marks, data=common.data(every, panel))

    return PlannedDrawing(layers, common.free(y=up))


def _named(names: Sequence[str]) -> tuple[alt.Scale, alt.Axis]:
    """Return an axis that is labelled with the names of states."""
    said = ", ".join(f"'{name}'" for name in names)
    axis = alt.Axis(
        values=list(range(len(names))),
        labelExpr=f"[{said}][datum.value]",
        labelOverlap=False,
        labelLimit=0,
    )
    return alt.Scale(domain=[-0.4, len(names) - 0.6], nice=False, zero=False), axis


def _within(plan: PlotPlan, frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the samples between `--from` and `--to`. If the quantity is a state, also keep the last
    sample before `--from`, and move it to `--from`.
    """
    import polars as pl

    begin, end = plan.look.begin_s, plan.look.end_s
    if end is not None:
        frame = frame.filter(pl.col("time_s") <= end)
    if begin is None:
        return frame
    inside = pl.col("time_s") >= begin
    if not values.is_state(plan.y):
        return frame.filter(inside)
    last = frame.filter(~inside).group_by("run", "part", maintain_order=True).last()
    moved = last.select(frame.columns).with_columns(pl.lit(begin).alias("time_s"))
    return pl.concat([moved, frame.filter(inside)]).sort("run", "part", "time_s")


def _first_run(plan: PlotPlan, frame: pl.DataFrame) -> pl.DataFrame:
    """Keep only the first run of each curve, because states with names have no mean."""
    import polars as pl

    if frame.is_empty():
        return frame
    first = frame.group_by(ROLES, maintain_order=True).agg(pl.col("run", "part").first())
    kept = frame.join(first, on=[*ROLES, "run", "part"], how="semi", maintain_order="left")
    if kept.select("run", "part").n_unique() < frame.select("run", "part").n_unique():
        plan.missing.append(
            f"{plan.y.name}: states have no mean, so each curve shows one run and flow"
        )
    return kept


def _events(plan: PlotPlan) -> list[tuple[str, Rows]]:
    """Return the data rows of each kind of event."""
    if not plan.look.events:
        return []
    import polars as pl

    frame, missing = values.events(plan, plan.look.events)
    for kind in missing:
        plan.missing.append(f"{kind} are not recorded; set record.events = true")
    begin, end = plan.look.begin_s or 0.0, plan.look.end_s
    frame = frame.filter(pl.col("time_s") >= begin)
    if end is not None:
        frame = frame.filter(pl.col("time_s") <= end)
    span = (end if end is not None else _duration(plan)) - begin
    found = []
    for kind in plan.look.events:
        if kind in missing:
            continue
        own = frame.filter(pl.col("event") == kind)
        # Draw only one event per pixel.
        pixel = (pl.col("time_s") / (span / MOST_BINS or 1.0)).floor().alias("pixel")
        own = own.with_columns(pixel).unique([*ROLES, "pixel"], maintain_order=True)
        most = common.MOST_ROWS // (2 * len(plan.look.events))
        if own.height > most:
            own = own.gather_every(-(-own.height // most))
        rows = [
            {**{role: row[role] for role in ROLES}, "at": row["time_s"], "event": kind}
            for row in own.iter_rows(named=True)
        ]
        found.append((kind, rows))
    return found


def _duration(plan: PlotPlan) -> float:
    return max((float(m.run.summary["duration_s"]) for m in plan.members), default=1.0)


def _rug(
    plan: PlotPlan, panel: PlotPanel, events: Sequence[tuple[str, Rows]], x: alt.X
) -> list[Any]:
    """Draw a row of ticks at the top of the panel for each kind of event."""
    height = RUG * panel.letter
    at = x.copy(deep=False)
    at["shorthand"] = "at:Q"
    layers: list[Any] = []
    for number, (kind, _) in enumerate(events):
        top = number * height
        ticks = (
            alt.Chart()
            .transform_filter(f"datum.event === '{kind}'")
            .mark_rule(
                strokeWidth=0.7 * panel.weight**0.7,
                opacity=0.8,
                clip=True,
                **common.first_colour(plan),
            )
            .encode(
                x=at,
                y=alt.value(top + 0.12 * height),
                y2=alt.value(top + 0.88 * height),
                **common.colour(plan),
            )
        )
        said: dict[str, Any] = {
            "align": "right",
            "baseline": "middle",
            "dx": -2,
            "fontSize": 0.85 * panel.letter,
            "color": style.INK,
        }
        here = alt.Chart(alt.InlineData(values=[{"text": kind.replace("-", " ")}])).encode(
            x=alt.value(panel.width), y=alt.value(top + height / 2), text="text:N"
        )
        outline = here.mark_text(stroke="white", strokeWidth=3, **said)
        layers += [ticks, outline, here.mark_text(**said)]
    return layers


def _curves(
    frame: pl.DataFrame, ends_s: Mapping[tuple[int, str], float], *, held: bool, named: bool
) -> _Curves:
    """Return every sample if each curve shows a single run and the figure has enough pixels.

    Otherwise return the mean of each time interval."""
    import polars as pl

    if frame.is_empty():
        return _Curves([], 0.0)
    end = float(frame["time_s"].max())  # type: ignore[arg-type]
    by_curve = frame.group_by(ROLES).agg(pl.struct("run", "part").n_unique().alias("parts"))
    single = bool((by_curve["parts"] == 1).all())
    most = max(LEAST_BINS, min(MOST_BINS, common.MOST_ROWS // max(1, by_curve.height)))
    if single:
        kept = _changes(frame) if held else frame
        if named or max(kept.group_by(ROLES).len()["len"]) <= most:
            rows = _rows(kept.select(*ROLES, "time_s", pl.col("value").alias("y")))
            return _Curves(rows, end, stepped=held)
    rows = _pooled(frame, ends_s, most, held=held, single=single)
    return _Curves(rows, end, extremes=single)


def _changes(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the last sample, and the samples at which the state changes."""
    import polars as pl

    over = [*ROLES, "run", "part"]
    value = pl.col("value")
    kept = (value != value.shift(1)).over(over).fill_null(value=True)
    last = (pl.int_range(pl.len()) == pl.len() - 1).over(over)
    return frame.filter(kept | last)


def _rows(frame: pl.DataFrame) -> Rows:
    return [
        {**{role: row[role] for role in ROLES}, "x": row["time_s"], "y": row["y"]}
        | {"low": None, "high": None}
        for row in frame.iter_rows(named=True)
    ]


def _pooled(
    frame: pl.DataFrame,
    ends_s: Mapping[tuple[int, str], float],
    most: int,
    *,
    held: bool,
    single: bool,
) -> Rows:
    """Return the mean of each time interval, with its confidence interval over seeds.

    For a single run, return the range of the samples instead of the confidence interval.

    Time intervals have the length of the record interval, or a multiple if the figure has too few
    pixels. With `held`, samples are weighted by the time for which they are valid.
    """
    import polars as pl

    end = float(frame["time_s"].max())  # type: ignore[arg-type]
    samples = max(frame.group_by("run", "part").len()["len"].to_list())
    start = float(frame["time_s"].min())  # type: ignore[arg-type]
    step = (end - start) / max(1, samples - 1)
    # Use a multiple of `step`, so that all intervals have the same number of samples.
    width = step * -(-samples // most) or 1.0
    place = ((pl.col("time_s") - start) / width + 1e-6).floor().alias("bin")
    binned = frame.with_columns(place)
    by_part = (
        _held_in(frame, ends_s, start, width)
        if held
        else binned.group_by([*ROLES, "bin", "run", "part"], maintain_order=True).agg(
            pl.col("value").mean()
        )
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
    if single:
        value = pl.col("value")
        ends = binned.group_by([*ROLES, "bin"]).agg(
            value.min().alias("least"), value.max().alias("largest")
        )
        means = means.join(ends, on=[*ROLES, "bin"], how="left", maintain_order="left")
    rows: Rows = []
    for row in means.iter_rows(named=True):
        low = high = None
        if single and row["least"] is not None:
            low, high = min(row["least"], row["y"]), max(row["largest"], row["y"])
        elif row["n"] > 1 and row["deviation"]:
            half = t_quantile(row["n"] - 1) * row["deviation"] / row["n"] ** 0.5
            low, high = row["y"] - half, row["y"] + half
            # If the mean is not negative, do not let the interval extend below 0.
            low = max(0.0, low) if row["y"] >= 0 else low
        where = {role: row[role] for role in ROLES}
        # Draw an interval's mean at the middle of the interval's samples.
        at = start + row["bin"] * width + (width - step) / 2
        rows.append({**where, "x": at, "y": row["y"], "low": low, "high": high})
    return rows


def _held_in(
    frame: pl.DataFrame, ends_s: Mapping[tuple[int, str], float], start: float, width: float
) -> pl.DataFrame:
    """Compute the mean of each flow or link in each time interval."""
    import numpy as np
    import polars as pl

    tables = []
    for keys, samples in frame.group_by([*ROLES, "run", "part"], maintain_order=True):
        *roles, run, part = keys
        times = samples["time_s"].to_numpy()
        end = ends_s.get((run, part), times[-1])
        bins = int(np.floor((max(end, times[-1]) - start) / width + 1e-6)) + 1
        # A sample on an edge belongs to the interval that begins there.
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
    facts="one run: its samples, or the means of intervals and their smallest and largest sample; "
    "several: mean over seeds; band: its 95 % interval (Student's t)",
)
