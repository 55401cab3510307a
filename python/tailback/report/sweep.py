"""The report of a stored sweep: what `tailback report DIR` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tailback.figures.cdf import cdf, cumulative
from tailback.figures.theme import MAX_ROWS
from tailback.figures.time_series import thin, time_series
from tailback.metrics import METRICS, Metric, On, estimate
from tailback.numbers import with_spread
from tailback.report.model import Column, Facts, Figure, Report, Section, Table, Text, Value
from tailback.report.tables import left
from tailback.report.text import plain
from tailback.report.write import write
from tailback.results import Results, Run, open_results

MAX_CURVES = 7
"""More curves in one figure cannot be told apart."""

MAX_TABLE_ROWS = 500

FLOW = ("throughput_mbit", "rtt_ms.mean", "rtt_ms.p99", "retransmits", "drops", "marks")
LINK = (
    "delay_ms.mean",
    "delay_ms.p50",
    "delay_ms.p99",
    "utilisation",
    "occupancy_bytes_mean",
    "drops",
    "marks",
)


def write_folder(folder: Path) -> Path:
    """Reports the latest sweep in a folder of results, or the sweep whose folder it is.

    Returns the path of index.html, in `reports/<sweep>` of the results.
    """
    results = open_results(folder)
    results.require_whole()
    return write(of(results), results.root / "reports" / results.id)


def of(results: Results) -> Report:
    """The report of a sweep."""
    groups = results.groups()
    facts = _facts(results, groups)
    warnings = "\n\n".join(plain(warning) for warning in results.warnings)
    sections = [
        Section("warnings", "Warnings", [Text(warnings)] if warnings else []),
        Section("flows", "Flows", [_table("flow", groups, FLOW, facts)]),
        Section("queues", "Queues", [_table("link", groups, LINK, facts)]),
        Section("delay", "Queue delay", _delays(groups, facts)),
        Section("time", "Over time", _windows(groups, facts)),
        Section("follows", "What the algorithms follow", [Text(_follows(results))]),
    ]
    runs = f"{len(results)} run{'s' if len(results) != 1 else ''}"
    return Report(
        name=results.id,
        title=results.title or results.id,
        lead=f"{runs} of {len(groups)} point{'s' if len(groups) != 1 else ''}.",
        meta=[("engine", f"{results.engine} {results.version}"), ("sweep", results.id)],
        sections=[section for section in sections if section.blocks],
    )


def _facts(results: Results, groups: Sequence[Sequence[Run]]) -> Facts:
    durations = sorted({run.summary["duration_s"] for run in results})
    warmups = sorted({run.summary["warmup_s"] for run in results})
    return Facts(
        runs=len(results),
        seeds=max((len(group) for group in groups), default=0),
        duration=", ".join(f"{d:g} s simulated" for d in durations),
        warmup=", ".join(f"{w:g} s" for w in warmups if w),
        engine=f"{results.engine} {results.version}",
    )


def _parts(summary: Mapping[str, Any], on: On) -> list[Mapping[str, Any]]:
    return list(summary["flows"] if on == "flow" else summary["queues"].values())


def _table(on: On, groups: Sequence[Sequence[Run]], names: Sequence[str], facts: Facts) -> Table:
    metrics = [next(m for m in METRICS if m.is_called(name) and m.on == on) for name in names]
    params = list(dict.fromkeys(path for group in groups for path in group[0].params))
    of_what = "cc" if on == "flow" else "aqm"
    columns = [
        *left(*params, on, of_what),
        *(Column(metric.name, unit=metric.unit) for metric in metrics),
    ]
    rows: list[list[Value]] = []
    for group in groups:
        for i, part in enumerate(_parts(group[0].summary, on)):
            start: list[Value] = [group[0].labels.get(path, "") for path in params]
            cells = [_over_seeds(group, metric, _part(on, i)) for metric in metrics]
            rows.append([*start, part["name"], part[of_what], *cells])
    caption = "Mean over seeds ± half the 95 % interval (Student's t) where seeds differ."
    if len(rows) > MAX_TABLE_ROWS:
        caption += f" The first {MAX_TABLE_ROWS} of {len(rows)} rows."
    title = "Every flow" if on == "flow" else "Every link"
    return Table(f"{on}s", title, columns, rows[:MAX_TABLE_ROWS], caption, facts)


def _part(on: On, index: int) -> Callable[[Run], Mapping[str, Any]]:
    return lambda run: _parts(run.summary, on)[index]


def _over_seeds(
    group: Sequence[Run], metric: Metric, part: Callable[[Run], Mapping[str, Any]]
) -> str:
    return with_spread(estimate(metric.value(part(run)) for run in group))


def _name(run: Run) -> str:
    return ", ".join(run.labels.values()) or "all"


def _delays(groups: Sequence[Sequence[Run]], facts: Facts) -> list[Text | Figure | Table]:
    curves: dict[str, pl.DataFrame] = {}
    for group in groups[:MAX_CURVES]:
        buckets = pl.concat([run.histogram("delay_ns") for run in group])
        merged = buckets.group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
        if merged.is_empty():
            continue
        upper = (merged["lower"] + merged["width"]) / 1e6
        curves[_name(group[0])] = cumulative(
            (merged["lower"] / 1e6).to_list(), upper.to_list(), merged["count"].to_list()
        )
    if not curves:
        return []
    axes = ", ".join(groups[0][0].params) or "point"
    chart = cdf(curves, x_title="queue delay, ms", series_title=axes)
    cut = f" The first {MAX_CURVES} points." if len(groups) > MAX_CURVES else ""
    caption = f"Share of packets that waited no longer, first link, seeds together.{cut}"
    return [Figure("delay", "Queue delay", chart, caption, facts)]


def _windows(groups: Sequence[Sequence[Run]], facts: Facts) -> list[Text | Figure | Table]:
    run = groups[0][0] if groups else None
    if run is None:
        return []
    names = [flow["name"] for flow in run.summary["flows"]][:MAX_CURVES]
    frame = (
        run.series()
        .filter(pl.col("quantity") == "cwnd", pl.col("flow").is_in(names))
        .select((pl.col("time_ns") / 1e9).alias("time_s"), "flow", "value")
    )
    if frame.is_empty():
        return []
    drawn, rule = thin(frame, by=["flow"], limit=MAX_ROWS)
    chart = time_series(drawn, y_title="cwnd, segments", order=names)
    where = f"{plain(_name(run))}, seed {run.seed}" if run.params else f"seed {run.seed}"
    caption = f"Congestion window of the first run ({where}){f'; {rule}' if rule else ''}."
    return [Figure("cwnd", "Congestion window", chart, caption, facts)]


def _follows(results: Results) -> str:
    found: dict[str, str] = {}
    for group in results.groups():
        found.update(group[0].manifest["follows"])
    return "\n\n".join(f"**{plain(name)}**: {plain(what)}" for name, what in sorted(found.items()))
