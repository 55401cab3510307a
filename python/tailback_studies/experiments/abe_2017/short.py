"""Experiment 7: flows that end close to the end of slow start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback.store.results import Results, Run
from tailback_studies.experiments.abe_2017 import layout, predict

SEEDS = 5
RATE_MBIT = 10.0
RTT_MS = 80.0
MSS = 1448
# Sizes of the short flows, in segments.
SIZES = tuple(range(100, 1301, 20))
QUICK_SIZES = tuple(range(150, 1051, 100))
CASES = (("reno", "pie"), ("reno", "codel"), ("cubic", "pie"))
BETAS = {"reno": (0.5, 0.7, 0.8, 0.85, 0.9), "cubic": (0.7, 0.8, 0.85, 0.9)}
# Round-trip times (in ms) of the runs that measure reductions after slow start.
RTTS = (40, 80, 160)
# Target delay of the queue in ms.
TARGETS_MS = {"pie": 20.0, "codel": 5.0}
# Size in segments of a flow that reaches congestion avoidance.
LONG = 2500

Key = tuple[str, str, str]


@dataclass(frozen=True)
class ShortPoint:
    """The completion times of all seeds for a backoff factor and a flow size."""

    cc: str
    queue: str
    beta: float
    segments: int
    completion: Estimate
    # Completion time of each flow in s, and whether it was marked.
    flows: Sequence[tuple[float, bool]]

    @property
    def lucky(self) -> list[float]:
        """Completion times (in seconds) of flows that ended before their first mark."""
        return [seconds for seconds, marked in self.flows if not marked]

    @property
    def unlucky(self) -> list[float]:
        """Completion times (in seconds) of flows that were marked."""
        return [seconds for seconds, marked in self.flows if marked]


@dataclass(frozen=True)
class Steps:
    """The number of reductions after slow start until a flow's window fits. A window fits if the
    path and a queue at its target delay can hold this window.
    """

    cc: str
    queue: str
    rtt_ms: float
    beta: float
    # Window at the first reduction, divided by the window that fits into the path and the queue at
    # its target.
    overshoot: Estimate
    steps: Estimate
    most: int
    # Number of runs whose window at the first reduction is at most twice the window that fits. Of
    # these runs, `within` counts those that need at most `bound` reductions.
    bounded: int
    within: int

    @property
    def bound(self) -> int:
        """The number of reductions that halve a window: log_beta(0.5)."""
        return predict.steps(self.beta)


def plan(*, quick: bool, seeds: int | None) -> list[tuple[Key, Job]]:
    """Return the jobs to run."""
    every = seeds if seeds is not None else 2 if quick else SEEDS
    out: list[tuple[Key, Job]] = []
    for cc, queue in CASES[:1] if quick else CASES:
        table = layout.scenario("short")
        table["bottleneck"]["queue"] = layout.options(queue, "sim")
        table["flows"][0]["cc"]["name"] = cc
        betas = list(BETAS[cc])
        sizes = QUICK_SIZES if quick else SIZES
        table["sweep"] = {
            "flows.flow.bytes": [MSS * size for size in sizes],
            "flows.flow.cc.beta_ecn": betas,
        }
        out.append((("sizes", cc, queue), Job(table, {}, every)))
        long = layout.scenario("short")
        long["bottleneck"]["queue"] = layout.options(queue, "sim")
        long["flows"][0]["cc"]["name"] = cc
        long["flows"][0]["bytes"] = MSS * LONG
        long["record"] = {"series": "acks"}
        long["sweep"] = {
            "path.rtt": [layout.rtt_text(rtt) for rtt in RTTS],
            "flows.flow.cc.beta_ecn": betas,
        }
        out.append((("steps", cc, queue), Job(long, {}, every)))
    return out


def measured(
    planned: Sequence[tuple[Key, Job]], results: Sequence[Results]
) -> tuple[list[ShortPoint], list[Steps]]:
    """Return completion times by flow size, and reductions after slow start."""
    points, steps = [], []
    for ((kind, cc, queue), _), found in zip(planned, results, strict=True):
        for runs in found.groups():
            params = runs[0].params
            beta = float(params["flows.flow.cc.beta_ecn"])
            if kind == "sizes":
                segments = round(float(params["flows.flow.bytes"]) / MSS)
                flows = []
                for run in runs:
                    flow = run.summary["flows"][0]
                    if flow["completion_s"] is not None:
                        flows.append((flow["completion_s"], flow["marks"] > 0))
                mean = estimate(seconds for seconds, _ in flows)
                points.append(ShortPoint(cc, queue, beta, segments, mean, flows))
            else:
                steps.append(_steps(cc, queue, float(params["path.rtt"]) / 1e6, beta, runs))
    return points, steps


def _steps(cc: str, queue: str, rtt_ms: float, beta: float, runs: Sequence[Run]) -> Steps:
    held = layout.bdp(RATE_MBIT, rtt_ms + TARGETS_MS[queue])
    counts, overshoots = [], []
    for run in runs:
        levels = reductions(run, beta)
        if levels:
            overshoots.append(levels[0][0] / held)
            counts.append(steps_down(levels, held))
    bounded = [n for n, over in zip(counts, overshoots, strict=True) if over <= 2]
    bound = predict.steps(beta)
    return Steps(
        cc,
        queue,
        rtt_ms,
        beta,
        estimate(overshoots),
        estimate(float(n) for n in counts),
        max(counts, default=0),
        len(bounded),
        sum(n <= bound for n in bounded),
    )


def steps_down(levels: Sequence[tuple[float, float]], held: float) -> int:
    """Return the number of reductions until ssthresh is at most `held`, the window that fits. If
    ssthresh stays above `held`, return the number of all reductions."""
    for i, (_, after) in enumerate(levels):
        if after <= held:
            return i + 1
    return len(levels)


def reductions(run: Run, beta: float) -> list[tuple[float, float]]:
    """Return the window before each reduction and the ssthresh after the reduction."""
    found = run.series().filter(pl.col("quantity") == "ssthresh").sort("time_ns")
    values = found["value"].rle().struct.field("value").to_list()
    return [((value + 0.5) / beta, value) for value in values]
