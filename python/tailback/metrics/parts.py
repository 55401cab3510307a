"""Lists the parts of a run, which are its flows, sources of traffic, programs, links and classes.

A program of `[[programs]]` is treated like a flow. A program's throughput is the payload that
reached the receiver's host. A program's RTT is computed from the program's packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tailback.metrics.base import On

Part = Mapping[str, Any]


Kind = Literal["flow", "traffic", "program", "link", "class", "run"]
KINDS: tuple[Kind, ...] = ("flow", "traffic", "program", "link", "class", "run")

LIKE_FLOWS: tuple[Kind, ...] = ("flow", "traffic", "program")
"""The kinds of parts that have the metrics of a flow."""

_KEYS: Mapping[Kind, str] = {
    "flow": "flows",
    "traffic": "traffic",
    "program": "programs",
    "link": "queues",
    "class": "classes",
}
"""The key in a summary with the list of the parts of each kind."""


def on(kind: Kind) -> On:
    """Return the scope of the metrics that describe this kind of part."""
    return "flow" if kind in LIKE_FLOWS else kind  # type: ignore[return-value]


def of(summary: Part, kind: Kind) -> Sequence[Part]:
    """Return the flows, links or other parts of a kind in the order of the scenario. The kind "run"
    has the whole summary as its only part."""
    if kind == "run":
        return [summary]
    # The summary of a run without programs has no key for programs.
    found: Any = summary.get(_KEYS[kind], ())
    return list(found.values()) if isinstance(found, Mapping) else found


def programs(summary: Part) -> Sequence[Part]:
    """Return the programs of a summary."""
    found: Sequence[Part] = summary.get("programs", ())
    return found


def flows(summary: Part) -> list[Part]:
    """Return the flows of a summary, then its programs."""
    return [*summary["flows"], *programs(summary)]


def senders(summary: Part) -> list[Part]:
    """Return the flows of a summary, its sources of traffic, then its programs."""
    return [*summary["flows"], *summary["traffic"], *programs(summary)]


def kind(part: Part) -> str:
    """Return a flow's congestion control, a source's kind of traffic, or "program"."""
    return part.get("cc") or part.get("kind") or "program"
