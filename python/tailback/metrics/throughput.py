"""Throughput of a flow, and of all flows together."""

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric, recorded


def _total(summary: Mapping[str, Any]) -> float | None:
    found = [
        flow["throughput_mbit"] for flow in summary["flows"] if flow["throughput_mbit"] is not None
    ]
    return sum(found) if found else None


METRICS = (
    recorded(
        "throughput_mbit",
        "flow",
        "Mbit/s",
        "Payload delivered in order, over the flow's measured time.",
    ),
    Metric(
        "throughput_total_mbit",
        "run",
        "Mbit/s",
        "Sum of the flows' throughputs, each over its own measured time.",
        _total,
    ),
)
