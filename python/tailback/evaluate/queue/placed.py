"""Defines sections about queues. The tested algorithm replaces the FIFO of the scenario, with the
same buffer size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tailback.evaluate.criteria import PERFORMANCE, Against, Asked, Within
from tailback.evaluate.measures import at, named, total
from tailback.evaluate.model import Request, SectionResult
from tailback.evaluate.subject import Subject
from tailback.store.results import Results, Run

if TYPE_CHECKING:
    from tailback.report.model import Block

FRAME = 1514
"""Bytes of a full Ethernet frame."""
BUFFER = 165
"""The bandwidth-delay product of 20 Mbit/s and 100 ms, in packets."""

REFERENCE = "FIFO"


@dataclass(frozen=True, kw_only=True)
class _Placed(Asked):
    subject_at: tuple[str, ...] = ("bottleneck.queue",)
    buffer: int = BUFFER
    """Value of the tested algorithm's option `limit`, in packets, if it has this option. The value
    equals the limit of the FIFO that the algorithm replaces."""
    ecn: bool = False
    """Whether to enable ECN marking in the tested algorithm, if it has an option for it."""

    def placed(self, subject: Subject) -> dict[str, object]:
        """Return the values to set in the scenario so that the link uses the tested algorithm as
        its queue."""
        options: dict[str, object] = {}
        limit = subject.options.get("limit")
        if limit is not None:
            packets = limit.get("packets", True)
            options["limit"] = f"{self.buffer}p" if packets else f"{self.buffer * FRAME}b"
        if self.ecn and subject.options.get("ecn", {}).get("type") == "bool":
            options["ecn"] = True
        value = subject.with_options("aqm", **options)
        return dict.fromkeys(self.subject_at, value)


@dataclass(frozen=True, kw_only=True)
class QueueAgainst(_Placed, Against):
    """A comparison with the FIFO of the scenario."""

    reference_name: str = REFERENCE
    ellipse_rtt_ms: float | None = None
    """The smallest round-trip time in ms, by which the ellipses in the report divide the queue
    delay. None means no ellipses."""

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        found = super().outcome(subject, request, results)
        rtt, made = self.ellipse_rtt_ms, found.blocks
        if rtt is None or made is None:
            return found
        other = REFERENCE if subject.against is None else subject.against.name

        def blocks() -> Sequence[Block]:
            from tailback.evaluate.queue.ellipse import figure

            sides = {subject.name: results["subject"], other: results["reference"]}
            return [*figure(self.id, sides, rtt), *made()]

        return replace(found, blocks=blocks)


@dataclass(frozen=True, kw_only=True)
class QueueWithin(_Placed, Within):
    """A requirement for a queue."""


def delay_ms(run: Run) -> float | None:
    """Return the sum of the mean queue delays over all links of the run."""
    return total(at(queue, "delay_ms.mean") for queue in run.summary["queues"].values())


def goodput_mbit(run: Run) -> float | None:
    return total(at(flow, "throughput_mbit") for flow in run.summary["flows"])


def pair(
    number: str,
    title: str,
    scenario: str,
    *,
    quick: Mapping[str, object],
    subject_at: tuple[str, ...] = ("bottleneck.queue",),
    buffer: int = BUFFER,
    fixed: Mapping[str, object] | None = None,
    rtt_ms: float | None = 100.0,
) -> tuple[QueueAgainst, QueueAgainst]:
    """Return two criteria for a section.

    The criteria compare queue delay and goodput with the results of the FIFO.
    """
    delay = QueueAgainst(
        id=number,
        title=f"{title}: delay",
        source=f"RFC 7928 section {number}",
        scenario=scenario,
        quick=quick,
        fixed=fixed or {},
        subject_at=subject_at,
        buffer=buffer,
        measure=f"mean queue delay minus {REFERENCE}'s, divided by the larger of the two",
        value=delay_ms,
        unit=" ms",
        ellipse_rtt_ms=rtt_ms,
    )
    goodput = replace(
        delay,
        id=f"{number}-goodput",
        title=f"{title}: goodput",
        measure=(
            f"{REFERENCE}'s goodput minus the tested algorithm's, divided by the larger of the two"
        ),
        value=goodput_mbit,
        better="more",
        margin=PERFORMANCE,
        unit=" Mbit/s",
        ellipse_rtt_ms=None,
    )
    return delay, goodput


def of_short(run: Run) -> float | None:
    return at(named(run, "short")[0], "completion_s")
