"""RFC 9332: the properties of a dual queue for L4S that a run can measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tailback.evaluate.measures import at
from tailback.evaluate.model import Request, SectionResult
from tailback.evaluate.queue.placed import FRAME, QueueWithin
from tailback.evaluate.subject import Subject
from tailback.running.batch import Job
from tailback.store.results import Results, Run


@dataclass(frozen=True, kw_only=True)
class _Dual(QueueWithin):
    """A requirement for dual queues. Other queues are not tested."""

    buffer: int = 1000

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        return super().jobs(folder, subject, request) if subject.dual else {}

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        if not results:
            return self.unsupported("For dual queues only.")
        return super().outcome(subject, request, results)


def _of_class(run: Run, name: str, path: str) -> float | None:
    return next((at(one, path) for one in run.summary["classes"] if one["name"] == name), None)


def _ratio(run: Run) -> float | None:
    rates = [at(flow, "throughput_mbit") for flow in run.summary["flows"]]
    known = [rate for rate in rates if rate]
    return max(known) / min(known) if len(known) == 2 else None


def _packets_beyond_threshold(run: Run) -> float | None:
    """Return the amount by which the 99th percentile of the L4S queue's delay exceeds the threshold
    of 1 ms. The unit is the transmission time of a full packet."""
    delay = _of_class(run, "L", "delay_ms.p99")
    rate = run.manifest["canonical"]["links"][0]["rate"]
    return None if delay is None else (delay - 1.0) / (FRAME * 8e3 / rate)


def _overload_drops(run: Run) -> float | None:
    [udp] = run.summary["traffic"]
    return udp["drops"] / udp["sent_packets"] if udp["sent_packets"] else None


_BATTERY = {
    "duration": "40s",
    "sweep": {"bottleneck.rate": ["12Mbit", "120Mbit"], "path.rtt": ["5ms", "50ms"]},
}

BATTERY = (
    _Dual(
        id="L4S-battery-share",
        title="Dual queue: rates of Prague and CUBIC at many link rates and RTTs",
        source="l4s-battery, equal RTT 1-1",
        scenario="l4s-battery.toml",
        quick=_BATTERY,
        quick_seeds=5,
        seeds=10,
        measure="throughputs of Prague and CUBIC at equal RTTs, the larger divided by the smaller",
        value=_ratio,
        bound=4.0,
    ),
    _Dual(
        id="L4S-battery-delay",
        title="Dual queue: delay of the L4S queue at many link rates and RTTs",
        source="l4s-battery, equal RTT 1-1",
        scenario="l4s-battery.toml",
        quick=_BATTERY,
        quick_seeds=5,
        seeds=10,
        measure="99th percentile of the L4S queue's delay, minus 1 ms, in packet times",
        value=_packets_beyond_threshold,
        bound=3.0,
    ),
)
"""The combinations of rate and RTT in `l4s-battery`. The scenario file contains the same
combinations for `tailback run`."""

CRITERIA = (
    _Dual(
        id="L4S-share",
        title="Dual queue: rates of Prague and CUBIC",
        source="RFC 9332 section 2.1",
        scenario="l4s-share.toml",
        quick={"duration": "40s"},
        measure="throughputs of Prague and CUBIC at equal RTTs, the larger divided by the smaller",
        value=_ratio,
        bound=4.0,
    ),
    _Dual(
        id="L4S-delay",
        title="Dual queue: delay of the L4S queue",
        source="RFC 9332 section 2.5.2.2",
        scenario="l4s-share.toml",
        quick={"duration": "40s"},
        measure="99th percentile of the delay of the L4S queue, ms",
        value=lambda run: _of_class(run, "L", "delay_ms.p99"),
        bound=2.0,
    ),
    _Dual(
        id="L4S-overload",
        title="Dual queue: drops at overload",
        source="RFC 9332 section 2.5.1",
        scenario="l4s-overload.toml",
        quick={},
        measure="share of unresponsive ECT(1) packets dropped at 1.5 times the link's rate",
        value=_overload_drops,
        bound=0.25,
        better="more",
    ),
)
