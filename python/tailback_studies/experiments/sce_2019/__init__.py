"""Repeats "Some Congestion Experienced One and Two-Flow Tests" (Heist, Grimes, Morton 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tailback.errors import InputError
from tailback_studies.experiments.sce_2019.layout import MODES, SETUPS, TABLES, SceSetup, TableId
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

# The parts, which are groups of tables, by their names on the command line.
GROUPS: Mapping[str, tuple[TableId, ...]] = {
    "one-flow": tuple(t for t in TABLES.values() if t.setup.kind == "one-flow"),
    "two-flow": tuple(t for t in TABLES.values() if t.setup.kind == "two-flow"),
    "flowblind": tuple(t for t in TABLES.values() if t.setup.mode == MODES[0]),
    "sce-single": tuple(t for t in TABLES.values() if t.setup.mode == MODES[1]),
    "fair-queued": tuple(t for t in TABLES.values() if t.setup.mode == MODES[2]),
    "jain": tuple(t for t in TABLES.values() if t.quantity == "jain"),
}
# A part that the publication does not have. In each run of this part, one mechanism of the model is
# switched off.
ABLATION = "ablation"
PARTS: tuple[str, ...] = (*GROUPS, ABLATION, *(table.part for table in TABLES.values()))
# Number of seeds of each table cell.
SEEDS = 1
PAGE_SEEDS = 5


class Sce2019(Reproduction):
    """The experiment `sce-2019`."""

    name = "sce-2019"
    title = TITLES["sce-2019"]
    doc = "Throughput and RTT of one and two flows through Cake, with and without SCE."
    parts = PARTS

    def study(self, request: Request) -> Study:
        """Plan the runs of the requested tables, and the runs in which a single mechanism is
        switched off."""
        from tailback_studies.experiments.sce_2019 import ablation, page, points, report, truth

        every = request.seeds_or(PAGE_SEEDS if request.page else SEEDS)
        quick = request.quick
        ablate = request.named_part(ABLATION)
        wanted = _tables(request)
        setups = self._setups(request, wanted)
        places = points.sample(setups) if quick else points.every(setups)
        batches = points.plan(places, seeds=every, engine=request.engine)
        tried = ablation.plan(quick=quick, seeds=request.seeds_or(ablation.SEEDS)) if ablate else {}
        before = page.first(seeds=every) if request.page else []

        def findings(results: Found) -> Findings:
            tables = [t for t in wanted if t.setup in setups]
            entries = points.entries(tables, batches, results["cells"])
            facts = report.ran(results["cells"], options=points.options_told())
            written = report.report(entries, facts, quick=quick)
            note = None
            if tried:
                every_try = [result for name in tried for result in results[name]]
                told = report.ran(every_try, options=points.options_told())
                sections = ablation.sections(ablation.measured(tried, results), told)
                if request.page:
                    first = points.entries(wanted, before, results["first"])
                    note = page.page(written, page.merged(entries, first), sections, facts, told)
                written = replace(written, sections=[*sections, *written.sections])
            cells = [entry.json() for entry in entries]
            return Findings(written, cells, truth.summary(entries), truth.judges(entries), note)

        groups = {"cells": batches, "first": before, **tried}
        return Study({name: [b.job for b in own] for name, own in groups.items()}, findings)

    def _setups(self, request: Request, tables: list[TableId]) -> list[SceSetup]:
        """Return the set-ups of these tables, in the order of the publication."""
        from tailback_studies.experiments.sce_2019 import points

        setups = [s for s in SETUPS if s in {t.setup for t in tables}]
        if request.engine != "sim":
            if request.named_part(ABLATION):
                raise InputError(
                    f"{self.name}: only the simulator runs {ABLATION}; remove --engine"
                )
            setups = [s for s in setups if points.stock(s)]
            if not setups:
                raise InputError(
                    f"{self.name}: Linux has no SCE; use tables of "
                    f"{', '.join(points.STOCK)} without sce-single with --engine {request.engine}"
                )
        return setups


def _tables(request: Request) -> list[TableId]:
    """Return the tables of these parts of the experiment, by number. Without names of parts, return
    all tables."""
    if not request.named:
        return list(TABLES.values())
    numbers = {t.number for part in request.parts for t in GROUPS.get(part, ())}
    return [t for t in TABLES.values() if t.number in numbers or t.part in request.parts]


EXPERIMENT = Sce2019()
