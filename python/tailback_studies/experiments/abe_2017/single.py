"""Experiments 1 to 4: one flow, over round-trip times and factors."""

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
    """A congestion control, a queue and a rate."""

    part: str
    cc: str
    queue: str
    rate_mbit: float
    fast_convergence: bool = True

    @property
    def title(self) -> str:
        """The set-up as text."""
        name = layout.NAMES[self.cc]
        if not self.fast_convergence:
            name += " without fast convergence"
        return f"{name} on {layout.QUEUES[self.queue].title}"

    @property
    def id(self) -> str:
        """The name of the set-up in the ids of figures and cells."""
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
    # The publication does not have this set-up. The formula for CUBIC assumes that fast convergence
    # is off.
    AbeSetup("experiment-4", "cubic", "codel", 10, fast_convergence=False),
)
SEEDS = 5

#: Capacity of a path, segments, below which the formula is doubted. The formula leaves out the
#: round trip of a reduction, and ACKs for two segments. Together they cost about two segments of
#: window. On a path with less capacity, this cost is more than 2 percentage points.
LEAST_PATH = 100.0
#: Cycles are considered equal if the standard deviation of the windows at reductions is at most
#: this share of their mean. This limit and the limit above were set after the cells had been
#: measured. They are used to explain differences, but not to decide a criterion.
EQUAL_CYCLES = 0.05


@dataclass(frozen=True)
class SinglePoint:
    """The result of a factor at a round-trip time, over seeds."""

    setup: AbeSetup
    rtt_ms: float
    beta: float
    utilisation: Estimate
    throughput: Estimate
    #: Gain over the standard backoff. None for the standard backoff itself.
    gain: Estimate
    #: Percentiles of the queue delay, ms.
    delay: Mapping[str, float | None]
    #: Window at the reductions, divided by the bandwidth-delay product.
    x: float | None
    #: Standard deviation of the window at the reductions, divided by its mean.
    spread: float | None
    #: Utilisation that the formula predicts when it is applied cycle by cycle.
    by_cycles: float | None
    runs: Sequence[Run]

    @property
    def standard(self) -> bool:
        """Whether the backoff is the standard backoff, without ABE."""
        return self.beta == layout.STANDARD[self.setup.cc]

    @property
    def bdp(self) -> float:
        """Number of segments in flight that fill the path."""
        return layout.bdp(self.setup.rate_mbit, self.rtt_ms)

    @property
    def predicted(self) -> float | None:
        """Utilisation that the formula predicts from the measured windows."""
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
        """Whether Reno's growth restores the old window before CUBIC's curve does."""
        assert self.x is not None
        drop = (1 - self.beta) * self.x * self.bdp
        curve = math.cbrt(drop / predict.CUBIC_C)
        standard = layout.STANDARD["cubic"]
        alpha = 3 * (1 - standard) / (1 + standard)
        return drop / alpha * self.rtt_ms / 1e3 < curve


def plan(
    parts: Iterable[str], *, quick: bool, seeds: int | None, engine: str
) -> list[tuple[AbeSetup, Job]]:
    """Return the jobs to run."""
    wanted = set(parts)
    setups = [s for s in SETUPS if s.part in wanted]
    if quick:
        setups = [s for s in setups if s.queue in ("codel", "pie") and s.fast_convergence]
    if engine != "sim":
        # Today's Linux kernel has only today's version of PIE.
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
    """Return every point that was run."""
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
    """Return the window at each reduction after the warm-up, in the order of time. Linux computes
    ssthresh from this window, and the function computes the window from ssthresh.

    Two successive reductions with the same ssthresh are counted as one.
    """
    start = run.summary["warmup_s"] * 1e9
    found = samples.filter(pl.col("time_ns") >= start)["value"].to_list()
    # ssthresh is rounded down.
    return [(value + 0.5) / beta for value, _ in groupby(found)]
