"""Measures again the results that were published with "Dual Queue Coupled AQM" (Albisser et al.
2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tailback.errors import InputError
from tailback_studies.experiments.dualpi2_2022.layout import (
    ARCHIVES,
    MIXED,
    OVERLOAD,
    RUNS,
    Run,
    published_runs,
)
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

if TYPE_CHECKING:
    from tailback_studies.experiments.dualpi2_2022.on_linux import OnLinux

# Parts of the experiment by their names on the command line. Each part is a group of runs.
GROUPS: Mapping[str, tuple[Run, ...]] = {
    **{kind: tuple(run for run in RUNS if run.archive.kind == kind) for kind in (MIXED, OVERLOAD)},
    **{a.part: tuple(run for run in RUNS if run.archive == a) for a in ARCHIVES},
}
# A part of the experiment without a published result file. This part varies details that the
# publication does not state, one at a time.
READINGS = "readings"
PARTS: tuple[str, ...] = (*GROUPS, READINGS)
# Number of seeds of each run. `--quick` uses one seed.
SEEDS = 5


class DualPi2(Reproduction):
    """The experiment `dualpi2-2022`."""

    name = "dualpi2-2022"
    title = TITLES["dualpi2-2022"]
    doc = "Prague and CUBIC on DualPI2 beside PIE and FQ-CoDel: mixed round-trip times, overload."
    parts = PARTS

    def study(self, request: Request) -> Study:
        """Plan the publication's runs.

        On request, also plan runs with alternative values for details that the
        publication does not state.
        """
        from tailback_studies.experiments.dualpi2_2022 import (
            law,
            on_linux,
            page,
            points,
            readings,
            report,
            truth,
        )
        from tailback_studies.reproduction.page import Page
        from tailback_studies.reproduction.readings import BASELINE

        runs: Sequence[Run] = self._runs(request)
        refused: Sequence[Run] = ()
        variant = points.AS_PUBLISHED
        if request.engine != "sim":
            played = self._on_linux(runs, request)
            runs, refused, variant = played.runs, played.refused, played.variant
        every = request.seeds_or(SEEDS, quick=1)
        quick = request.quick
        seconds = points.QUICK_SECONDS if quick else points.SECONDS
        tried = readings.plan(quick=quick) if request.named_part(READINGS) else {}
        # The publication's runs include the baseline, so do not run the baseline twice.
        shared = bool(runs) and set(tried.get(BASELINE, ())) <= set(runs)

        def findings(results: Found) -> Findings:
            run_results = results["runs"]
            if shared:
                by_run = dict(zip(runs, run_results, strict=True))
                results = {**results, BASELINE: [by_run[run] for run in tried.get(BASELINE, ())]}
            entries = truth.judged(points.entries(runs, run_results))
            laws = law.laws(runs, run_results)
            every_result = [result for group in results.values() for result in group]
            basis = report.ran(runs, run_results or every_result, quick=quick, draw=bool(runs))
            without = points.entries(refused, [[] for _ in refused])
            written = report.report(entries, laws, basis, without)
            its_page = None
            if tried:
                found = readings.measured(tried, results)
                sections = page.sections(entries, found, laws, runs, run_results, basis.facts)
                its_page = Page(page.TITLE, page.LEAD, sections, basis.facts)
                of_page = {section.id for section in sections}
                rest = [s for s in written.sections if s.id not in of_page]
                written = replace(written, sections=[*sections, *rest])
            cells = [entry.json() for entry in entries]
            cells += [on_linux.json(entry) for entry in without]
            judges = truth.judged_goals(entries)
            return Findings(written, cells, truth.summary(entries, laws), judges, its_page)

        own = [points.job(run, seeds=every, seconds=seconds, variant=variant) for run in runs]
        more = readings.jobs(tried, quick=quick, seeds=every)
        if shared:
            more.pop(BASELINE, None)
        return Study({"runs": own, **more}, findings)

    def _runs(self, request: Request) -> list[Run]:
        """Return the runs of the requested parts of the experiment, in the order of the
        publication."""
        wanted = {run for part in request.parts for run in GROUPS.get(part, ())}
        runs = [run for run in RUNS if run in wanted or not request.named]
        if request.engine != "sim" and request.named_part(READINGS):
            raise InputError(f"{self.name}: only the simulator runs {READINGS}; omit --engine")
        if request.quick or request.published:
            return [run for run in runs if run in published_runs()]
        return runs

    def _on_linux(self, runs: Sequence[Run], request: Request) -> OnLinux:
        """Separate the runs that Linux can execute from the other runs. Raise an error if Linux
        cannot execute any of the runs."""
        from tailback_studies.experiments.dualpi2_2022 import on_linux, points

        played = on_linux.divide(runs)
        if not played.runs:
            stock = ", ".join(a.part for a in ARCHIVES if a.aqm in points.STOCK)
            raise InputError(
                f"{self.name}: {on_linux.REASON}; "
                f"use parts of {stock} with --engine {request.engine}"
            )
        return played


EXPERIMENT = DualPi2()
