"""Experiments 1 to 4: one flow, with several round-trip times and backoff factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

import polars as pl

from tailback.metrics.statistics import Estimate, estimate, median
from tailback.running.batch import Job
from tailback.store import frames
from tailback.store.results import Results, Run
from tailback_studies.experiments.abe_2017 import layout, predict


@dataclass(frozen=True)
class AbeSetup:
    """A congestion control, a queue and a link rate."""

    part: str
    cc: str
    queue: str
    rate_mbit: float
    fast_convergence: bool = True

    @property
    def title(self) -> str:
        """The congestion control and queue as text."""
        name = layout.NAMES[self.cc]
        if not self.fast_convergence:
            name += " without fast convergence"
        return f"{name} on {layout.QUEUES[self.queue].title}"

    @property
    def id(self) -> str:
        """The text that identifies the set-up in ids of figures and values."""
        plain = "" if self.fast_convergence else "-plain"
        return f"{self.cc}{plain}-{self.queue}-{self.rate_mbit:g}"


SETUPS = (
    AbeSetup("experiment-1", "cubic", "codel", 20),
    AbeSetup("experiment-1", "cubic", "pie", 20),
    AbeSetup("experiment-2", "reno", "codel", 10),
    AbeSetup("experiment-3", "reno", "pie", 10),
    AbeSetup("experiment-3", "reno", "pie-8033", 10),
    AbeSetup("experiment-4", "cubic", "codel", 10),
    AbeSetup("experiment-4", "cubic", "pie", 10),
    AbeSetup("experiment-4", "cubic", "pie-8033", 10),
    # The poster does not include this set-up without fast convergence. The formula for CUBIC
    # assumes that there is no fast convergence.
    AbeSetup("experiment-4", "cubic", "codel", 10, fast_convergence=False),
)
SEEDS = 5

# Smallest bandwidth-delay product (in segments) for which the formula is trusted. The formula
# ignores that the window does not grow in the round trip of a reduction, and that one ACK may cover
# two segments. Together, these effects reduce the window by about two segments. If the
# bandwidth-delay product is smaller than this limit, two segments are more than 2 percentage points
# of utilisation.
LEAST_PATH = 100.0
# Cycles count as equal if the standard deviation of the windows at reductions is at most this
# share of their mean. This limit and `LEAST_PATH` were set after the values had been measured.
# `LEAST_PATH` and this limit only explain differences, and do not decide whether a criterion is
# met.
EQUAL_CYCLES = 0.05


@dataclass(frozen=True)
class SinglePoint:
    """The results for a backoff factor at a round-trip time, as means over seeds."""

    setup: AbeSetup
    rtt_ms: float
    beta: float
    utilisation: Estimate
    throughput: Estimate
    # Gain in throughput over the standard factor. None for the standard factor.
    gain: Estimate
    # Percentiles of the queue delay in ms.
    delay: Mapping[str, float | None]
    # Window at reductions, in bandwidth-delay products.
    x: float | None
    # Standard deviation of the windows at reductions, divided by the mean of these windows.
    spread: float | None
    # Utilisation that the formula predicts if applied to each cycle.
    by_cycles: float | None
    runs: Sequence[Run]

    @property
    def standard(self) -> bool:
        """Whether the factor is the standard factor, without ABE."""
        return self.beta == layout.STANDARD[self.setup.cc]

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product in segments."""
        return layout.bdp(self.setup.rate_mbit, self.rtt_ms)

    @property
    def predicted(self) -> float | None:
        """Utilisation that the formula predicts for the mean window at reductions."""
        return None if self.x is None else predict.utilisation(self.setup.cc, self.beta, self.x)

    @property
    def doubt(self) -> str:
        """The assumption of the formula that does not hold. Empty if all assumptions hold."""
        if self.x is None or self.spread is None:
            return "no reduction"
        if self.bdp < LEAST_PATH:
            return "short path"
        if self.spread > EQUAL_CYCLES:
            return "unequal cycles"
        if self.setup.cc == "cubic" and (self.predicted or 1.0) < 1:
            if self._friendly:
                return "Reno-friendly"
            if self.setup.fast_convergence:
                return "fast convergence"
        return ""

    @property
    def _friendly(self) -> bool:
        """Whether Reno-friendly growth is faster than CUBIC's curve in reaching the window that the
        flow had before the reduction.
        """
        assert self.x is not None
        drop = (1 - self.beta) * self.x * self.bdp
        curve = math.cbrt(drop / predict.CUBIC_C)
        standard = layout.STANDARD["cubic"]
        alpha = 3 * (1 - standard) / (1 + standard)
        return drop / alpha * self.rtt_ms / 1e3 < curve


