"""Repeats heistp/ccafct (2020), which measures flow completion times in competition with another
flow."""

from __future__ import annotations

from tailback.errors import InputError
from tailback_studies.experiments.ccafct_2020.layout import ROWS, RTTS_MS, CcafctRow, published_rtts
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

# Parts of the experiment, one for each round-trip time.
PARTS: tuple[str, ...] = tuple(f"rtt-{rtt}" for rtt in RTTS_MS)
# Number of seeds for each round-trip time. A quick run uses one seed.
SEEDS = 5


class Ccafct(Reproduction):
    """The experiment `ccafct-2020`."""

    name = "ccafct-2020"
    title = TITLES["ccafct-2020"]
    doc = "Completion times of requests in one CoDel queue, alone and beside CUBIC or Prague."
    parts = PARTS

    def study(self, request: Request) -> Study:
        """Return the study that repeats the requested published rows."""
        from tailback_studies.experiments.ccafct_2020 import points, report, truth

        rows = self._rows(request)
        every = request.seeds_or(SEEDS, quick=1)
        quick = request.quick

        rtts = list(dict.fromkeys(row.rtt_ms for row in rows))

        def findings(results: Found) -> Findings:
            found = dict(zip(rtts, results["rtts"], strict=True))
            made = report.ran(results["rtts"], quick=quick)
            entries = truth.judged(points.entries(rows, found))
            written = report.report(entries, made, quick=quick)
            page = report.page(entries, made) if request.page else None
            cells = [entry.json() for entry in entries]
            return Findings(written, cells, truth.summary(entries), truth.judges(entries), page)

        kernel = request.engine != "sim"
        jobs = [points.job(rtt, seeds=every, quick=quick, kernel=kernel) for rtt in rtts]
        return Study({"rtts": jobs}, findings)

    def _rows(self, request: Request) -> list[CcafctRow]:
        rows = [row for row in ROWS if f"rtt-{row.rtt_ms}" in request.parts]
        if request.engine != "sim":
            # Prague is not in Linux.
            rows = [row for row in rows if row.competitor != "prague"]
        if request.quick or request.published:
            rows = [row for row in rows if row.rtt_ms in published_rtts()]
            if request.quick and not rows:
                raise InputError(
                    f"{self.name}: --quick runs published rows only; expected "
                    f"{', '.join(f'rtt-{rtt}' for rtt in published_rtts())}"
                )
        return rows


EXPERIMENT = Ccafct()
