"""Figures 1 and 2: windows, marks and drops over time."""

from __future__ import annotations

import math

import polars as pl

from tailback.figures import thin, time_series
from tailback.metrics.statistics import estimate
from tailback.report import Section
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder, drawn
from tailback_studies.experiments.dctcp_internet_2014.charts import sawtooth, window


def fig1(builder: Builder) -> Section | None:
    """Plot the congestion window of a flow that is alone."""
    runs = builder.measured.series.get("fig1")
    if not runs:
        return None
    names = ["DCTCP as first published", "DCTCP as modified", "Reno"]
    start, end = 20.0, 40.0
    windows = [
        window(run, "cwnd", start, end).with_columns(pl.lit(name).alias("flow"))
        for name, run in zip(names, runs, strict=False)
    ]
    frame, rule = thin(pl.concat(windows), by=["flow"], limit=4500)
    chart = time_series(
        frame,
        y_title="cwnd in segments",
        order=names[: len(windows)],
        rows=True,
        height=130,
        x_domain=(start, end),
    )
    cycles = [f"{n}: {sawtooth(w)}" for n, w in zip(names, windows, strict=False)]
    caption = (
        "Each flow is alone on the bottleneck: DCTCP through the step threshold of Table I "
        "(K = 0.65 BDP), Reno through RED with Min_Thresh = BDP/2. "
        "In the drawn stretch, " + "; ".join(cycles) + "."
    )
    if rule:
        caption += f" The series is {rule}."
    facts = builder.facts(
        "fig1", options=("K and Min_Thresh: the paper does not state them for this figure",)
    )
    return drawn(
        "fig1",
        "Figure 1: window of a single flow",
        "Congestion window over time",
        chart,
        caption,
        facts,
    )


def fig2(builder: Builder) -> Section | None:
    """Draw windows, marks and drops of two flows."""
    runs = builder.measured.series.get("fig2")
    frame = builder.measured.frames.get("fig2")
    if not runs or frame is None:
        return None
    start, end = 20.0, 40.0
    run = runs[0]
    curves, rule = thin(window(run, "cwnd", start, end), by=["flow"], limit=3000)
    events = run.filter(
        pl.col("quantity").str.starts_with("drop.") | pl.col("quantity").str.starts_with("mark.")
    ).filter(pl.col("time_s").is_between(start, end))
    events = events.with_columns(
        pl.when(pl.col("quantity").str.starts_with("drop."))
        .then(pl.lit("dropped"))
        .otherwise(pl.lit("marked"))
        .alias("event")
    ).select("time_s", "flow", "event")
    drops = events.filter(pl.col("event") == "dropped").height
    marks = events.filter(pl.col("event") == "marked").height
    note = ""
    if events.height > 1800:
        # Merge events that are closer than 20 ms, because they would share a tick of the figure.
        events = (
            events.with_columns((pl.col("time_s") / 0.02).floor().alias("bin"))
            .unique(["bin", "flow", "event"], maintain_order=True)
            .drop("bin")
        )
        note = " Several events of one kind within 20 ms are one tick."
    chart = time_series(
        curves,
        y_title="cwnd in segments",
        order=["reno", "dctcp"],
        events=events,
        event_order=["dropped", "marked"],
        x_domain=(start, end),
    )
    ratio = estimate(frame["ratio"].to_list())
    caption = (
        "Equal sharing on slopes as formula (3) sets them: Min_Thresh_DCTCP = BDP/2, "
        "Max_Prob_DCTCP = 0.2, Min_Thresh_Reno = BDP, Max_Prob_Reno = 0.1, both slopes 2 BDP wide. "
        f"In the drawn 20 s {drops} packets of Reno were dropped and {marks} of DCTCP marked; the "
        "throughput ratio over the run is "
        f"{math.nan if ratio.mean is None else ratio.mean:.2f}.{note}"
    )
    if rule:
        caption += f" The series is {rule}."
    return drawn(
        "fig2",
        "Figure 2: Reno and DCTCP at equal sharing",
        "Congestion windows, drops and marks over time",
        chart,
        caption,
        builder.facts("fig2", options=("the first seed is drawn",)),
    )
