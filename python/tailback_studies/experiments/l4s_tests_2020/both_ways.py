"""S4: four flows in each direction at asymmetric rates (rrul_be). The publication shows S4 only as
plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tailback.metrics.statistics import estimate
from tailback.report import Block, Facts, ReportFigure, Table, Value
from tailback.report.tables import left, right
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import charts
from tailback_studies.experiments.l4s_tests_2020.layout import WORDS
from tailback_studies.experiments.l4s_tests_2020.points import CCS, QUEUES
from tailback_studies.reproduction.shown import with_half
from tailback_studies.reproduction.sources import scenario

# Each entry contains the upload and the download rate (in Mbit/s), and pfifo's limits at these
# rates (in packets).
RATES = (((1, 10), (20, 200)), ((1, 20), (20, 400)), ((5, 100), (100, 1000)))
RTTS_MS = (20, 80)


@dataclass(frozen=True)
class BothWaysCase:
    """A run of S4, with its rates in both directions and its base RTT."""

    cc: str
    queue: str
    up_mbit: int
    down_mbit: int
    limits: tuple[int, int]
    rtt_ms: int

    @property
    def where(self) -> str:
        return f"{self.up_mbit} up, {self.down_mbit} down Mbit/s, {self.rtt_ms} ms"


CASES: tuple[BothWaysCase, ...] = tuple(
    BothWaysCase(cc, queue, rates[0], rates[1], limits, rtt)
    for rates, limits in RATES
    for rtt in RTTS_MS
    for cc in ("cubic", "prague")
    for queue in ("fq_codel", "dualpi2", "pfifo")
)
# The runs of `--quick`.
QUICK: tuple[BothWaysCase, ...] = tuple(c for c in CASES if (c.down_mbit, c.rtt_ms) == (10, 20))


def job(case: BothWaysCase, *, seeds: int) -> Job:
    """Return the job that runs the scenario that `made` returns."""
    return Job(made(case), {}, seeds)


def made(case: BothWaysCase) -> dict[str, Any]:
    """Return the scenario that reproduces a run of the publication."""
    out = scenario(__package__, "s4")
    links = (("up", case.up_mbit, case.limits[0]), ("down", case.down_mbit, case.limits[1]))
    for name, rate, limit in links:
        link = out["links"][name]
        link["rate"] = f"{rate}Mbit"
        if case.queue == "pfifo":
            link["queue"] = {"aqm": "fifo", "limit": f"{limit}p"}
        else:
            link["queue"] = dict(QUEUES[case.queue])
    out["path"]["rtt"] = f"{case.rtt_ms}ms"
    options = CCS.get(case.cc)
    for flow in out["flows"]:
        flow["cc"] = {"name": case.cc, **options} if options else case.cc
    return out


def _rates(result: Results, name: str) -> list[float | None]:
    """Return for each seed the total throughput (in Mbit/s) of the flows in one direction."""
    return [
        sum(
            flow["throughput_mbit"] or 0.0
            for flow in run.summary["flows"]
            if flow["name"].startswith(f"{name}/")
        )
        for run in result
    ]


def probe_ms(result: Results, rtt_ms: int) -> list[float | None]:
    """Return for each seed the mean round-trip time (in ms) of the probes.

    A probe's round-trip time is the base RTT plus the queueing delay of both directions.
    """
    out: list[float | None] = []
    for run in result:
        delays = [entry["delay_ms"]["mean"] for entry in run.summary["classes"]]
        known = [delay for delay in delays if delay is not None]
        out.append(rtt_ms + sum(known) if len(known) == len(delays) else None)
    return out


def blocks(cases: Sequence[BothWaysCase], results: Sequence[Results], facts: Facts) -> list[Block]:
    """Show the throughput of each direction, and the round-trip time of probes."""
    if not cases:
        return []
    rows: list[list[Value]] = []
    dots = []
    for case, result in zip(cases, results, strict=True):
        probe = estimate(probe_ms(result, case.rtt_ms))
        rows.append(
            [
                case.where,
                WORDS[case.cc],
                case.queue,
                with_half(estimate(_rates(result, "up")), 2),
                with_half(estimate(_rates(result, "down")), 2),
                with_half(probe, 1),
            ]
        )
        dots.append(
            {
                "panel": case.where,
                "place": case.queue,
                "series": WORDS[case.cc],
                "value": probe.mean,
            }
        )
    return [*_figure(dots, facts), _table(rows, facts)]


def _figure(dots: Sequence[dict[str, Any]], facts: Facts) -> Iterator[ReportFigure]:
    frame = pl.DataFrame(dots).drop_nulls()
    if frame.is_empty():
        return
    chart = charts.beside(
        frame,
        panels=list(dict.fromkeys(frame["panel"].to_list())),
        order=("fq_codel", "dualpi2", "pfifo"),
        series=[WORDS["cubic"], WORDS["prague"]],
        y_title="round trip of the probe, ms",
        x_title="",
    )
    caption = "Mean round-trip time of the probes, which includes the queues of both directions."
    yield ReportFigure("s4", "S4: what a probe waits", chart, caption, facts)


def _table(rows: list[list[Value]], facts: Facts) -> Table:
    columns = [
        *left("", "congestion control", "queue"),
        *right("four flows up, Mbit/s", "four flows down, Mbit/s", "probe, ms"),
    ]
    caption = (
        "Four flows in each direction. The probe sends 20 packets of 100 bytes a second in each "
        "direction; its round-trip time is the base round-trip time plus the queueing delay in "
        "both directions. The publication has plots of these runs and no numbers."
    )
    return Table("s4", "S4: both directions", columns, rows, caption, facts)
