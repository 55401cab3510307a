"""Kernels side by side: what one flow gets on each, and two test beds of their time."""

from __future__ import annotations

from tailback.errors import InputError
from tailback.reproduction.experiment import Findings, Found, Reproduction, Request, Study

KERNELS = ("7.3", "6.12", "6.1", "5.10")
"""The first is what the others are compared with."""

BED = ("7.3", "5.10")
"""The kernels that the test beds are run on: today's, and the one nearest to theirs."""

SEEDS = 5
PARTS = ("alone", "sce-2019", "dualpi2-2022")


class Kernels(Reproduction):
    """The experiment."""

    name = "kernels"
    title = "Kernels side by side: Linux 5.10, 6.1, 6.12 and 7.3"
    doc = "CUBIC, Reno, DCTCP and BBR through fq_codel, pie and cake on four kernels."
    parts = PARTS
    needs_kernel = True

    def study(self, request: Request) -> Study:
        """The cells on every kernel, and those of the test beds on two."""
        if request.engine == "sim":
            raise InputError(
                f"{self.name}: of kernels of Linux, not of the simulator; expected --engine kernel"
            )
        from tailback.experiments.kernels import alone, beds, page

        seeds = request.seeds_or(SEEDS, quick=1)
        quick = request.quick
        groups = {
            "alone": alone.jobs(KERNELS, seeds),
            "sce-2019": beds.sce_jobs(BED, quick=quick),
            "dualpi2-2022": beds.dualpi2_jobs(BED, quick=quick),
        }
        jobs = {name: own for name, own in groups.items() if name in request.parts}

        def findings(results: Found) -> Findings:
            return page.findings(results, quick=quick)

        return Study(jobs, findings)


EXPERIMENT = Kernels()
