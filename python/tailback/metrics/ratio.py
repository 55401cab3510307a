"""Throughput of one group of flows over that of another."""

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric
from tailback.metrics.groups import group_of, is_of


def mean_throughput(summary: Mapping[str, Any], group: str) -> float | None:
    """Mean throughput of the flows of a group (`cubic` for cubic/1 and cubic/2), Mbit/s."""
    found = [
        flow["throughput_mbit"]
        for flow in summary["flows"]
        if is_of(flow["name"], group) and flow["throughput_mbit"] is not None
    ]
    return sum(found) / len(found) if found else None


def ratio(summary: Mapping[str, Any], one: str, other: str) -> float | None:
    """Mean throughput of the flows of one group over that of another."""
    above, below = mean_throughput(summary, one), mean_throughput(summary, other)
    return above / below if above is not None and below else None


def _first_two(summary: Mapping[str, Any]) -> float | None:
    groups = list(dict.fromkeys(group_of(flow["name"]) for flow in summary["flows"]))
    return ratio(summary, groups[0], groups[1]) if len(groups) == 2 else None


METRICS = (
    Metric(
        "throughput_ratio",
        "run",
        "",
        "With two groups of flows: mean throughput of the first over that of the second.",
        _first_two,
    ),
)
