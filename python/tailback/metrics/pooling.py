"""Combines the values of runs with different seeds. Only this module computes means over seeds.

Callers read a metric of one flow, link or class in each run, and pass these readings to
`over_runs`. `Metric` defines how runs without a value are treated. `Metric` also defines the range
of possible values, to which intervals are cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.base import Metric
from tailback.metrics.statistics import Estimate, estimate

RULE = (
    "the mean over seeds, with Student's t interval at 95 %. If a run has several flows with "
    "the same name (`count`), the run's value is the mean over these flows. Paired comparisons use "
    "only the seeds for which the metric has a value in both variants of the scenario"
)
"""How every metric is pooled, as text for the documentation."""


@dataclass(frozen=True)
class Reading:
    """The value of a metric in one run, or a lower bound of the value."""

    value: float | None
    at_least: float | None = None
    """A lower bound of the value, if `value` itself is missing."""


Readings = Mapping[int, Reading]
"""The values of a metric in several runs, by seed."""

NOTHING = Reading(None)


def read(metric: Metric, part: Mapping[str, Any] | None) -> Reading:
    """Read a metric of a flow, link, class or run from the summary. Return `NOTHING` if `part` is
    None, or if it has neither a value nor a lower bound."""
    if part is None:
        return NOTHING
    value = metric.value(part)
    if value is not None:
        return Reading(value)
    if metric.at_least is None or (bound := metric.at_least(part)) is None:
        return NOTHING
    return Reading(None, bound)


def together(readings: Sequence[Reading]) -> Reading:
    """Average the values of several flows, links or classes of one run.

    The result is a lower bound if any of the parts has only a lower bound.
    """
    known = [one.value for one in readings if one.value is not None]
    bounds = [one.at_least for one in readings if one.at_least is not None]
    if bounds:
        return Reading(None, math.fsum([*known, *bounds]) / (len(known) + len(bounds)))
    return Reading(math.fsum(known) / len(known) if known else None)


def over_runs(metric: Metric, readings: Iterable[Reading]) -> Estimate:
    """Pool the values of runs that differ only in their seeds."""
    every = list(readings)
    bounds = [one.at_least for one in every if one.at_least is not None]
    if not bounds:
        return estimate((one.value for one in every), least=metric.least, most=metric.most)
    known = [one.value for one in every if one.value is not None]
    whole = math.fsum([*known, *bounds]) / (len(known) + len(bounds))
    return Estimate(len(known), None, None, len(every), whole)


def between(metric: Metric, base: Readings, other: Readings, *, paired: bool) -> Estimate:
    """Pool a metric that compares two results.

    If the results have the same seeds, compare the values of each seed. Otherwise,
    compare the means.
    """
    assert metric.of_two is not None
    make, quantity = metric.of_two.between, metric.of_two.quantity
    if paired:
        by_seed = by_pair(metric, base, other)
        return estimate((by_seed.get(seed) for seed in other), least=metric.least, most=metric.most)
    a, b = (over_runs(quantity, side.values()).mean for side in (base, other))
    value = make(a, b) if a is not None and b is not None else None
    return estimate([value], least=metric.least, most=metric.most)


def by_pair(metric: Metric, base: Readings, other: Readings) -> dict[int, float]:
    """Compute a metric that compares two results, for each seed that has a value in both
    results."""
    assert metric.of_two is not None
    a, b = values(base), values(other)
    found = {seed: metric.of_two.between(a[seed], b[seed]) for seed in b if seed in a}
    return {seed: value for seed, value in found.items() if value is not None}


def values(readings: Readings) -> dict[int, float]:
    """Return the known values by seed."""
    return {seed: one.value for seed, one in readings.items() if one.value is not None}
