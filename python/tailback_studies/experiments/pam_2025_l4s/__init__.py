"""Repeats Sarpkaya, Fund and Panwar (PAM 2025). Prague and classic flows compete in nine queues."""

from __future__ import annotations

from tailback.errors import InputError
from tailback_studies.experiments.pam_2025_l4s.causes import NOT_RUN
from tailback_studies.experiments.pam_2025_l4s.layout import QUICK_BDP, ROWS, PamRow, known_rows
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

# Parts with published results. For each competitor, there is a part in which a Prague flow competes
# with a flow of this competitor at an RTT of 10 ms. The other parts run BBRv3 at an RTT of 2 ms,
# and several flows of Prague or CUBIC.
TABLES: tuple[str, ...] = tuple(dict.fromkeys(row.part for row in ROWS))
# A part that the publication does not have. This part varies details that the publication does not
# state, one at a time.
READINGS = "readings"
PARTS: tuple[str, ...] = (*TABLES, READINGS)
# Number of seeds of each published row. `--quick` uses one seed.
SEEDS = 2


class Pam(Reproduction):
    """The experiment `pam-2025-l4s`."""

    name = "pam-2025-l4s"
    title = TITLES["pam-2025-l4s"]
    doc = "Prague beside CUBIC, BBR and BBRv3 over nine queues, five buffers and 1 to 25 flows."
    parts = PARTS
    not_run = NOT_RUN

    def study(self, request: Request) -> Study:
        """Plan the runs of the requested published rows."""
        from tailback_studies.experiments.pam_2025_l4s import (
            points,
            readings,
            report,
            truth,
        )

        rows = self._rows(request)
        every = request.seeds_or(SEEDS, quick=1)
        quick = request.quick
        tried = readings.jobs() if request.named_part(READINGS) else {}

        def findings(results: Found) -> Findings:
            made = report.ran(results["rows"])
            entries = points.entries(rows, results["rows"])
            extra = []
            if tried:
                facts = report.ran([one for name in tried for one in results[name]])
                extra.append(readings.section(readings.measured(results), facts))
            written = report.report(entries, extra, made, quick=quick)
            page = report.page(entries, extra, made) if request.page else None
            cells = [entry.json() for entry in entries]
            return Findings(written, cells, truth.summary(entries), truth.judges(entries), page)

        jobs = {"rows": [points.job(row, seeds=every) for row in rows], **tried}
        return Study(jobs, findings)

    def _rows(self, request: Request) -> list[PamRow]:
        """Return the requested published rows, in the order of the publication."""
        if request.engine != "sim":
            raise InputError(
                f"{self.name}: every row has Prague, which Linux does not have; remove --engine"
            )
        rows = [row for row in ROWS if row.part in request.parts]
        if request.quick or request.published:
            known = known_rows()
            rows = [row for row in rows if row in known]
        if request.quick:
            rows = [row for row in rows if row.buffer_bdp == QUICK_BDP]
        return rows


EXPERIMENT = Pam()
