"""Studies how QUIC stacks compete with the kernel's TCP flows. There are no published results to
compare the numbers with.
"""

from __future__ import annotations

from tailback.errors import InputError
from tailback_studies.experiments.quic_and_tcp.layout import LINKS, MEETINGS, QUICK
from tailback_studies.experiments.titles import TITLES
from tailback_studies.reproduction.experiment import Findings, Found, Reproduction, Request, Study

SEEDS = 5


class QuicAndTcp(Reproduction):
    """The experiment `quic-and-tcp`."""

    name = "quic-and-tcp"
    title = TITLES["quic-and-tcp"]
    doc = "quic-go, quinn, s2n-quic and aioquic, unmodified, beside CUBIC, Reno and BBR of Linux."
    parts = ("alone", *MEETINGS)
    needs_kernel = True

    def study(self, request: Request) -> Study:
        """Plan the transfers of a stack alone, and the runs in which a stack competes with TCP at
        each rate.

        Some parts of the experiment run only if the user names them.
        """
        if request.engine == "sim":
            raise InputError(
                f"{self.name}: runs programs, which the simulator does not run; expected --engine "
                "kernel"
            )
        from tailback_studies.experiments.quic_and_tcp import page, points
        from tailback_studies.experiments.quic_and_tcp.layout import Meeting, fetches, pairs

        seeds = request.seeds_or(SEEDS, quick=1)
        links = (QUICK,) if request.quick else LINKS
        meetings = {"beside-20": Meeting(QUICK)} if request.quick else MEETINGS
        met = {
            part: pairs(meeting)
            for part, meeting in meetings.items()
            if part in request.parts and (request.named or not meeting.asked)
        }
        if not met and "alone" not in request.parts:
            raise InputError(
                f"{self.name}: --quick leaves no runs of {', '.join(request.parts)}; "
                f"expected --part alone or {', '.join(meetings)}"
            )
        alone = fetches(links) if "alone" in request.parts else []
        jobs = {name: [points.job(pair, seeds=seeds) for pair in own] for name, own in met.items()}
        if alone:
            jobs["alone"] = [points.fetch_job(fetch, seeds=seeds) for fetch in alone]

        def findings(results: Found) -> Findings:
            return page.findings(
                results,
                {name: points.met(own, results[name]) for name, own in met.items()},
                points.fetched(alone, results.get("alone", ())),
            )

        return Study(jobs, findings)


EXPERIMENT = QuicAndTcp()
