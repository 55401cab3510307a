"""Defines metrics: numbers computed from the records of runs. `pooling` defines how the numbers of
several runs are pooled.

Metrics read summaries, series and histograms. They do not depend on an engine. `recorded` makes the
metrics that are plain fields from the declarations of the summary's fields. To add a metric with a
computation, write a module here and add a line to `_COMPUTED`.
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
    # A computed metric replaces the plain field with the same path, and takes its position in the
    # order.
    {
        (metric.on, metric.path): metric
        for metrics in (recorded.METRICS, *(module.METRICS for module in _COMPUTED))
        for metric in metrics
    }.values()
)

ONS: tuple[On, ...] = ("link", "flow", "class", "run")
"""The order of scopes. If several scopes have a metric of the same name, the name without a scope
means the metric of the first of them."""


def offered(word: str) -> list[Metric]:
    """Return the metrics with a name or path. A scope may precede the name or path (`link.drops`).

    `results.NAME` is a number that a program wrote to a file. The function accepts any NAME.
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
    """Return the metric with this name or path. `on` chooses among flow, link, class and run.
    Without `on`, return the first match in the order of `ONS`.
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
