"""Harm (Ware and others, HotNets 2019): how much a competitor worsens a result.

Where less is better, it is the share of the time with the competitor that the competitor adds.
Where more is better, it is the share of the rate without the competitor that is lost. It needs two
results, one without the competitor and one with it, so a single run has none. 0: nothing was lost;
1: everything. Negative: the competitor helped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tailback.metrics import completion, recorded, requests
from tailback.metrics.base import Better, Metric, OfTwo


def harm(alone: float, contended: float, better: Better) -> float | None:
    """The cost of the competitor, as a share; `None` if that has no meaning."""
    whole = contended if better == "less" else alone
    if whole <= 0:
        return None
    return (contended - alone if better == "less" else alone - contended) / whole


def _of_one(_: Mapping[str, Any]) -> None:
    """A single run has no harm."""


def _metric(name: str, quantity: Metric, words: str) -> Metric:
    assert quantity.better is not None
    return Metric(
        f"harm.{name}",
        "flow",
        "",
        f"Harm to {words}: of a variant with a competitor, against a baseline without it.",
        _of_one,
        quantity.weight,
        most=1.0,
        of_two=OfTwo(quantity, partial(harm, better=quantity.better)),
    )


def _called(metrics: tuple[Metric, ...], path: str) -> Metric:
    return next(metric for metric in metrics if metric.path == path)


METRICS = (
    _metric("throughput", recorded.metric("throughput_mbit", "flow"), "throughput"),
    _metric(
        "completion",
        _called(completion.METRICS, "completion_s"),
        "the completion time of a flow",
    ),
    _metric(
        "requests",
        _called(requests.METRICS, "requests_completion_s"),
        "the mean completion time of requests",
    ),
    _metric("rtt_mean", recorded.metric("rtt_ms.mean", "flow"), "the mean RTT"),
    _metric("rtt_p99", recorded.metric("rtt_ms.p99", "flow"), "the 99th percentile of the RTT"),
    _metric(
        "one_way_mean",
        recorded.metric("one_way_delay_ms.mean", "flow"),
        "the mean one-way delay of datagrams",
    ),
    _metric(
        "one_way_p99",
        recorded.metric("one_way_delay_ms.p99", "flow"),
        "the 99th percentile of the one-way delay of datagrams",
    ),
    _metric(
        "frame_p99",
        recorded.metric("frame_delay_ms.p99", "flow"),
        "the 99th percentile of the delay of frames of media",
    ),
    _metric("drops", recorded.metric("drops", "flow"), "the number of its packets dropped"),
    _metric("chunk_mean", recorded.metric("chunk_ms.mean", "flow"), "the mean time of chunks"),
    _metric(
        "chunk_p99",
        recorded.metric("chunk_ms.p99", "flow"),
        "the 99th percentile of the time of chunks",
    ),
)
