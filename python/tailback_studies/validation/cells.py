"""Compares both engines in each scenario of the validation. A scenario (`Cell`) is a combination of
flows, queue, rate and RTT.

Every number is a mean over seeds. The noise of a number is the half-width of the 95 %
confidence interval of the difference between the means of both engines (Welch).

The error of a competing flow is relative to its fair share, which is the link's rate divided by the
number of flows. Flows that the scenario does not distinguish count as identical. Identical flows
are compared one by one, and also sorted by throughput. Sorting compares, for example, the slowest
quarter on one engine with the slowest quarter on the other engine. If a hash assigns flows to
queues, the seed decides which flows share a queue and are slow. In this case, the engines can agree
only on the sorted flows. Comparing single sorted flows would be too noisy. Even in the simulator
alone, the mean throughput of the fourth-slowest flow differs by 20 % between two small sets of
seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

from tailback.metrics import Estimate, estimate
from tailback.metrics.differences import unpaired
from tailback.metrics.statistics import LEAST_SEEDS

Summary = Mapping[str, Any]

PARTS = 4
"""Number of parts into which identical flows are divided in order of throughput. The means of these
parts are compared."""


@dataclass(frozen=True)
class Measure:
    """The values of one quantity on both engines, for one flow or for the whole scenario."""

    quantity: str
    """The quantity: throughput, order, ratio, delay, signals, completion, utilisation or
    retransmits."""
    unit: str
    sim: tuple[float, ...]
    """Values by seed. Ratios are stored as logarithms, so that 2 and 1/2 are equally far from 1."""
    kernel: tuple[float, ...]
    scale: float | None = None
    """The value to which the error is relative, in `unit`. For throughputs, this value is a fair
    share. `None` means that the error is relative to the kernel's mean."""
    flow: str = ""
    """The name of the flow. Empty if the measure does not belong to one flow."""
    shares: int = 1
    """Number of fair shares into which the link's rate is divided."""

    @cached_property
    def values(self) -> dict[str, Estimate]:
        """The mean and its confidence interval, by engine."""
        return {"sim": estimate(self.sim), "kernel": estimate(self.kernel)}

    @property
    def logarithmic(self) -> bool:
        """Whether the values are logarithms."""
        return self.quantity == "ratio"

    @cached_property
    def absolute(self) -> float:
        """The simulator's mean minus the kernel's mean, in the unit of the quantity."""
        return math.fsum(self.sim) / len(self.sim) - math.fsum(self.kernel) / len(self.kernel)

    @cached_property
    def error(self) -> float:
        """The simulator's relative error. The error is 0 if both means are 0, and infinite if only
        the kernel's mean is 0."""
        return self._relative(self.absolute)

    @cached_property
    def noise(self) -> float | None:
        """Half-width of the 95 % confidence interval of the error. None with one seed."""
        found = unpaired(self.kernel, self.sim)
        return None if found is None or found.ci95 is None else abs(self._relative(found.ci95))

    @property
    def error_of_rate(self) -> float:
        """The error relative to the link's rate instead of a fair share."""
        return self.error / self.shares

    @property
    def own_noise(self) -> float | None:
        """The relative difference between two means of the kernel engine's results: the mean over
        the first half of the seeds, and the mean over the second half. The difference is reduced to
        the size that is expected between two means over all seeds.
        """
        half = len(self.kernel) // 2
        if not half:
            return None
        first, last = (math.fsum(part) / half for part in (self.kernel[:half], self.kernel[-half:]))
        # Scale the difference, because the standard error of a mean is proportional to 1 /
        # sqrt(number of seeds).
        return abs(self._relative((first - last) * math.sqrt(half / len(self.kernel))))

    @property
    def inside_noise(self) -> bool:
        """Whether the error is at most as large as `noise`. False with too few seeds."""
        enough = min(len(self.sim), len(self.kernel)) >= LEAST_SEEDS
        return enough and self.noise is not None and abs(self.error) <= self.noise

    def _relative(self, gap: float) -> float:
        if self.logarithmic:
            return math.expm1(gap)
        if gap == 0:
            return 0.0
        base = self.scale if self.scale is not None else math.fsum(self.kernel) / len(self.kernel)
        return gap / base if base else math.copysign(math.inf, gap)

    def shown(self, engine: str) -> Estimate:
        """Return an engine's mean and confidence interval for display. For ratios, the mean and the
        interval are computed from logarithms."""
        value = self.values[engine]
        if not self.logarithmic or value.mean is None:
            return value
        ends = value.ci95
        return Estimate(
            value.n, math.exp(value.mean), (math.exp(ends[0]), math.exp(ends[1])) if ends else None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""

        def side(engine: str) -> dict[str, Any]:
            found = self.shown(engine)
            return {"mean": found.mean, "n": found.n, "ci95": found.half_width}

        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "flow": self.flow or None,
            "sim": side("sim"),
            "kernel": side("kernel"),
            "absolute": None if self.logarithmic else self.absolute,
            "error": self.error if math.isfinite(self.error) else None,
            "error_of_rate": self.error_of_rate if math.isfinite(self.error) else None,
            "noise": self.noise if self.noise is not None and math.isfinite(self.noise) else None,
        }


