"""Repeats the L4S tests of heistp/l4s-tests (2020)."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.errors import InputError
from tailback_studies.experiments.l4s_tests_2020.causes import NOT_RUN
from tailback_studies.experiments.l4s_tests_2020.layout import ROWS, L4sRow, published_names
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

# The publication's scenarios. Each scenario is a part of the experiment that a user can request.
TABLES: tuple[str, ...] = ("s1", "s2", "s3", "s4", "s6")
# A part of the experiment that is not in the publication. This part varies details that the
# publication does not state, one at a time.
READINGS = "readings"
PARTS: tuple[str, ...] = (*TABLES, READINGS)
# Number of seeds of each published row. `--quick` and the curves of S2 and S3 use one seed.
SEEDS = 5


class L4sTests(Reproduction):
    """The experiment `l4s-tests-2020`."""

    name = "l4s-tests-2020"
    title = TITLES["l4s-tests-2020"]
    doc = "Prague and CUBIC by round-trip time and queue; in queues of RFC 3168; at rate steps."
    parts = PARTS
    not_run = NOT_RUN

    def study(self, request: Request) -> Study:
        """Plan the requested published rows of scenarios S1 and S6, and the runs of S2 to S4."""
        from tailback.report import Section
        from tailback.running.batch import Job
        from tailback_studies.experiments.l4s_tests_2020 import (
            both_ways,
            points,
            readings,
            report,
            steps,
            truth,
        )

        quick = request.quick
        every = request.seeds_or(SEEDS, quick=1)
        rows = self._rows(request)
        stepped = {
            table: list(steps.quick(table) if quick else steps.cases(table))
            for table in ("s2", "s3")
            if table in request.parts
        }
        tried = readings.jobs() if request.named_part(READINGS) else {}
        both = (both_ways.QUICK if quick else both_ways.CASES) if "s4" in request.parts else ()
        if request.engine != "sim":
            stepped = {t: [c for c in cases if c.cc != "prague"] for t, cases in stepped.items()}
            both = tuple(case for case in both if case.cc != "prague")

        def findings(results: Found) -> Findings:
            facts = report.ran(results["rows"], quick=quick)
            entries = truth.judged(points.entries(rows, results["rows"]))
            two, three, four = (results.get(table, []) for table in ("s2", "s3", "s4"))
            drawn = {
                "s2": steps.blocks_s2(stepped.get("s2", []), two, report.drawn(two)),
                "s3": steps.blocks_s3(stepped.get("s3", []), three, report.drawn(three)),
                "s4": both_ways.blocks(both, four, report.drawn(four, "5 s")),
            }
            extra = [Section(t, TITLES[t], blocks) for t, blocks in drawn.items() if blocks]
            if tried:
                found = readings.measured(entries, results)
                extra.insert(0, readings.section(found, report.drawn(results["jitter"])))
            written = report.report(entries, extra, facts, quick=quick)
            page = report.page(entries, extra, facts) if request.page else None
            cells = [entry.json() for entry in entries]
            return Findings(written, cells, truth.summary(entries), truth.judges(entries), page)

        jobs: dict[str, list[Job]] = {
            "rows": [points.job(row, seeds=every, quick=quick) for row in rows],
            **{table: [steps.job(case) for case in cases] for table, cases in stepped.items()},
            **tried,
            "s4": [both_ways.job(case, seeds=every) for case in both],
        }
        return Study(jobs, findings)

    def _rows(self, request: Request) -> Sequence[L4sRow]:
        """Return the requested published rows of S1 and S6, in the order of the publication."""
        from tailback_studies.experiments.l4s_tests_2020 import points

        # The alternatives are compared with these published rows.
        wanted = {*request.parts, *(("s1", "s6") if request.named_part(READINGS) else ())}
        rows = [row for row in ROWS if row.table in wanted]
        if request.engine != "sim":
            if request.named_part(READINGS):
                raise InputError(
                    f"{self.name}: only the simulator runs {READINGS}; remove --engine"
                )
            rows = [row for row in rows if points.stock(row)]
            if request.parts == ("s6",):
                raise InputError(
                    f"{self.name}: Linux has no Prague, and every row of s6 has one; "
                    f"use other parts with --engine {request.engine}, which runs their CUBIC rows"
                )
        if request.quick or request.published:
            rows = [row for row in rows if (row.table, row.name) in published_names()]
        return rows


TITLES = {
    "s2": "S2: a rate step",
    "s3": "S3: variable rates",
    "s4": "S4: both directions at once",
}

EXPERIMENT = L4sTests()
