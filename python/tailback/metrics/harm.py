"""Harm (Ware and others, HotNets 2019): how much worse something fares with a competitor.

A share of what could be had: of the time that is taken with the competitor, where less is better,
or of the rate that was had alone, where more is better. It is of two results, one without the
competitor and one with it, so that a single run has none. 0: nothing was lost; 1: all of it.
Negative: the competitor helped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from tailback.metrics.base import Metric, field

Better = Literal["less", "more"]


def harm(alone: float, contended: float, better: Better) -> float | None:
    """What the competitor costs, as a share; `None` where that has no meaning."""
    whole = contended if better == "less" else alone
    if whole <= 0:
        return None
    return (contended - alone if better == "less" else alone - contended) / whole


def _of(better: Better) -> Callable[[float, float], float | None]:
    return lambda alone, contended: harm(alone, contended, better)


def _requests(part: Mapping[str, Any]) -> float | None:
    """Mean completion time of all requests of a source, s."""
    bins = [one for one in (part.get("completions") or {}).get("bins", ()) if one["n"]]
    total = sum(one["n"] for one in bins)
    return sum(one["n"] * one["completion_s"]["mean"] for one in bins) / total if total else None


def _metric(
    name: str, of: Callable[[Mapping[str, Any]], float | None], better: Better, words: str
) -> Metric:
    return Metric(
        f"harm.{name}",
        "flow",
        "",
        f"Harm to {words}: of a variant with a competitor, the baseline being without.",
        of,
        _of(better),
    )


METRICS = (
    _metric("throughput", field("throughput_mbit"), "more", "throughput"),
    _metric("completion", field("completion_s"), "less", "the completion time of a flow"),
    _metric("requests", _requests, "less", "the mean completion time of requests"),
    _metric("rtt_mean", field("rtt_ms.mean"), "less", "the mean RTT"),
    _metric("rtt_p99", field("rtt_ms.p99"), "less", "the 99th percentile of the RTT"),
)