@dataclass(frozen=True)
class Cell:
    """A combination of flows, queue, rate and round-trip time."""

    queue: str
    """The queue's name in `grid.QUEUES`."""
    mix: tuple[str, ...]
    """The flows' congestion controls."""
    rate_bit: float
    """Rate of the bottleneck, in bit/s."""
    rtt_s: float
    """Base round-trip time, in seconds."""
    measures: tuple[Measure, ...]
    runs: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the runs, by engine. Each list is in the order of the seeds."""

    @property
    def flows(self) -> str:
        """The flows as text, such as `reno+cubic` or `32 reno+32 cubic`."""
        if not self.mix:
            return "none"
        if len(self.mix) <= 2:
            return "+".join(self.mix)
        return "+".join(f"{len(list(same))} {cc}" for cc, same in groupby(self.mix))

    @property
    def id(self) -> str:
        """The scenario's queue, flows, rate and round-trip time."""
        return f"{self.queue} {self.flows} {self.where}"

    @property
    def where(self) -> str:
        return f"{self.rate_bit / 1e6:g} Mbit/s {self.rtt_s * 1e3:g} ms"

    def of(self, quantity: str) -> list[Measure]:
        """Return the measures of a quantity. There is one measure for each flow, or a single
        measure for the scenario."""
        return [measure for measure in self.measures if measure.quantity == quantity]

    def worst(self, quantity: str) -> Measure | None:
        """Return the measure with the largest error."""
        return max(self.of(quantity), key=lambda m: abs(m.error), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "id": self.id,
            "queue": self.queue,
            "flows": list(self.mix),
            "rate_bit": self.rate_bit,
            "rtt_s": self.rtt_s,
            "measures": [measure.to_dict() for measure in self.measures],
            "runs": self.runs,
        }


def cell(
    queue: str,
    mix: Sequence[str],
    rate_bit: float,
    rtt_s: float,
    sim: Sequence[Summary],
    kernel: Sequence[Summary],
    runs: dict[str, list[str]] | None = None,
    kinds: Sequence[Hashable] | None = None,
) -> Cell:
    """Return the `Cell` of a scenario, computed from the summaries of its runs on both engines.

    Flows with equal `kinds` count as identical. By default, the kind is the congestion control."""

    def both(
        quantity: str, unit: str, value: Callable[[Summary], float | None], **rest: Any
    ) -> Iterable[Measure]:
        here, there = (
            tuple(v for v in map(value, group) if v is not None and math.isfinite(v))
            for group in (sim, kernel)
        )
        if here and there:
            yield Measure(quantity, unit, here, there, **rest)

    measures: list[Measure] = []
    share: dict[str, Any] = {}
    if len(mix) > 1:
        share = {"scale": rate_bit / 1e6 / len(mix), "shares": len(mix)}
    for i, flow in enumerate(sim[0]["flows"]):
        measures += both("throughput", "Mbit/s", _throughput(i), flow=flow["name"], **share)
    alike = _alike(kinds if kinds is not None else mix)
    if any(len(flows) > 1 for flows in alike):
        for flows in alike:
            parts = min(PARTS, len(flows))
            for part in range(parts):
                name = f"{mix[flows[0]]}, part {part + 1} of {parts}"
                value = _in_order(flows, part, parts)
                measures += both("order", "Mbit/s", value, flow=name, **share)
    if len(mix) == 2:
        measures += both("ratio", "", _log_ratio)
    measures += both("delay", "ms", lambda s: s["queue"]["delay_ms"]["mean"])
    measures += both("signals", "packets", _signals)
    measures += both("completion", "ms", _completion)
    measures += both("utilisation", "", lambda s: s["queue"]["utilisation"])
    measures += both(
        "retransmits", "packets", lambda s: sum(f["retransmits"] or 0 for f in s["flows"])
    )
    return Cell(queue, tuple(mix), rate_bit, rtt_s, tuple(measures), runs or {})


def _alike(kinds: Sequence[Hashable]) -> list[list[int]]:
    """Return the flows grouped by kind, in the order in which kinds first appear."""
    found: dict[Hashable, list[int]] = {}
    for i, kind in enumerate(kinds):
        found.setdefault(kind, []).append(i)
    return list(found.values())


def _throughput(flow: int) -> Callable[[Summary], float | None]:
    return lambda summary: float(summary["flows"][flow]["throughput_mbit"])


def _in_order(flows: Sequence[int], part: int, parts: int) -> Callable[[Summary], float | None]:
    """Return a function that sorts these flows by throughput, slowest first, and divides them into
    `parts` parts. The function returns the mean of part number `part`.
    """
    first, last = (len(flows) * end // parts for end in (part, part + 1))

    def value(summary: Summary) -> float:
        ordered = sorted(summary["flows"][i]["throughput_mbit"] for i in flows)
        return math.fsum(ordered[first:last]) / (last - first)

    return value


def _log_ratio(summary: Summary) -> float | None:
    one, other = (flow["throughput_mbit"] for flow in summary["flows"])
    return math.log(one / other) if one and other else None


def _signals(summary: Summary) -> float | None:
    """Return the sum of marks and drops. If the summary counts only marks or only drops, return
    that count.
    """
    known = [summary["queue"][name] for name in ("marks", "drops")]
    return None if known == [None, None] else sum(n or 0 for n in known)


def _completion(summary: Summary) -> float | None:
    """Return the mean time (in ms) from connect to last byte over all requests."""
    bins = [
        size
        for source in summary.get("traffic", ())
        for size in (source.get("completions") or {}).get("bins", ())
        if size["n"]
    ]
    n = sum(size["n"] for size in bins)
    return 1e3 * sum(size["n"] * size["completion_s"]["mean"] for size in bins) / n if n else None
