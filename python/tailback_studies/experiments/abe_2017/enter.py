"""Experiment 5: how long a new flow needs to reach its fair share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl

from tailback.metrics.jain import jain
from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback.store import frames
from tailback.store.results import Results, Run
from tailback_studies.experiments.abe_2017 import layout

SEEDS = 30
# The time (in seconds) at which the second flow starts, and the goal for Jain's index.
ENTRY_S = 30.0
LEVEL = 0.95
DELIVERED = "delivered_bytes"
RTTS = (20, 80, 160)
QUICK_RTTS = (20, 80)
CASES = (("reno", "pie"), ("reno", "codel"), ("cubic", "pie"))
BETAS = {"reno": (0.5, 0.7, 0.8, 0.85, 0.9, 0.95), "cubic": (0.7, 0.8, 0.85, 0.9, 0.95)}


@dataclass(frozen=True)
class EnterPoint:
    """The results for one backoff factor, as means over seeds."""

    cc: str
    queue: str
    rtt_ms: float
    beta: float
    # Seconds from the start of the second flow until the goal is reached. If the goal is never
    # reached, the time until the end of the run.
    seconds: Estimate
    # Share of runs that reach the goal.
    reached: float


def scenario(
    cc: str, queue: str, rtts: Sequence[float], betas: Sequence[float]
) -> dict[str, object]:
    """Return a scenario in which a second flow starts later than the first."""
    table = layout.scenario("enter")
    table["bottleneck"]["queue"] = layout.options(queue, "sim")
    for flow in table["flows"]:
        flow["cc"]["name"] = cc
    table["sweep"] = {
        "path.rtt": [layout.rtt_text(rtt) for rtt in rtts],
        "zip": [{f"flows.{name}.cc.beta_ecn": list(betas) for name in ("first", "second")}],
    }
    return table


def plan(*, quick: bool, seeds: int | None) -> list[tuple[tuple[str, str], Job]]:
    """Return the jobs, each paired with its congestion control and its queue."""
    every = seeds if seeds is not None else 3 if quick else SEEDS
    out = []
    for cc, queue in CASES[:1] if quick else CASES:
        betas = layout.QUICK_BETAS[cc] if quick else BETAS[cc]
        made = scenario(cc, queue, QUICK_RTTS if quick else RTTS, betas)
        out.append(((cc, queue), Job(made, {}, every)))
    return out


def time_to_share(run: Run, samples: pl.DataFrame | None = None) -> tuple[float, bool]:
    """Return how many seconds after the start of the second flow Jain's index reaches the goal, and
    whether it ever reaches the goal. Compute Jain's index from the bytes that were delivered since
    the second flow started. `samples` contains the delivered bytes of both flows, if they were
    already read.
    """
    first, second = (flow["name"] for flow in run.summary["flows"])
    if samples is None:
        samples = frames.only(run.series(), DELIVERED, None, None)
    columns = (samples[name].to_list() for name in ("flow", "time_ns", "value"))
    delivered: dict[str, dict[int, float]] = {first: {}, second: {}}
    for flow, time, value in zip(*columns, strict=True):
        delivered[flow][time] = value
    ones = delivered[first]
    base = ones[max(time for time in ones if time <= ENTRY_S * 1e9)]
    for time, other in sorted(delivered[second].items()):
        if other and (jain([ones[time] - base, other]) or 0.0) >= LEVEL:
            return time / 1e9 - ENTRY_S, True
    return run.summary["duration_s"] - ENTRY_S, False


def samples_of(runs: Sequence[Run]) -> Iterator[pl.DataFrame]:
    """For each run, yield the delivered bytes of both flows over time."""
    return frames.each_series([run.stored for run in runs], DELIVERED)


def point(cc: str, queue: str, runs: Sequence[Run], samples: Iterable[pl.DataFrame]) -> EnterPoint:
    """Average runs that differ only in their seeds."""
    times = [time_to_share(run, own) for run, own in zip(runs, samples, strict=True)]
    params = runs[0].params
    return EnterPoint(
        cc,
        queue,
        float(params["path.rtt"]) / 1e6,
        float(params["flows.first.cc.beta_ecn"]),
        estimate(seconds for seconds, _ in times),
        sum(came for _, came in times) / len(times),
    )


def measured(
    planned: Sequence[tuple[tuple[str, str], Job]], results: Sequence[Results]
) -> list[EnterPoint]:
    """Return every point."""
    out = []
    for (key, _), found in zip(planned, results, strict=True):
        groups = found.groups()
        samples = samples_of([run for runs in groups for run in runs])
        out += [point(*key, runs, islice(samples, len(runs))) for runs in groups]
    return out
