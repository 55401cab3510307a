"""Defines metrics: numbers computed from the results of runs. `pooling` combines the numbers of
several runs.

Metrics are computed from summaries, series and histograms. The definitions of metrics do not depend
on the engine. `recorded` makes a metric of each field that the summary's declarations mark as a
metric. To add a metric that needs a computation, write a module in this folder and add a line to
`_COMPUTED`.
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
    # A computed metric replaces the field's metric with the same path, and takes its position.
    {
        (metric.on, metric.path): metric
        for metrics in (recorded.METRICS, *(module.METRICS for module in _COMPUTED))
        for metric in metrics
    }.values()
)

ONS: tuple[On, ...] = ("link", "flow", "class", "run")
"""The order of scopes. If several scopes have a metric of the same name, the name without a scope
means the metric of the first of these scopes."""


def offered(word: str) -> list[Metric]:
    """Return the metrics that have this name or path. The word may begin with a scope, as in
    `link.drops`.

    `results.NAME` is a number that a program wrote to a file. Any NAME is accepted.
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
    Without `on`, prefer flow metrics, then the other scopes in the order of `ONS`.
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
