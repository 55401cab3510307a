"""Experiment 6: ten flows with ABE compete with ten flows with the standard backoff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailback import metrics
from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.abe_2017 import layout, predict

SEEDS = 30
RTTS = (20, 80, 160, 320)
BETAS = (0.7, 0.75, 0.8, 0.85, 0.9)
QUICK_BETAS = (0.7, 0.85)
# Pairs of competing groups: congestion control of the group with ABE, congestion control of the
# group without ABE, and the queue.
CASES = (
    ("cubic", "reno", "pie"),
    ("cubic", "cubic", "pie"),
    ("reno", "reno", "pie"),
    ("reno", "cubic", "pie"),
)
# Congestion control of the group with ABE on the poster. For the group without ABE, the poster
# says only "standard TCP".
POSTER_ABE = "cubic"
# The smallest and the largest backoff factor for which the poster states its range of ratios.
POSTER_BETAS = (0.7, 0.85)
POSTER_RATIO = (1.25, 2.0)


@dataclass(frozen=True)
class GroupPoint:
    """The results for one backoff factor at one round-trip time, as means over seeds. If the
    round-trip time is None, the results are means over all round-trip times.
    """

    abe: str
    standard: str
    queue: str
    rtt_ms: float | None
    beta: float
    ratio: Estimate
    utilisation: Estimate

    @property
    def case(self) -> str:
        """The two competing groups as text."""
        return f"{layout.NAMES[self.abe]} with ABE against {layout.NAMES[self.standard]}"

    @property
    def predicted(self) -> float | None:
        """The throughput ratio predicted at equal mark probability. None if the groups use
        different congestion controls."""
        return predict.ratio(self.abe, self.beta) if self.abe == self.standard else None


def plan(*, quick: bool, seeds: int | None) -> list[tuple[tuple[str, str, str], Job]]:
    """Return the jobs, each paired with its two congestion controls and its queue."""
    every = seeds if seeds is not None else 2 if quick else SEEDS
    out = []
    for abe, standard, queue in CASES[:3] if quick else CASES:
        table = layout.scenario("groups")
        table["bottleneck"]["queue"] = layout.options(queue, "sim")
        table["flows"][0]["cc"]["name"] = abe
        table["flows"][1]["cc"] = standard
        betas = list(QUICK_BETAS if quick else BETAS)
        if abe == standard == "reno" and not quick:
            betas = [0.5, *betas]
        rtts = RTTS[:3] if quick else RTTS
        table["sweep"] = {
            "path.rtt": [layout.rtt_text(rtt) for rtt in rtts],
            "flows.abe.cc.beta_ecn": betas,
        }
        out.append(((abe, standard, queue), Job(table, {}, every)))
    return out


def measured(
    planned: Sequence[tuple[tuple[str, str, str], Job]], results: Sequence[Results]
) -> list[GroupPoint]:
    """Return every measured point, and for each factor the average over round-trip times."""
    ratio = metrics.find("throughput_ratio")
    out = []
    for (key, _), found in zip(planned, results, strict=True):
        over: dict[float, dict[int, list[float]]] = {}
        for runs in found.groups():
            params = runs[0].params
            beta = float(params["flows.abe.cc.beta_ecn"])
            values = [ratio.value(run.summary) for run in runs]
            for run, value in zip(runs, values, strict=True):
                if value is not None:
                    over.setdefault(beta, {}).setdefault(run.seed, []).append(value)
            queues = [run.summary["queue"] for run in runs]
            out.append(
                GroupPoint(
                    *key,
                    float(params["path.rtt"]) / 1e6,
                    beta,
                    estimate(values),
                    estimate(queue["utilisation"] for queue in queues),
                )
            )
        nothing = estimate([])
        for beta, seeds in over.items():
            means = [sum(values) / len(values) for values in seeds.values()]
            out.append(GroupPoint(*key, None, beta, estimate(means), nothing))
    return out
