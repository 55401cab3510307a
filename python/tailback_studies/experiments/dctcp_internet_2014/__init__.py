"""Repeats "Using Data Center TCP (DCTCP) in the Internet" (Kühlewind et al. 2014)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailback_studies.experiments.dctcp_internet_2014.parts import BEYOND, PARTS
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

if TYPE_CHECKING:
    import polars as pl

    from tailback.store.results import Results
    from tailback_studies.experiments.dctcp_internet_2014.points import DctcpBatch

# Number of seeds of each point. The documentation page uses `PAGE_SEEDS` seeds, and a quick run
# uses `QUICK_SEEDS` seeds.
SEEDS = 3
PAGE_SEEDS = 5
QUICK_SEEDS = 2


class DctcpInternet2014(Reproduction):
    """The experiment `dctcp-internet-2014`."""

    name = "dctcp-internet-2014"
    title = TITLES["dctcp-internet-2014"]
    doc = (
        "Reno and DCTCP share one queue that drops Reno's packets and marks DCTCP's: when do they "
        "get the same rate?"
    )
    parts = PARTS

    def study(self, request: Request) -> Study:
        """Plan the batches of runs that the requested parts of the experiment need."""
        from tailback.report import summarise
        from tailback.running.batch import Job
        from tailback_studies.experiments.dctcp_internet_2014 import (
            beside,
            builder,
            page,
            points,
            report,
        )
        from tailback_studies.experiments.dctcp_internet_2014.options import OPTIONS, READINGS

        quick, on_linux = request.quick, request.engine != "sim"
        parts = request.parts
        if on_linux and not request.named:
            parts = tuple(part for part in parts if part not in BEYOND)
        readings = [(name, changes) for name, _, changes, brief in READINGS if brief or not quick]
        batches = points.plan(parts, OPTIONS, readings, quick=quick, engine=request.engine)
        every = request.seeds_or(PAGE_SEEDS if request.page else SEEDS, QUICK_SEEDS)
        refused = beside.refused(batches, request.engine) if on_linux else {}
        batches = {name: batch for name, batch in batches.items() if name not in refused}

        def findings(results: Found) -> Findings:
            by_batch = {name: result for name, (result, *_) in results.items()}
            measured = builder.DctcpMeasures(
                frames={name: points.table(result.points) for name, result in by_batch.items()},
                series={n: _series(result) for n, result in by_batch.items() if n in points.DRAWN},
                lengths={name: points.lengths(batch) for name, batch in batches.items()},
                engine=request.engine,
                version=next((result.version for result in by_batch.values()), ""),
                quick=quick,
                simulated={
                    name: points.table(both[1].points)
                    for name, both in results.items()
                    if len(both) > 1
                },
                refused=refused,
            )
            builder_of = builder.Builder(measured)
            made = report.report(builder_of, parts)
            cells = beside.with_simulated(made.cells, measured)
            told = page.judges(made.cells)
            note = page.page(made, builder_of.by_part()) if request.page else None
            return Findings(made, cells, summarise(made.cells), told, note)

        def jobs(batch: DctcpBatch) -> list[Job]:
            seeds = _seeds(every, batch, request)
            here = Job(batch.scenario, batch.set, seeds)
            # On Linux, the same batch also runs in the simulator, for comparison.
            return [here, replace(here, engine="sim")] if on_linux else [here]

        return Study({name: jobs(batch) for name, batch in batches.items()}, findings)


def _seeds(every: int, batch: DctcpBatch, request: Request) -> int:
    """Return the number of seeds of a batch. A batch may limit this number. For the documentation
    page, ignore the batch's limit unless it is one seed.
    """
    most = batch.most_seeds or every
    return every if request.page and most > 1 else min(every, most)


def _series(results: Results) -> list[pl.DataFrame]:
    """Return the series of the first run of each point, with times in seconds."""
    import polars as pl

    return [
        group[0].series().with_columns((pl.col("time_ns") / 1e9).alias("time_s"))
        for group in results.groups()
    ]


EXPERIMENT = DctcpInternet2014()
