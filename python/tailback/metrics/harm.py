"""Metrics of harm (Ware and others, HotNets 2019): how much a competitor worsens a result.

Harm is computed from the values with and without the competitor. If less is better, as for a time,
harm is (with - without) / with. If more is better, as for a rate, harm is (without - with) /
without. Harm compares two results, with and without the competitor, so a single run has no harm. A
harm of 0 means that nothing was lost, and a harm of 1 means that everything was lost. If harm is
negative, the competitor helped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tailback.metrics import completion, parts, recorded, requests
from tailback.metrics.base import Better, Metric, OfTwo
from tailback.metrics.groups import is_of


def harm(alone: float, contended: float, better: Better) -> float | None:
    """Compute the harm from a value without the competitor and the value with it. Return `None` if
    the divisor is not positive.
    """
    whole = contended if better == "less" else alone
    if whole <= 0:
        return None
    return (contended - alone if better == "less" else alone - contended) / whole


def _of_one(_: Mapping[str, Any]) -> None:
    """Return None, because a single run has no harm."""


def _metric(name: str, quantity: Metric, words: str) -> Metric:
    assert quantity.better is not None
    return Metric(
        f"harm.{name}",
        "flow",
        "",
        f"Harm that a competitor does to {words}.",
        _of_one,
        quantity.weight,
        least=None,
        most=1.0,
        only=quantity.only,
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
        "the 99th percentile of the delay of media frames",
    ),
    _metric("drops", recorded.metric("drops", "flow"), "the number of dropped packets of a flow"),
    _metric(
        "chunk_mean",
        recorded.metric("chunk_ms.mean", "flow"),
        "the mean time that chunks take to arrive",
    ),
    _metric(
        "chunk_p99",
        recorded.metric("chunk_ms.p99", "flow"),
        "the 99th percentile of the time that chunks take to arrive",
    ),
)


FIELD = "harm"
"""Key in the summary of a flow, program or source. The value of this key is the harm, by competitor
and quantity."""


def add(summary: dict[str, Any], competitor: str, alone: Mapping[str, Any]) -> None:
    """Add to the summary of a run the harm that a competitor does to every other flow, program and
    source. `alone` is the summary of the run without the competitor.

    If one of the runs does not have a quantity, the harm to this quantity is None.
    """
    for kind in parts.LIKE_FLOWS:
        before = {part["name"]: part for part in parts.of(alone, kind)}
        for part in parts.of(summary, kind):
            if is_of(part["name"], competitor):
                continue
            own = {
                _quantity(metric): _between(metric, before.get(part["name"]), part)
                for metric in METRICS
                if kind in metric.parts
            }
            part.setdefault(FIELD, {})[competitor] = own  # type: ignore[attr-defined]


def competitors(absences: Iterable[Iterable[str]]) -> list[str]:
    """Return the names of all competitors that at least one run leaves out, without repetition.

    `absences` has the names of the competitors that each run leaves out (`Run.without`).
    """
    return list(dict.fromkeys(name for names in absences for name in names))


def by(metric: Metric, competitor: str) -> Metric:
    """Return a harm metric that reads from a run's summary the harm that one competitor does."""
    quantity = _quantity(metric)

    def value(part: Mapping[str, Any]) -> float | None:
        found: float | None = part.get(FIELD, {}).get(competitor, {}).get(quantity)
        return found

    return replace(metric, value=value, of_two=None)


def _quantity(metric: Metric) -> str:
    return metric.path.partition(".")[2]


def _between(
    metric: Metric, alone: Mapping[str, Any] | None, part: Mapping[str, Any]
) -> float | None:
    assert metric.of_two is not None
    a, b = (None if one is None else metric.of_two.quantity.value(one) for one in (alone, part))
    return None if a is None or b is None else metric.of_two.between(a, b)
