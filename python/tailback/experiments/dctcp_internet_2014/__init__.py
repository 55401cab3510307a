""" "Using Data Center TCP (DCTCP) in the Internet" (Kühlewind et al. 2014), run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.experiments import ReproduceResult, known_parts

if TYPE_CHECKING:
    import polars as pl

    from tailback.results import Results

#: Every figure and table of the paper, and three beyond it.
PARTS: tuple[str, ...] = (
    "fig1",
    "fig2",
    "fig3",
    "fig5",
    "table1",
    "fig6",
    "fig7",
    "fig8",
    "fig9",
    "fig10",
    "readings",
    "bdp",
    "ablation",
)
#: Seeds of each point; a quick run makes do with the second number.
SEEDS = 3
QUICK_SEEDS = 2


class DctcpInternet2014:
    """The experiment."""

    name = "dctcp-internet-2014"
    title = (
        "Using Data Center TCP (DCTCP) in the Internet: "
        "Kühlewind, Wagner, Reyes Espinosa, Briscoe, 2014"
    )
    doc = (
        "Reno and DCTCP share one queue that drops the one and marks the other: "
        "when do they get the same?"
    )
    parts = PARTS

    def run(
        self,
        parts: Sequence[str] | None,
        *,
        quick: bool,
        seeds: int | None,
        jobs: int | None,
        out: Path,
        progress: bool | None,
        engine: str = "sim",
    ) -> ReproduceResult:
        """Runs the parts, writes the report, compares with the published numbers."""
        chosen = known_parts(parts, PARTS)
        from tailback import Job, run_many
        from tailback.experiments.dctcp_internet_2014 import figures, points
        from tailback.experiments.dctcp_internet_2014.options import OPTIONS, READINGS
        from tailback.report import summarise, write

        readings = [(name, changes) for name, _, changes, brief in READINGS if brief or not quick]
        batches = points.plan(chosen, OPTIONS, readings, quick=quick)
        every = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
        work = [Job(b.scenario, b.set, min(every, b.most_seeds or every)) for b in batches.values()]
        results = run_many(work, jobs=jobs, out=out, progress=progress, engine=engine)
        found = dict(zip(batches, results, strict=True))
        measured = figures.Measured(
            frames={name: points.table(result.points) for name, result in found.items()},
            series={name: _series(r) for name, r in found.items() if name in points.DRAWN},
            lengths={name: points.lengths(b) for name, b in batches.items()},
            engine=engine,
            version=next((r.version for r in results), ""),
            quick=quick,
        )
        builder = figures.Builder(measured)
        report = builder.report(chosen)
        # A part does not take the place of the whole.
        folder = self.name if chosen == PARTS else "-".join((self.name, *chosen))
        index = write(report, out / "reports" / folder)
        return ReproduceResult(
            experiment=self.name,
            engine=engine,
            report_dir=index.parent,
            cells=[cell.json() for cell in report.cells],
            summary=summarise(report.cells),
        )


def _series(results: Results) -> list[pl.DataFrame]:
    """The series of each point's first run, times in seconds."""
    import polars as pl

    return [
        group[0].series().with_columns((pl.col("time_ns") / 1e9).alias("time_s"))
        for group in results.groups()
    ]


EXPERIMENT = DctcpInternet2014()