def plan(
    parts: Iterable[str], *, quick: bool, seeds: int | None, engine: str
) -> list[tuple[AbeSetup, Job]]:
    """Return the jobs, each with its set-up."""
    wanted = set(parts)
    setups = [s for s in SETUPS if s.part in wanted]
    if quick:
        setups = [s for s in setups if s.queue in ("codel", "pie") and s.fast_convergence]
    if engine != "sim":
        # Current Linux has only PIE of RFC 8033.
        setups = list(
            dict.fromkeys(
                replace(s, queue="pie-8033") if s.queue == "pie" else s
                for s in setups
                if s.fast_convergence
            )
        )
    every = seeds if seeds is not None else 1 if quick or engine != "sim" else SEEDS
    return [(setup, Job(_scenario(setup, quick, engine), {}, every)) for setup in setups]


def _scenario(setup: AbeSetup, quick: bool, engine: str) -> dict[str, object]:
    table = layout.scenario("single")
    table["bottleneck"]["rate"] = f"{setup.rate_mbit:g}Mbit"
    table["bottleneck"]["queue"] = layout.options(setup.queue, engine)
    table["flows"][0]["cc"]["name"] = setup.cc
    if not setup.fast_convergence:
        table["flows"][0]["cc"]["fast_convergence"] = False
    betas = (layout.QUICK_BETAS if quick or engine != "sim" else layout.BETAS)[setup.cc]
    table["sweep"]["flows.flow.cc.beta_ecn"] = list(betas)
    if quick:
        (zipped,) = table["sweep"]["zip"]
        kept = [zipped["path.rtt"].index(layout.rtt_text(rtt)) for rtt in (20, 80, 160)]
        table["sweep"]["zip"] = [{key: [row[i] for i in kept] for key, row in zipped.items()}]
    return table


def measured(
    planned: Sequence[tuple[AbeSetup, Job]], results: Sequence[Results]
) -> list[SinglePoint]:
    """Return every measured point."""
    out: list[SinglePoint] = []
    for (setup, _), found in zip(planned, results, strict=True):
        groups = found.groups()
        every = [run.stored for runs in groups for run in runs]
        samples = frames.each_series(every, "ssthresh")
        out += [_point(setup, runs, islice(samples, len(runs))) for runs in groups]
    order = {setup: i for i, (setup, _) in enumerate(planned)}
    return sorted(out, key=lambda p: (order[p.setup], p.rtt_ms, p.beta))


def _point(setup: AbeSetup, runs: Sequence[Run], samples: Iterable[pl.DataFrame]) -> SinglePoint:
    first = runs[0].params
    rtt_ms = float(first["path.rtt"]) / 1e6
    beta = float(first["flows.flow.cc.beta_ecn"])
    queues = [run.summary["queue"] for run in runs]
    flows = [run.summary["flows"][0] for run in runs]
    gains = [flow.get("throughput_gain") for flow in flows]
    both = zip(runs, samples, strict=True)
    windows = [w for run, own in both for w in _windows(run, own, beta)]
    x = spread = by_cycles = None
    if windows:
        bdp = layout.bdp(setup.rate_mbit, rtt_ms)
        mean = sum(windows) / len(windows)
        x = mean / bdp
        variance = sum((w - mean) ** 2 for w in windows) / max(1, len(windows) - 1)
        spread = variance**0.5 / mean
        by_cycles = predict.utilisation_by_cycles(
            setup.cc, beta, windows, bdp, rtt_ms / 1e3, fast=setup.fast_convergence
        )
    standard = beta == layout.STANDARD[setup.cc]
    return SinglePoint(
        setup=setup,
        rtt_ms=rtt_ms,
        beta=beta,
        utilisation=estimate(queue["utilisation"] for queue in queues),
        throughput=estimate(flow["throughput_mbit"] for flow in flows),
        gain=estimate([] if standard else gains),
        delay={
            name: median([q["delay_ms"][name] for q in queues if q["delay_ms"][name] is not None])
            for name in ("p1", "p25", "p50", "p75", "p99")
        },
        x=x,
        spread=spread,
        by_cycles=by_cycles,
        runs=runs,
    )


def _windows(run: Run, samples: pl.DataFrame, beta: float) -> list[float]:
    """Return the window at each reduction after the warm-up, in order of time. Linux sets ssthresh
    to a fraction of the window, so the window is computed from ssthresh.

    Equal successive values of ssthresh count as one reduction.
    """
    start = run.summary["warmup_s"] * 1e9
    found = samples.filter(pl.col("time_ns") >= start)["value"].to_list()
    # Linux rounds ssthresh down, by 0.5 on average.
    return [(value + 0.5) / beta for value, _ in groupby(found)]
