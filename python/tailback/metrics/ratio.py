"""Metric: the mean throughput of one group of flows or programs, divided by the mean throughput of
another group.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tailback.metrics import parts
from tailback.metrics.base import Metric
from tailback.metrics.groups import group_of, is_of


def mean_throughput(summary: Mapping[str, Any], group: str) -> float | None:
    """Return the mean throughput, in Mbit/s, of a group such as `cubic` (cubic/1 and cubic/2)."""
    rates = [
        flow["throughput_mbit"]
        for flow in parts.flows(summary)
        if is_of(flow["name"], group) and flow["throughput_mbit"] is not None
    ]
    return sum(rates) / len(rates) if rates else None


def ratio(summary: Mapping[str, Any], one: str, other: str) -> float | None:
    """Return the mean throughput of one group of flows or programs, divided by the mean throughput
    of another group."""
    above, below = mean_throughput(summary, one), mean_throughput(summary, other)
    return above / below if above is not None and below else None


def _first_two(summary: Mapping[str, Any]) -> float | None:
    groups = _groups(summary["flows"])
    if len(groups) < 2:
        # If the flows form fewer than two groups, also use the programs.
        groups = _groups(parts.flows(summary))
    return ratio(summary, groups[0], groups[1]) if len(groups) == 2 else None


def _groups(flows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(group_of(flow["name"]) for flow in flows))


METRICS = (
    Metric(
        "throughput_ratio",
        "run",
        "",
        "Mean throughput of the first group of flows divided by the mean throughput of the second "
        "group. Copies of one flow, such as cubic/1 and cubic/2, form a group. If the run does not "
        "have two groups of flows, each program counts as a group.",
        _first_two,
        "flows",
    ),
)
