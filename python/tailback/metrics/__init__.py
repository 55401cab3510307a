"""Metrics: numbers computed from what runs recorded. `pooling` defines how runs are pooled.

Metrics read summaries, series and histograms, never an engine. Metrics that are plain fields of the
summary are made from its declarations (`recorded`). A metric with a computation of its own is a
file here and a line in `_COMPUTED`.
"""

from __future__ import annotations

from tailback.errors import InputError
from tailback.metrics import (
    classes,
    completion,
    gain,
    harm,
    ratio,
    recorded,
    requests,
    results,
    throughput,
)
from tailback.metrics.base import WEIGHTS, Metric, On
from tailback.metrics.groups import group_of, is_of
from tailback.metrics.pooling import RULE
from tailback.metrics.statistics import Estimate, estimate

_COMPUTED = (throughput, gain, ratio, completion, requests, classes, harm)

METRICS: tuple[Metric, ...] = tuple(
    # A computed metric replaces the plain field of the same path, at the field's place in the
    # order.
    {
        (metric.on, metric.path): metric
        for metrics in (recorded.METRICS, *(module.METRICS for module in _COMPUTED))
        for metric in metrics
    }.values()
)

ONS: tuple[On, ...] = ("link", "flow", "class", "run")
"""Which part a name belongs to by default, if several parts have it."""


def offered(word: str) -> list[Metric]:
    """Return the metrics of a name or path, which may follow a scope (`link.drops`).

    `results.NAME` is a number that a program wrote to a file; any name is accepted.
    """
    scope, dot, rest = word.partition(".")
    matches = [
        metric
        for metric in METRICS
        if metric.is_called(word) or (dot and metric.on == scope and metric.is_called(rest))
    ]
    if not matches and (own := results.metric(rest if scope == "flow" else word)):
        return [own]
    return matches


def find(name: str, on: On | None = None) -> Metric:
    """The metric of this name or path. `on` chooses among flow, link, class and run; without it, a
    name that several parts have means the link's.
    """
    if matches := [metric for metric in offered(name) if on in (None, metric.on)]:
        return min(matches, key=lambda metric: ONS.index(metric.on))
    raise unknown(name)


def unknown(name: str) -> InputError:
    """Return the error for a metric that does not exist."""
    from tailback.base import names

    paths = [metric.path for metric in METRICS]
    valid = [metric.name for metric in METRICS]
    return InputError(names.unknown("metric", name, valid, paths, "tailback list metrics"))


__all__ = [
    "METRICS",
    "ONS",
    "RULE",
    "WEIGHTS",
    "Estimate",
    "Metric",
    "On",
    "estimate",
    "find",
    "group_of",
    "is_of",
    "offered",
    "unknown",
]
