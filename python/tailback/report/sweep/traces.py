"""Draws one run over time: the rates and windows of flows, rates of sources, and queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import altair as alt
import polars as pl

from tailback.figures.theme import Chart
from tailback.figures.time_series import thin, time_series
from tailback.metrics import parts
from tailback.plot import words
from tailback.report.model import Block, Facts, ReportFigure
from tailback.report.rerun import Rerun
from tailback.report.sweep.axes import MOST_COLOURS
from tailback.report.text import plain
from tailback.store import changes
from tailback.store.results import Run

BINS = 120
"""The number of equal parts of a run. Each value of a rate is the mean over one part."""
MAX_SAMPLES = 2400
"""The largest number of rows of data in a panel."""


def figures(groups: Sequence[Sequence[Run]], facts: Facts) -> list[Block]:
    """Draw the first run of the first, the middle and the last sweep point, if these exist."""
    if len(groups) < 2:
        chosen = {"": groups[0][0]} if groups else {}
    else:
        # Show the middle, too, because the result of interest, such as the best target, is often at
        # neither end of a sweep.
        middle = {"middle": groups[len(groups) // 2][0]} if len(groups) > 2 else {}
        chosen = {"first": groups[0][0], **middle, "last": groups[-1][0]}
    made = [_figure(run, n, which, facts) for n, (which, run) in enumerate(chosen.items(), 1)]
    return [figure for figure in made if figure is not None]


def _figure(run: Run, number: int, place: str, facts: Facts) -> ReportFigure | None:
    series = run.series()
    flows = [flow["name"] for flow in parts.flows(run.summary)]
    shown = flows[:MOST_COLOURS]
    # Leave out TCP connections that only control a UDP program.
    probes = {p["name"] for p in parts.programs(run.summary) if p["rtt_of"] != "tcp"}
    windows = [name for name in shown if name not in probes]
    links = list(run.summary["queues"])[:MOST_COLOURS]
    panels: list[Chart] = []
    rules: set[str] = set()
    frames = (
        (_rates(series, shown, run), "throughput, Mbit/s", "flow", shown),
        (_while_sending(series, windows, run), "cwnd, segments", "flow", shown),
        (_of(series, "backlog_bytes", "link", links, 1e-3), "backlog, kB", "link", links),
    )
    seen = [one for one in frames if one[0].height and one[0]["value"].max() != 0]
    for frame, title, what, order in seen:
        drawn, rule = thin(frame, by=[what], limit=MAX_SAMPLES)
        if rule:
            rules.add(rule)
        chart = time_series(
            drawn,
            y_title=title,
            order=order,
            series=what,
            series_title=what,
            height=130,
            # Only the lowest panel has the title of the time axis.
            x_title="time in s" if frame is seen[-1][0] else None,
        )
        panels.append(chart)
    if not panels:
        return None
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(x="shared", color="independent")
    where = ", ".join(f"{key} = {words.value(label)}" for key, label in run.labels.items())
    which = f" at {plain(where)}" if where else ""
    cut = f" The first {len(shown)} of {len(flows)} flows." if len(flows) > len(shown) else ""
    notes = "".join(f"; {rule}" for rule in sorted(rules))
    told = changes.sentences(changes.of(run.manifest["canonical"]))
    caption = " ".join([f"Seed {run.seed}{which}{notes}.{cut}", *map(plain, told)])
    # Link to this run, not to the whole sweep.
    facts = replace(facts, reruns=[Rerun("", [run]) for _ in facts.reruns[:1]])
    title = f"The {place} point" if place else "Over time"
    return ReportFigure(f"time-{number}" if place else "time", title, chart, caption, facts)


def _of(
    series: pl.DataFrame, quantity: str, what: str, names: Sequence[str], scale: float
) -> pl.DataFrame:
    return series.filter(pl.col("quantity") == quantity, pl.col(what).is_in(names)).select(
        (pl.col("time_ns") / 1e9).alias("time_s"), what, pl.col("value") * scale
    )


def _while_sending(series: pl.DataFrame, flows: Sequence[str], run: Run) -> pl.DataFrame:
    """Return the windows of flows up to the time at which each flow stops or completes. Afterwards
    a window has no meaning."""
    ends = {flow["name"]: flow["to_s"] for flow in run.summary["flows"]}
    known = {name: end for name, end in ends.items() if end is not None}
    end = (
        pl.col("flow").cast(pl.String).replace_strict(known, default=None, return_dtype=pl.Float64)
    )
    windows = _of(series, "cwnd", "flow", flows, 1.0)
    return windows.filter(end.is_null() | (pl.col("time_s") <= end))


def _rates(series: pl.DataFrame, flows: Sequence[str], run: Run) -> pl.DataFrame:
    """Compute the throughput in equal intervals of the run."""
    interval = run.manifest["canonical"]["record"]["interval"]
    # Choose intervals that all have the same number of samples. With different numbers of samples,
    # the rate would seem to change from one interval to the next.
    samples = max(1, round(run.summary["duration_s"] * 1e9 / BINS / interval))
    width = samples * interval
    return (
        series.filter(pl.col("quantity") == "delivered_bytes", pl.col("flow").is_in(flows))
        .with_columns((pl.col("time_ns") // width).alias("bin"))
        .group_by("flow", "bin", maintain_order=True)
        .agg(pl.col("time_ns").last(), pl.col("value").last())
        .with_columns(
            (
                pl.col("value").diff().over("flow") * 8e3 / pl.col("time_ns").diff().over("flow")
            ).alias("value"),
            (pl.col("time_ns").shift().over("flow") / 1e9).alias("time_s"),
        )
        .drop_nulls()
        .select("time_s", "flow", "value")
    )
