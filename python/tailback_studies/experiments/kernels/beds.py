"""Repeats runs of two published experiments on an old and on a new kernel. Of the runs that
unpatched Linux supports, this module chooses those whose names have the smallest hashes. Choosing
runs by hash avoids selecting only runs with good results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Facts, Section, Table, Text, Value
from tailback.report.tables import left, right
from tailback.running.batch import Job
from tailback_studies.experiments.dualpi2_2022 import points as dualpi2
from tailback_studies.experiments.dualpi2_2022.layout import RUNS, Run
from tailback_studies.experiments.sce_2019 import points as sce
from tailback_studies.experiments.sce_2019.layout import SETUPS, SceSetup
from tailback_studies.reproduction import shown
from tailback_studies.reproduction.entries import Entry

if TYPE_CHECKING:
    from tailback.store.results import Results

SCE_CELLS = 24
DUALPI2_RUNS = 6
QUICK_CELLS, QUICK_RUNS = 3, 1


def drawn(names: Iterable[str], count: int) -> list[str]:
    """Return the `count` names with the smallest hashes."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:count]


# --- sce-2019 ---------------------------------------------------------------------------------


def sce_places(*, quick: bool) -> dict[SceSetup, list[sce.Place]]:
    """Choose rates and delays of sce-2019 for runs with one flow of CUBIC, Reno or DCTCP."""
    alone = [s for s in SETUPS if s.kind == "one-flow" and sce.stock(s)]
    every = {
        f"{setup.ccs[0]} {rate:g} {delay:g}": (setup, (rate, delay))
        for setup, places in sce.every(alone).items()
        for rate, delay in places
    }
    out: dict[SceSetup, list[sce.Place]] = {}
    for name in drawn(every, QUICK_CELLS if quick else SCE_CELLS):
        setup, place = every[name]
        out.setdefault(setup, []).append(place)
    return {setup: sorted(out[setup]) for setup in alone if setup in out}


def sce_jobs(kernels: Sequence[str], *, quick: bool) -> list[Job]:
    """Return the jobs of sce-2019 for each kernel.

    The jobs have one seed, because the authors ran each test once.
    """
    batches = sce.plan(sce_places(quick=quick), seeds=1, engine="kernel")
    return [
        Job(batch.job.scenario, {"kernel": kernel}, 1) for kernel in kernels for batch in batches
    ]


# --- dualpi2-2022 -----------------------------------------------------------------------------


def dualpi2_runs(*, quick: bool) -> list[Run]:
    """Choose runs of dualpi2-2022: half with PIE and half with FQ-CoDel."""
    out: list[Run] = []
    for aqm in dualpi2.STOCK:
        runs = {
            f"{run.archive.name} {run.rtt_ecn} {run.rtt_nonecn} {run.flows} {run.udp}": run
            for run in RUNS
            if run.archive.aqm == aqm
        }
        count = QUICK_RUNS if quick else DUALPI2_RUNS // len(dualpi2.STOCK)
        out += [runs[name] for name in drawn(runs, count)]
    return out


def dualpi2_jobs(kernels: Sequence[str], *, quick: bool) -> list[Job]:
    """Return the jobs of dualpi2-2022 for each kernel, with one seed."""
    seconds = dualpi2.QUICK_SECONDS if quick else dualpi2.SECONDS
    made = [dualpi2.job(run, seeds=1, seconds=seconds) for run in dualpi2_runs(quick=quick)]
    # Let the qdisc fq pace the packets. TCP's own pacing sends TSO packets of several segments,
    # which the bottleneck's queue does not split.
    own = {"tcp.pacing": "fq"}
    return [Job(job.scenario, {"kernel": kernel, **own}, 1) for kernel in kernels for job in made]


# --- comparison with published values -------------------------------------------------------------


@dataclass(frozen=True)
class Bed:
    """The results of a published experiment on each kernel."""

    name: str
    entries: Mapping[str, Sequence[Entry]]
    """Entries by kernel. All kernels have the same values in the same order."""


def sce_bed(kernels: Sequence[str], results: Sequence[Results], *, quick: bool) -> Bed:
    """Return the results of sce-2019."""
    places = sce_places(quick=quick)
    batches = sce.plan(places, seeds=1, engine="kernel")
    tables = sce.tables_of(places)
    return Bed(
        "sce-2019",
        {
            kernel: sce.entries(tables, batches, own)
            for kernel, own in _by_kernel(kernels, results).items()
        },
    )


def dualpi2_bed(kernels: Sequence[str], results: Sequence[Results], *, quick: bool) -> Bed:
    """Return the rate ratio and the mean delays and rates of dualpi2-2022."""
    runs = dualpi2_runs(quick=quick)
    kept = ("rate_ratio", "qs_ecn_mean", "qs_nonecn_mean", "rpf_ecn_mean", "rpf_nonecn_mean")
    return Bed(
        "dualpi2-2022",
        {
            kernel: [e for e in dualpi2.entries(runs, own) if e.column in kept]
            for kernel, own in _by_kernel(kernels, results).items()
        },
    )


def _by_kernel(kernels: Sequence[str], results: Sequence[Results]) -> dict[str, list[Results]]:
    each = len(results) // len(kernels)
    return {kernel: list(results[i * each : (i + 1) * each]) for i, kernel in enumerate(kernels)}


def section(bed: Bed, lead: str, facts: Facts) -> Section:
    """Compare the results of each kernel with the published values, and show the errors by
    quantity."""
    return Section(bed.name, bed.name, [Text(lead), _nearer(bed, facts), _cells(bed, facts)])


def _nearer(bed: Bed, facts: Facts) -> Table:
    """Show the errors of each kernel and quantity."""
    rows: list[list[Value]] = []
    first = next(iter(bed.entries.values()))
    quantities = dict.fromkeys(entry.cell.quantity for entry in first)
    for quantity in quantities:
        for kernel, entries in bed.entries.items():
            sizes = [
                abs(e.cell.relative)
                for e in entries
                if e.cell.quantity == quantity and e.cell.relative is not None
            ]
            if sizes:
                rows.append(
                    [
                        quantity,
                        f"Linux {kernel}",
                        len(sizes),
                        shown.size(median(sizes), "relative"),
                        shown.size(nearest_rank(sizes, 0.9), "relative"),
                    ]
                )
    columns = [*left("quantity", "kernel"), *right("values", "median error", "90th percentile")]
    return Table(f"{bed.name}-errors", "Against the published numbers", columns, rows, "", facts)


def _cells(bed: Bed, facts: Facts) -> Table:
    rows: list[list[Value]] = []
    for together in zip(*bed.entries.values(), strict=True):
        cell = together[0].cell
        values = [e.cell.measured for e in together]
        rows.append(
            [
                cell.id,
                cell.quantity,
                None if cell.published is None else f"{cell.published:.4g}",
                *(None if value is None else f"{value:.4g}" for value in values),
            ]
        )
    columns = [
        *left("value", "quantity"),
        *right("published", *(f"Linux {kernel}" for kernel in bed.entries)),
    ]
    return Table(f"{bed.name}-cells", "Every value", columns, rows, "", facts)
