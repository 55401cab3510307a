"""Lists the parts of a run by kind: flows, sources of traffic, programs, links and classes.

A program of `[[programs]]` is listed like a flow. Its throughput is the payload that reached the
receiver's host, its RTT is computed from its packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tailback.metrics.base import On

Part = Mapping[str, Any]


Kind = Literal["flow", "traffic", "program", "link", "class", "run"]
KINDS: tuple[Kind, ...] = ("flow", "traffic", "program", "link", "class", "run")

LIKE_FLOWS: tuple[Kind, ...] = ("flow", "traffic", "program")
"""The kinds with the metrics of a flow."""

_KEYS: Mapping[Kind, str] = {
    "flow": "flows",
    "traffic": "traffic",
    "program": "programs",
    "link": "queues",
    "class": "classes",
}
"""The key in a summary that lists the parts of each kind."""


def on(kind: Kind) -> On:
    """The scope of metrics for the parts of a kind."""
    return "flow" if kind in LIKE_FLOWS else kind  # type: ignore[return-value]


def of(summary: Part, kind: Kind) -> Sequence[Part]:
    """The parts of a kind, in the order of the file. The only part of the kind "run" is the run."""
    if kind == "run":
        return [summary]
    # Summaries of runs without programs do not list them.
    found: Any = summary.get(_KEYS[kind], ())
    return list(found.values()) if isinstance(found, Mapping) else found


def programs(summary: Part) -> Sequence[Part]:
    """The programs of a summary; empty for a run without programs."""
    found: Sequence[Part] = summary.get("programs", ())
    return found


def flows(summary: Part) -> list[Part]:
    """The flows of a summary, then its programs."""
    return [*summary["flows"], *programs(summary)]


def senders(summary: Part) -> list[Part]:
    """The flows of a summary, its sources of traffic, then its programs."""
    return [*summary["flows"], *summary["traffic"], *programs(summary)]


def kind(part: Part) -> str:
    """What to call a flow, source or program: its congestion control, or else its kind."""
    return part.get("cc") or part.get("kind") or "program"
