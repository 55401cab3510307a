"""Compares Linux kernels with each other.

Each kernel runs one flow through several queues. Some kernels also run parts of two published
experiments.
"""

from __future__ import annotations

from tailback.errors import InputError
from tailback_studies.experiments.kernels.releases import BED, RELEASES
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

SEEDS = 5
PARTS = ("alone", "acks", "sce-2019", "dualpi2-2022")


class Kernels(Reproduction):
    """The experiment `kernels`."""

    name = "kernels"
    title = TITLES["kernels"]
    doc = "CUBIC, Reno, DCTCP and BBR through fq_codel, pie and cake on four kernels."
    parts = PARTS
    needs_kernel = True

    def study(self, request: Request) -> Study:
        """Plan one flow through each queue on every kernel, and the published experiments on two
        kernels."""
        if request.engine == "sim":
            raise InputError(
                f"{self.name}: compares kernels of Linux, which the simulator is not; expected "
                "--engine kernel"
            )
        from tailback_studies.experiments.kernels import alone, beds, page

        seeds = request.seeds_or(SEEDS, quick=1)
        quick = request.quick
        kernels, bed = _built(request)
        groups = {
            "alone": alone.jobs(kernels, seeds),
            "acks": alone.ack_jobs(kernels, seeds),
            "sce-2019": beds.sce_jobs(bed, quick=quick),
            "dualpi2-2022": beds.dualpi2_jobs(bed, quick=quick),
        }
        jobs = {name: own for name, own in groups.items() if name in request.parts}

        def findings(results: Found) -> Findings:
            return page.findings(results, kernels, bed, quick=quick)

        return Study(jobs, findings)


def _built(request: Request) -> tuple[list[str], list[str]]:
    """Return the kernels to compare, the current one first, and the kernels for the published
    experiments."""
    from tailback.kernel import kit

    there_are = {one.release for one in kit.all_kits()}
    in_use = kit.current().release
    others = [release for release in RELEASES if release in there_are and release != in_use]
    if {"alone", "acks"} & set(request.parts) and not others:
        # This call raises an error that contains the command to build the kernel.
        kit.named(RELEASES[0])
    if {"sce-2019", "dualpi2-2022"} & set(request.parts):
        kit.named(BED)
    return [in_use, *others], [in_use, *({BED} - {in_use})]


EXPERIMENT = Kernels()
