""" "Some Congestion Experienced One and Two-Flow Tests" (Heist, Grimes, Morton 2019), run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailback.errors import InputError
from tailback.experiments import ReproduceResult
from tailback.names import unknown

#: So far: the tables of single flows of CUBIC, Reno and DCTCP.
PARTS: tuple[str, ...] = ("one-flow",)
#: Seeds of each point. A single flow through one FIFO has hardly any noise.
SEEDS = 1


class Sce2019:
    """The experiment."""

    name = "sce-2019"
    title = (
        "Some Congestion Experienced One and Two-Flow Tests: Heist, Grimes, Morton, "
        "draft-heist-tsvwg-sce-one-and-two-flow-tests-00, 2019"
    )
    doc = "What CUBIC, Reno and DCTCP get through Cake at eight rates and eight delays."
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
        for part in parts or ():
            if part not in PARTS:
                raise InputError(unknown("part", part, PARTS))
        if engine == "sim":
            raise InputError(
                f'{self.name}: engine "{engine}" has no Cake, which every part needs; '
                "expected --engine kernel"
            )
        from tailback import Job, run_many
        from tailback.experiments.sce_2019 import figures, points
        from tailback.report import summarise, write

        scenario = points.scenario(quick=quick)
        work = [Job(scenario, {}, SEEDS if seeds is None else seeds)]
        (results,) = run_many(work, jobs=jobs, out=out, progress=progress, engine=engine)
        cells = points.cells(results.points)
        report = figures.report(cells, results, quick=quick)
        folder = "-".join((self.name, *PARTS))
        index = write(report, out / "reports" / folder)
        listed = points.as_listed(cells)
        return ReproduceResult(
            experiment=self.name,
            engine=engine,
            report_dir=index.parent,
            cells=[cell.json() for cell in listed],
            summary=[*summarise(listed), *points.summary_by_cc(cells)],
        )


EXPERIMENT = Sce2019()
