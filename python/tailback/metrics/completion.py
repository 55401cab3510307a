"""Metric of the completion time of a flow with a given size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tailback.metrics import recorded
from tailback.metrics.base import field
from tailback.metrics.groups import group_of

UNFINISHED = "unfinished_s"
"""Key of a transfer that did not finish: the time from its start to the end of its observation,
s."""

METRICS = (replace(recorded.metric("completion_s", "flow"), at_least=field(UNFINISHED)),)


def transfers(canonical: Mapping[str, Any]) -> dict[str, float]:
    """Return the latest possible start of each flow with a size, s, by name.

    Empty for a point of another version of tailback, in which the sizes of flows are unknown.
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
    """Add to a summary for how long each unfinished transfer had run.

    This time is a lower bound of the completion time. It lasts from the flow's start, or from the
    latest possible start if that was in the warm-up, to the end of the flow or of the run.
    `starts_s` is from `transfers`.
    """
    for flow in summary["flows"] if starts_s else ():
        latest_s = starts_s.get(flow["name"], starts_s.get(group_of(flow["name"])))
        if latest_s is None or flow.get("completion_s") is not None:
            continue
        start_s = flow["from_s"]
        if start_s <= summary["warmup_s"]:
            start_s = min(start_s, latest_s)
        flow[UNFINISHED] = max(0.0, flow["to_s"] - start_s)
