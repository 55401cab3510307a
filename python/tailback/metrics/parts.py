"""The parts of a run that are of one sort: what throughput is shared among, and what sends at all.

A program of `[[programs]]` stands where a flow does: its throughput is the payload that reached
the receiver's host, its RTT what its packets show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Part = Mapping[str, Any]


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
