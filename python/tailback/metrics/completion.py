"""Metric: the completion time of a flow that transfers a fixed amount of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tailback.metrics import recorded
from tailback.metrics.base import field
from tailback.metrics.groups import group_of

UNFINISHED = "unfinished_s"
"""Key in the summary of an unfinished transfer. The value of this key is the time, in seconds, from
the transfer's start to the end of its observation."""

METRICS = (replace(recorded.metric("completion_s", "flow"), at_least=field(UNFINISHED)),)


def transfers(canonical: Mapping[str, Any]) -> dict[str, float]:
    """Return the latest possible start (in seconds) of each flow with a fixed size, by name.

    The result is empty if another version of tailback wrote the canonical scenario in a format
    without these fields.
    """
    try:
        return {
            flow["name"]: (flow["start"] + canonical["start_jitter"]) / 1e9
            for flow in canonical["flows"]
            if flow["bytes"] is not None
        }
    except (KeyError, TypeError):
        return {}


def add(summary: Mapping[str, Any], starts_s: Mapping[str, float]) -> None:
    """Add to a summary the time that each unfinished transfer has taken so far.

    The time is a lower bound of the completion time. This time begins at the flow's start, or at
    the latest possible start if the flow started during the warm-up. This time ends when the flow
    or the run ends. `transfers` returns `starts_s`.
    """
    for flow in summary["flows"] if starts_s else ():
        latest_s = starts_s.get(flow["name"], starts_s.get(group_of(flow["name"])))
        if latest_s is None or flow.get("completion_s") is not None:
            continue
        start_s = flow["from_s"]
        if start_s <= summary["warmup_s"]:
            start_s = min(start_s, latest_s)
        flow[UNFINISHED] = max(0.0, flow["to_s"] - start_s)
