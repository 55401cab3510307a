"""Computes numbers that the DualPI2 reports show but the summaries of runs do not contain, such as
normalised rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RANKS = ("p1", "p25", "mean", "p75", "p99")
"""The statistics of a quantity that the figures draw."""

Stat = Mapping[str, float | None]


@dataclass(frozen=True)
class Group:
    """The number, RTT and queue delay of the flows of a class."""

    flows: int
    rtt_ms: float
    """Base round-trip time of the flows, in ms."""
    delay_ms: float
    """Mean queue delay of the class, in ms."""


def normalised_rate(rate_mbit: float, link_mbit: float, flows: int) -> float:
    """Return a flow's rate divided by its fair share of the link: rate / (link / N)."""
    return rate_mbit * flows / link_mbit


def normalised_window(window_bytes: float, link_mbit: float, groups: Iterable[Group]) -> float:
    """Return a flow's window divided by the window that each flow would have if all windows were
    equal:

    window / [C / (n_L / (q_L + RTT_L) + n_C / (q_C + RTT_C))].
    """
    per_second = sum(g.flows / ((g.delay_ms + g.rtt_ms) / 1e3) for g in groups)
    return window_bytes * per_second / (link_mbit * 1e6 / 8)


def over_seeds(stats: Sequence[Stat | None]) -> dict[str, float]:
    """Return each percentile as the mean over seeds. Leave out a percentile that has no value in
    any run.
    """
    means: dict[str, float] = {}
    for rank in RANKS:
        values = [s[rank] for s in stats if s is not None and s.get(rank) is not None]
        known = [float(v) for v in values if v is not None]
        if known:
            means[rank] = math.fsum(known) / len(known)
    return means


def scaled(stat: Mapping[str, float], factor: float) -> dict[str, float]:
    """Return a statistic multiplied by a factor."""
    return {rank: value * factor for rank, value in stat.items()}


def flow_groups(canonical: Mapping[str, Any]) -> dict[str, tuple[int, float]]:
    """Return the number of flows and their mean base RTT (in ms) for each class of a sweep point in
    canonical form."""
    by_class: dict[str, list[float]] = {}
    for flow in canonical["flows"]:
        name = flow.get("class")
        if name:
            by_class.setdefault(name, []).extend([flow["rtt"] / 1e6] * flow["count"])
    return {name: (len(rtts), math.fsum(rtts) / len(rtts)) for name, rtts in by_class.items()}
