"""Throughput of the slowest flow over that of the fastest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric


def _least_over_most(summary: Mapping[str, Any]) -> float | None:
    found = [flow["throughput_mbit"] for flow in summary["flows"]]
    found = [value for value in found if value is not None]
    return min(found) / max(found) if len(found) > 1 and max(found) > 0 else None


METRICS = (
    Metric(
        "throughput_least_over_most",
        "run",
        "",
        "Throughput of the slowest flow over that of the fastest (max-min fairness: 1).",
        _least_over_most,
    ),
)
