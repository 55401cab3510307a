"""Metric: the sum of the throughputs of all flows and programs."""

from collections.abc import Mapping
from typing import Any

from tailback.metrics import parts
from tailback.metrics.base import Metric


def _total(summary: Mapping[str, Any]) -> float | None:
    flows = parts.flows(summary)
    found = [flow["throughput_mbit"] for flow in flows if flow["throughput_mbit"] is not None]
    return sum(found) if found else None


METRICS = (
    Metric(
        "throughput_total_mbit",
        "run",
        "Mbit/s",
        "Sum of the throughputs of all flows and programs.",
        _total,
        "bytes",
    ),
)
