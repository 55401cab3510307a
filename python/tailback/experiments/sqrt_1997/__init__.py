"""Reno's window over random loss, 1/sqrt(p) (Mathis and others 1997), measured again."""

from __future__ import annotations

from tailback.reproduction.experiment import Findings, Found, Reproduction, Request, Study


class SquareRoot(Reproduction):
    """The experiment."""

    name = "sqrt-1997"
    title = "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm: Mathis, 1997"
    doc = "Reno's mean window against random loss is sqrt(3/2) / sqrt(p)."
    parts = ("equation-3",)

    def study(self, request: Request) -> Study:
        """One job over the losses."""
        from tailback.experiments.sqrt_1997 import points, report

        def findings(results: Found) -> Findings:
            return report.findings(points.entries(results["loss"]), results["loss"])

        seeds = request.seeds_or(5, quick=1)
        return Study({"loss": [points.job(quick=request.quick, seeds=seeds)]}, findings)


EXPERIMENT = SquareRoot()
