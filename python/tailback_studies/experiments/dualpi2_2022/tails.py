"""Computes the distribution of long queue delays. The measured curve covers all packets. The
publication has only percentiles."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.report import Facts, ReportFigure
from tailback.store.results import Results
from tailback_studies.experiments.dualpi2_2022 import charts
from tailback_studies.experiments.dualpi2_2022.figures import place_of, side_of
from tailback_studies.experiments.dualpi2_2022.layout import MIXED, OVERLOAD, RUNS, Run, published

# Published percentiles, each with the percentage of packets above this percentile.
_BEYOND = {"p1": 99.0, "p25": 75.0, "p75": 25.0, "p99": 1.0}


def tails(runs: Sequence[Run], results: Sequence[Results]) -> pl.DataFrame | None:
    """Return the percentage of packets whose queue delay exceeds each delay, by run and class.

    Each curve has at most 120 points, evenly spaced in the logarithm of the percentage.
    """
    frames = []
    for run, result in zip(runs, results, strict=True):
        for name in ("L", "C"):
            frame = _tail(result, name)
            if frame is not None:
                frames.append(
                    frame.with_columns(
                        pl.lit(run.archive.kind).alias("kind"),
                        pl.lit(f"{run.archive.title}: {side_of(run, name)}").alias("facet"),
                        pl.lit(place_of(run)).alias("series"),
                        pl.lit(run.stem).alias("stem"),
                        pl.lit(run.archive.name).alias("archive"),
                    )
                )
    return pl.concat(frames) if frames else None


def _tail(result: Results, name: str) -> pl.DataFrame | None:
    parts = []
    for stored in result:
        link = next(iter(stored.summary["queues"]))
        parts.append(stored.histogram(f"delay_ns.{name}", link=link))
    frame = pl.concat(parts) if parts else pl.DataFrame()
    if not frame.height:
        return None
    frame = frame.group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
    total = frame["count"].sum()
    return (
        frame.select(
            ((pl.col("lower") + pl.col("width")) / 1e6).alias("value"),
            (100 * (1 - pl.col("count").cum_sum() / total)).alias("percent"),
        )
        .filter(pl.col("percent") > 0.01)
        .with_columns((pl.col("percent").log10() * 30).round().alias("bin"))
        .group_by("bin", maintain_order=True)
        .agg(pl.col("value").last(), pl.col("percent").last())
        .select("value", "percent")
    )


# Runs in the figure. If a panel had more curves, they could not be distinguished.
_TAILS = {
    MIXED: ((5, 5), (5, 100), (100, 5), (100, 100)),
    OVERLOAD: ((0, 50), (0, 200), (50, 0), (100, 0), (200, 0)),
}


def figure(frame: pl.DataFrame, kind: str, facts: Facts) -> ReportFigure | None:

    wanted = [
        run
        for run in RUNS
        if run.archive.kind == kind
        and ((run.rtt_ecn, run.rtt_nonecn) if kind == MIXED else run.udp) in _TAILS[kind]
    ]
    keys = {(run.archive.name, run.stem) for run in wanted}
    rows = frame.filter(
        pl.struct("archive", "stem").map_elements(
            lambda s: (s["archive"], s["stem"]) in keys, return_dtype=pl.Boolean
        )
    )
    if not rows.height:
        return None
    measured = rows.select("facet", "series", "value", "percent").with_columns(
        pl.lit("measured").alias("whose")
    )
    known = published()
    points = []
    facets = list(dict.fromkeys(measured["facet"].to_list()))
    for run in wanted:
        for side, name in (("ecn", "L"), ("nonecn", "C")):
            facet = f"{run.archive.title}: {side_of(run, name)}"
            for statistic, percent in _BEYOND.items():
                key = (run.archive.name, run.cases[0].name, f"qs_{side}_{statistic}")
                if facet in facets and key in known:
                    points.append(
                        {
                            "facet": facet,
                            "series": place_of(run),
                            "value": known[key],
                            "percent": percent,
                            "whose": "published",
                        }
                    )
    together = pl.concat([measured, pl.DataFrame(points)]) if points else measured
    chart = charts.tail(
        together, facet="facet", facets=facets, x_title="queue delay, ms", columns=2
    )
    caption = (
        "Packets with a longer delay (curves) and the publication's percentiles (rings); 30 points "
        "in each factor of ten, down to 0.01 %."
    )
    return ReportFigure(f"{kind}-tail", "Tail of the queue delay", chart, caption, facts)
