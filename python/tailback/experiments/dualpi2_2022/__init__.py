"""The results published with "Dual Queue Coupled AQM" (Albisser et al. 2022), measured again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback.errors import InputError
from tailback.experiments import ReproduceResult, known_parts
from tailback.experiments.dualpi2_2022.layout import ARCHIVES, MIXED, RUNS, Run, published_runs

#: Groups of runs, by their name on the command line.
GROUPS: Mapping[str, tuple[Run, ...]] = {
    MIXED: tuple(run for run in RUNS if run.archive.kind == MIXED),
    **{a.part: tuple(run for run in RUNS if run.archive == a) for a in ARCHIVES},
}
#: What is no result file: the readings that the source leaves open, one by one.
READINGS = "readings"
PARTS: tuple[str, ...] = (*GROUPS, READINGS)
#: Seeds of each run.
SEEDS = 5


class DualPi2:
    """The experiment."""

    name = "dualpi2-2022"
    title = (
        "Dual Queue Coupled AQM, Deployable Very Low Queuing Delay for All: Albisser and others, "
        "arXiv 2209.01078, 2022"
    )
    doc = "Prague and CUBIC on DualPI2 beside PIE and FQ-CoDel: mixed round-trip times, overload."
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
        from tailback import run_many
        from tailback.experiments.dualpi2_2022 import figures, points, readings, truth
        from tailback.report import write

        runs = _runs(parts)
        if engine != "sim":
            if READINGS in (parts or ()):
                raise InputError(f"{self.name}: {READINGS} is of the simulator; no --engine then")
            runs = [run for run in runs if points.stock(run)]
            if not runs:
                stock = ", ".join(a.part for a in ARCHIVES if a.aqm in points.STOCK)
                raise InputError(
                    f"{self.name}: Linux has no Prague, and DCTCP in its place is not the same; "
                    f"with --engine {engine} expected parts of {stock}"
                )
        if quick:
            runs = points.sample(runs, published_runs().__contains__)
        every = (1 if quick else SEEDS) if seeds is None else seeds
        seconds = points.QUICK_SECONDS if quick else points.SECONDS
        tried = readings.plan(quick=quick, seeds=every) if READINGS in (parts or ()) else []
        results = run_many(
            [
                *(points.job(run, seeds=every, seconds=seconds) for run in runs),
                *(one.job for one in tried),
            ],
            jobs=jobs,
            out=out,
            progress=progress,
            engine=engine,
        )
        own = results[: len(runs)]
        entries = truth.judged(points.entries(runs, own))
        laws = truth.laws(runs, own)
        made = figures.ran(runs, own or results, quick=quick, draw=bool(runs))
        name = self.name if not parts else "-".join((self.name, *chosen))
        report = figures.report(entries, laws, made, name)
        if tried:
            found = readings.measured(tried, results[len(runs) :])
            report = replace(
                report,
                sections=[*readings.sections(found, made.facts), *report.sections],
                files={**report.files, "dualpi2-2022.md": readings.page(found, made.facts)},
            )
        index = write(report, out / "reports" / name)
        return ReproduceResult(
            experiment=self.name,
            engine=engine,
            report_dir=index.parent,
            cells=[entry.json() for entry in entries],
            summary=truth.summary(entries, laws),
        )


def _runs(parts: Sequence[str] | None) -> list[Run]:
    """The runs that these parts need, in the order of the source; without parts all."""
    if not parts:
        return list(RUNS)
    wanted = {run for part in parts for run in GROUPS.get(part, ())}
    return [run for run in RUNS if run in wanted]


EXPERIMENT = DualPi2()
