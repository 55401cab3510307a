"""Repeats "Alternative Backoff: Achieving Low Latency and High Throughput with ECN and AQM"
(2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailback_studies.experiments.abe_2017.layout import PARTS, kernel_only
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study


class Abe2017(Reproduction):
    """The experiment `abe-2017`."""

    name = "abe-2017"
    title = TITLES["abe-2017"]
    doc = "How much a sender gains, and others lose, if it backs off less on marks than on losses."
    parts: Sequence[str] = tuple(PARTS)

    def study(self, request: Request) -> Study:
        """Plan the runs of the requested parts of the experiment. On Linux, leave out runs that
        only the simulator can run."""
        if request.engine != "sim":
            request = replace(request, parts=kernel_only(request.parts, request.named, self.name))
        from tailback.report import summarise
        from tailback_studies.experiments.abe_2017 import measured, page, report, truth
        from tailback_studies.experiments.abe_2017.cells import cells

        plans = measured.plan(request)

        def findings(results: Found) -> Findings:
            found = measured.measured(plans, results)
            verdicts, numbers = truth.verdicts(found), cells(found)
            plan_facts = report.ran(results)
            written = report.report(found, verdicts, numbers, plan_facts, quick=request.quick)
            told = [{**cell.json(), "predicted": predicted} for cell, predicted in numbers]
            summary = summarise([cell for cell, _ in numbers])
            summary += [verdict.json() for verdict in verdicts]
            judges = [verdict.judge() for verdict in verdicts]
            note = page.page(written, verdicts, plan_facts) if request.page else None
            return Findings(written, told, summary, judges, note)

        return Study({name: [job for _, job in own] for name, own in plans.items()}, findings)


EXPERIMENT = Abe2017()
