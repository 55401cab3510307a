"""Measures the rates that flows with different backoff factors reach at equal mark probability. A
fixed schedule determines which segments are marked, so that the rates do not depend on a queue.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.abe_2017 import layout, predict

# For each congestion control: the number of segments between marks, the round-trip time in ms, and
# the duration in s.
PERIODS = {"reno": (1000, 50, 300), "cubic": (10_000, 200, 900)}
QUICK_PERIODS = {"reno": (1000, 50, 120), "cubic": (10_000, 200, 400)}
# Number of random mark schedules.
RANDOM = 5
# Number of marks in a schedule. This number is enough for the fastest flow.
MARKS = 4000


@dataclass(frozen=True)
class EqualPoint:
    """The throughput with a backoff factor, and its ratio to the throughput with the standard
    factor."""

    cc: str
    # Spacing of the marks: "periodic" or "random".
    marks: str
    beta: float
    # Mean throughput, in Mbit/s.
    throughput: Estimate
    ratio: Estimate
    # The ratio that the ABE paper's table gives.
    table: float
    # The ratio that the theory of random marks predicts. None if this theory does not apply.
    random: float | None

    @property
    def error(self) -> float | None:
        """Error of the measured ratio, relative to the table's ratio."""
        return None if self.ratio.mean is None else self.ratio.mean / self.table - 1


def plan(*, quick: bool) -> list[tuple[tuple[str, str], Job]]:
    """Return the jobs, each with its congestion control and spacing of marks."""
    out = []
    for cc, (period, rtt, seconds) in (QUICK_PERIODS if quick else PERIODS).items():
        periodic = [period * (i + 1) for i in range(MARKS)]
        out.append(((cc, "periodic"), _job(cc, rtt, seconds, periodic)))
        if cc == "reno":
            for seed in range(1 if quick else RANDOM):
                marks = _random(period, seed)
                out.append(((cc, "random"), _job(cc, rtt, seconds, marks)))
    return out


def _random(period: int, seed: int) -> list[int]:
    """Draw at random the numbers of the segments to mark.

    Each segment is marked with the same probability.
    """
    draw = random.Random(seed)
    at, out = 0, []
    for _ in range(MARKS):
        at += 1 + int(draw.expovariate(1.0) * (period - 0.5))
        out.append(at)
    return out


def _job(cc: str, rtt_ms: float, seconds: float, marks: Sequence[int]) -> Job:
    table = layout.scenario("equal")
    table["duration"] = f"{seconds:g}s"
    table["path"]["rtt"] = layout.rtt_text(rtt_ms)
    table["bottleneck"]["schedule"] = {"marks": list(marks)}
    table["flows"][0]["cc"]["name"] = cc
    if cc == "cubic":
        # Equation 5 of RFC 9438 covers only CUBIC's curve, without fast convergence or
        # Reno-friendly growth.
        table["flows"][0]["cc"]["fast_convergence"] = False
    betas = [layout.STANDARD[cc], *(b for b in (0.7, 0.75, 0.8, 0.85, 0.9))]
    table["sweep"] = {"flows.flow.cc.beta_ecn": list(dict.fromkeys(betas))}
    return Job(table, {}, 1)


def measured(
    planned: Sequence[tuple[tuple[str, str], Job]], results: Sequence[Results]
) -> list[EqualPoint]:
    """Return the measured ratios."""
    rates: dict[tuple[str, str], dict[float, list[tuple[float, float | None]]]] = {}
    for (key, _), found in zip(planned, results, strict=True):
        for run in found:
            beta = float(run.params["flows.flow.cc.beta_ecn"])
            flow = run.summary["flows"][0]
            pair = (flow["throughput_mbit"], flow.get("throughput_gain"))
            rates.setdefault(key, {}).setdefault(beta, []).append(pair)
    out = []
    for (cc, marks), by_beta in rates.items():
        for beta, pairs in sorted(by_beta.items()):
            out.append(
                EqualPoint(
                    cc,
                    marks,
                    beta,
                    estimate(rate for rate, _ in pairs),
                    estimate(gain for _, gain in pairs),
                    predict.ratio(cc, beta),
                    predict.random_ratio(beta) if marks == "random" else None,
                )
            )
    return out
