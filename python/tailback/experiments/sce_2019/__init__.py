""" "Some Congestion Experienced One and Two-Flow Tests" (Heist, Grimes, Morton 2019), run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback.errors import InputError
from tailback.experiments import ReproduceResult, known_parts
from tailback.experiments.sce_2019.layout import MODES, SETUPS, TABLES, TableId

#: Groups of tables, by their name on the command line.
GROUPS: Mapping[str, tuple[TableId, ...]] = {
    "one-flow": tuple(t for t in TABLES.values() if t.setup.kind == "one-flow"),
    "two-flow": tuple(t for t in TABLES.values() if t.setup.kind == "two-flow"),
    "flowblind": tuple(t for t in TABLES.values() if t.setup.mode == MODES[0]),
    "sce-single": tuple(t for t in TABLES.values() if t.setup.mode == MODES[1]),
    "fair-queued": tuple(t for t in TABLES.values() if t.setup.mode == MODES[2]),
    "jain": tuple(t for t in TABLES.values() if t.quantity == "jain"),
}
#: What is no table: the mechanisms, switched off one by one.
ABLATION = "ablation"
PARTS: tuple[str, ...] = (*GROUPS, ABLATION, *(table.part for table in TABLES.values()))
#: Seeds of each point.
SEEDS = 1


class Sce2019:
    """The experiment."""

    name = "sce-2019"
    title = (
        "Some Congestion Experienced One and Two-Flow Tests: Heist, Grimes, Morton, "
        "draft-heist-tsvwg-sce-one-and-two-flow-tests-00, 2019"
    )
    doc = "What one and two flows get through Cake, with and without SCE, at many rates and delays."
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
        from tailback.experiments.sce_2019 import ablation, figures, points, truth
        from tailback.report import write

        every = SEEDS if seeds is None else seeds
        wanted = _tables(parts)
        setups = [s for s in SETUPS if s in {t.setup for t in wanted}]
        if engine != "sim":
            setups = [s for s in setups if points.stock(s)]
            if ABLATION in (parts or ()):
                raise InputError(f"{self.name}: {ABLATION} is of the simulator; no --engine then")
            if not setups:
                raise InputError(
                    f"{self.name}: Linux has no SCE; with --engine {engine} expected tables of "
                    f"{', '.join(points.STOCK)} without sce-single"
                )
        places = points.sample(setups) if quick else points.every(setups)
        batches = points.plan(places, seeds=every, engine=engine)
        tried = ablation.plan(quick=quick, seeds=every) if ABLATION in (parts or ()) else {}
        flat = [batch for own in tried.values() for batch in own]
        results = run_many(
            [batch.job for batch in (*batches, *flat)],
            jobs=jobs,
            out=out,
            progress=progress,
            engine=engine,
        )
        tables = [t for t in wanted if t.setup in setups]
        entries = points.entries(tables, batches, results[: len(batches)])
        made = figures.ran(results, quick=quick, options=points.options_told())
        name = self.name if not parts else "-".join((self.name, *chosen))
        report = figures.report(entries, made, name)
        if tried:
            found = ablation.measured(tried, results[len(batches) :])
            report = replace(
                report,
                sections=[*ablation.sections(found, made.facts), *report.sections],
                files={**report.files, "sce-2019.md": ablation.page(found, made.facts)},
            )
        index = write(report, out / "reports" / name)
        return ReproduceResult(
            experiment=self.name,
            engine=engine,
            report_dir=index.parent,
            cells=[entry.json() for entry in entries],
            summary=truth.summary(entries),
        )


def _tables(parts: Sequence[str] | None) -> list[TableId]:
    """The tables that these parts need, by number; without parts all."""
    if not parts:
        return list(TABLES.values())
    numbers = {t.number for part in parts for t in GROUPS.get(part, ())}
    return [t for t in TABLES.values() if t.number in numbers or t.part in parts]


EXPERIMENT = Sce2019()
