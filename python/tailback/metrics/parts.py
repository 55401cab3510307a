"""The parts of a run that are of one sort: what throughput is shared among, and what sends at all.

A program of `[[programs]]` is listed like a flow: its throughput is the payload that reached
the receiver's host, its RTT what its packets show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tailback.metrics.base import On

Part = Mapping[str, Any]


Kind = Literal["flow", "traffic", "program", "link", "class", "run"]
KINDS: tuple[Kind, ...] = ("flow", "traffic", "program", "link", "class", "run")

LIKE_FLOWS: tuple[Kind, ...] = ("flow", "traffic", "program")
"""What has the metrics of a flow."""

_KEYS: Mapping[Kind, str] = {
    "flow": "flows",
    "traffic": "traffic",
    "program": "programs",
    "link": "queues",
    "class": "classes",
}
"""What a summary calls them."""


def on(kind: Kind) -> On:
    """What the metrics of parts of a kind are about."""
    return "flow" if kind in LIKE_FLOWS else kind  # type: ignore[return-value]


def of(summary: Part, kind: Kind) -> Sequence[Part]:
    """The parts of a kind, in the order of the file; a run is its only part."""
    if kind == "run":
        return [summary]
    # Runs without programs say nothing of them.
    found: Any = summary.get(_KEYS[kind], ())
    return list(found.values()) if isinstance(found, Mapping) else found


def programs(summary: Part) -> Sequence[Part]:
    """Its programs; a run without any says nothing of them."""
    found: Sequence[Part] = summary.get("programs", ())
    return found


def flows(summary: Part) -> list[Part]:
    """Its flows, then its programs."""
    return [*summary["flows"], *programs(summary)]


def senders(summary: Part) -> list[Part]:
    """Its flows, its sources of traffic, then its programs."""
    return [*summary["flows"], *summary["traffic"], *programs(summary)]


def kind(part: Part) -> str:
    """What a flow, source or program is: its congestion control, or its kind."""
    return part.get("cc") or part.get("kind") or "program"
