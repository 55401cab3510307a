"""Measures gains and costs of a backoff factor. The flow with this factor runs alone, competes with
a flow without ABE, or starts after another flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback.store.results import Results, Run
from tailback_studies.experiments.abe_2017 import enter, layout

RTT_MS = 80.0
SEEDS = 3
# Number of seeds for runs in which a flow starts later. These runs need more seeds than other runs,
# because the time until the late flow gets its share varies most.
ENTER_SEEDS = 6
QUEUES = ("pie", "codel", "fq_codel", "cake", "dualpi2")
QUICK_QUEUES = ("pie", "fq_codel")
BETAS = {
    "reno": (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
    "cubic": (0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
}

# Largest differences in gain, loss, delay (ms) and time (s) at which two factors count as equal.
SAME = (0.01, 0.02, 1.0, 1.0)

Key = tuple[str, str, str]


@dataclass(frozen=True)
class TradeoffPoint:
    """The gains and costs of a backoff factor with a queue."""

    cc: str
    queue: str
    beta: float
    # Throughput of the flow alone, divided by its throughput with the standard factor, minus one.
    gain: float
    # Share of its throughput that a standard flow loses to a competitor with ABE.
    loss: float
    # Mean queue delay (in ms) of the flow alone.
    delay_ms: float
    delay_p99_ms: float
    # Seconds until a flow that starts later reaches its fair share.
    convergence_s: Estimate
    # Whether the factor is on the Pareto front.
    best: bool = False

    @property
    def costs(self) -> tuple[float, ...]:
        """The values that are better if they are smaller."""
        mean = self.convergence_s.mean
        return (-self.gain, self.loss, self.delay_ms, 1e9 if mean is None else mean)


def plan(*, quick: bool, seeds: int | None) -> list[tuple[Key, Job]]:
    """Return the jobs, each with congestion control, queue and kind of measurement."""
    every = seeds if seeds is not None else 1 if quick else SEEDS
    entering = seeds if seeds is not None else 2 if quick else ENTER_SEEDS
    out: list[tuple[Key, Job]] = []
    for cc in ("reno",) if quick else ("reno", "cubic"):
        betas = list((layout.QUICK_BETAS if quick else BETAS)[cc])
        for queue in QUICK_QUEUES if quick else QUEUES:
            options = layout.options(queue, "sim")
            alone = layout.scenario("single")
            alone["bottleneck"]["queue"] = options
            alone["duration"] = "150s"
            alone["path"]["rtt"] = layout.rtt_text(RTT_MS)
            alone["record"] = {"series": False}
            alone["flows"][0]["cc"]["name"] = cc
            alone["sweep"] = {"flows.flow.cc.beta_ecn": betas}
            out.append(((cc, queue, "alone"), Job(alone, {}, every)))
            beside = layout.scenario("groups")
            beside["bottleneck"]["queue"] = options
            beside["duration"] = "120s"
            beside["warmup"] = "30s"
            beside["path"]["rtt"] = layout.rtt_text(RTT_MS)
            beside["flows"][0] |= {"cc": {"name": cc, "beta_ecn": 0.8}, "count": 1}
            beside["flows"][1] |= {"cc": cc, "count": 1}
            beside["sweep"] = {"flows.abe.cc.beta_ecn": betas}
            out.append(((cc, queue, "beside"), Job(beside, {}, every)))
            entry = enter.scenario(cc, queue, [RTT_MS], betas)
            out.append(((cc, queue, "enter"), Job(entry, {}, entering)))
    return out


def measured(planned: Sequence[tuple[Key, Job]], results: Sequence[Results]) -> list[TradeoffPoint]:
    """Return all factors, and mark the factors on the Pareto front."""
    cases: dict[tuple[str, str], dict[str, dict[float, list[Run]]]] = {}
    for ((cc, queue, kind), _), result in zip(planned, results, strict=True):
        for runs in result.groups():
            beta = next(v for k, v in runs[0].params.items() if k.endswith("beta_ecn"))
            kinds = cases.setdefault((cc, queue), {})
            kinds.setdefault(kind, {})[float(beta)] = runs
    out = []
    for (cc, queue), kinds in cases.items():
        points = [_point(cc, queue, beta, kinds) for beta in kinds["alone"]]
        out += front(points)
    return out


def _point(
    cc: str, queue: str, beta: float, kinds: dict[str, dict[float, list[Run]]]
) -> TradeoffPoint:
    alone, standard = kinds["alone"][beta], kinds["alone"][layout.STANDARD[cc]]
    beside = kinds["beside"]
    pairs, like = beside[beta], beside[layout.STANDARD[cc]]
    entered = kinds["enter"][beta]
    return TradeoffPoint(
        cc,
        queue,
        beta,
        gain=_throughput(alone, 0) / _throughput(standard, 0) - 1,
        loss=1 - _throughput(pairs, 1) / _throughput(like, 1),
        delay_ms=_mean([run.summary["queue"]["delay_ms"]["mean"] for run in alone]),
        delay_p99_ms=_mean([run.summary["queue"]["delay_ms"]["p99"] for run in alone]),
        convergence_s=enter.point(cc, queue, entered, enter.samples_of(entered)).seconds,
    )


def _throughput(runs: Sequence[Run], flow: int) -> float:
    return _mean([run.summary["flows"][flow]["throughput_mbit"] for run in runs])


def _mean(values: Sequence[float]) -> float:
    found = estimate(values).mean
    return 0.0 if found is None else found


def front(points: Sequence[TradeoffPoint]) -> list[TradeoffPoint]:
    """Mark the points on the Pareto front.

    A point is not on the front if another point is better in at least one value and
    worse in no value. Differences of at most `SAME` do not count.
    """

    def better(other: TradeoffPoint, point: TradeoffPoint) -> bool:
        gaps = [b - a for a, b in zip(other.costs, point.costs, strict=True)]
        return all(gap >= -same for gap, same in zip(gaps, SAME, strict=True)) and any(
            gap > same for gap, same in zip(gaps, SAME, strict=True)
        )

    def beaten(point: TradeoffPoint) -> bool:
        return any(better(other, point) for other in points)

    return [TradeoffPoint(**{**vars(point), "best": not beaten(point)}) for point in points]
