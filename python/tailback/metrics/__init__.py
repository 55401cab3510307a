"""Metrics: numbers computed from what runs recorded, one file each; how runs are pooled: `pooling`.

They see summaries, series and histograms, never an engine. A new metric is a
new file and one line in `_MODULES`.
"""

from __future__ import annotations

from tailback.errors import InputError
from tailback.metrics import (
    classes,
    completion,
    delay,
    events,
    gain,
    harm,
    jain,
    occupancy,
    ratio,
    requests,
    results,
    rtt,
    throughput,
    utilisation,
)
from tailback.metrics.base import WEIGHTS, Metric, On
from tailback.metrics.groups import group_of, is_of
from tailback.metrics.pooling import RULE
from tailback.metrics.statistics import Estimate, estimate

_MODULES = (
    throughput,
    gain,
    rtt,
    delay,
    utilisation,
    occupancy,
    jain,
    ratio,
    completion,
    events,
    requests,
    classes,
    harm,
)

METRICS: tuple[Metric, ...] = tuple(metric for module in _MODULES for metric in module.METRICS)


def find(name: str, on: On | None = None) -> Metric:
    """The metric of this name or path (about a flow, a link, a class or a run, if that is said).

    `results.NAME` is a number out of the files of a program, whatever its name.
    """
    for metric in METRICS:
        if metric.is_called(name) and on in (None, metric.on):
            return metric
    if on in (None, "flow") and (own := results.metric(name)):
        return own
    raise unknown(name)


def unknown(name: str) -> InputError:
    """A metric that does not exist."""
    from tailback.base import names

    paths = [metric.path for metric in METRICS]
    valid = [metric.name for metric in METRICS]
    return InputError(names.unknown("metric", name, valid, paths, "tailback list metrics"))


__all__ = [
    "METRICS",
    "RULE",
    "WEIGHTS",
    "Estimate",
    "Metric",
    "On",
    "estimate",
    "find",
    "group_of",
    "is_of",
    "unknown",
]
