"""Repeats a replication study from 2023 about the goodput of BBR and CUBIC at different rates, RTTs
and buffer sizes."""

from __future__ import annotations

from tailback.errors import InputError
from tailback_studies.experiments.imc_bbr_2023.layout import (
    KERNELS,
    QUICK_RATES_MBIT,
    QUICK_RTTS_MS,
    ROWS,
    ImcRow,
    published_places,
)
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

# The parts: one for each kernel of the publication.
PARTS: tuple[str, ...] = tuple(KERNELS)
# Number of seeds of each published row. One seed is enough, because the five trials of the
# publication differ little.
SEEDS = 1
# The kernel of the publication whose congestion controls are also in today's Linux.
TODAY = "5.15"


class ImcBbr(Reproduction):
    """The experiment `imc-bbr-2023`."""

    name = "imc-bbr-2023"
    title = TITLES["imc-bbr-2023"]
    doc = "Goodput of one flow of CUBIC, BBR or BBRv2, by rate, round-trip time and buffer."
    parts = PARTS

    def study(self, request: Request) -> Study:
        """Plan the runs of the requested kernels."""
        from tailback_studies.experiments.imc_bbr_2023 import points, report, truth

        rows = self._rows(request)
        every = request.seeds_or(SEEDS)

        def findings(results: Found) -> Findings:
            made = report.ran(results["rows"])
            entries = truth.judged(points.entries(rows, results["rows"]))
            written = report.report(entries, made, quick=request.quick)
            page = report.page(entries, made) if request.page else None
            cells = [entry.json() for entry in entries]
            return Findings(written, cells, truth.summary(entries), truth.judges(entries), page)

        return Study({"rows": [points.job(row, seeds=every) for row in rows]}, findings)

    def _rows(self, request: Request) -> list[ImcRow]:
        """Return the requested published rows, in the order of the publication."""
        rows = [row for row in ROWS if row.kernel in request.parts]
        if request.engine != "sim":
            rows = [row for row in rows if row.kernel == TODAY]
            if not rows:
                raise InputError(
                    f"{self.name}: the kernel engine runs Linux 7.3, which has the congestion "
                    f"controls of {TODAY}; use --part {TODAY}"
                )
        if request.published:
            rows = [row for row in rows if row.place in published_places()]
        if request.quick:
            wanted = {
                place
                for place in published_places()
                if place.rate_mbit in QUICK_RATES_MBIT and place.rtt_ms in QUICK_RTTS_MS
            }
            rows = [row for row in rows if row.place in wanted]
        return rows


EXPERIMENT = ImcBbr()
