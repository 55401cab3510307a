"""Defines a metric: how to compute it from the results of a run, and how to combine the numbers of
several runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tailback.errors import InputError
from tailback.metrics.naming import has_unit, identifier

On = Literal["flow", "link", "class", "run"]

Weight = Literal[
    "count", "bytes", "packets", "samples", "requests", "time", "intervals", "flows", "once"
]
"""The quantity by which the values within a run are weighted. `WEIGHTS` contains a description of
each quantity."""

WEIGHTS: Mapping[Weight, str] = {
    "count": "a count of events",
    "bytes": "a count of bytes",
    "packets": "one value per packet or media frame",
    "samples": "one value per sample",
    "requests": "one value per request, chunk, page or probe",
    "time": "the value at every moment",
    "intervals": "one value per interval",
    "flows": "one value per flow",
    "once": "one value per run",
}

Better = Literal["less", "more"]


@dataclass(frozen=True)
class OfTwo:
    """Describes how a metric compares two results: the quantity that is read from both results, and
    a function of the two values.
    """

    quantity: Metric
    between: Callable[[float, float], float | None]
    """Computes the metric from two values: first the value without the competitor, then the value
    with the competitor."""


@dataclass(frozen=True)
class Metric:
    """A number that describes a flow, link, class of flows or run.

    The number is `None` if the run's results do not contain it.

    `pooling` combines runs with different seeds into a mean with Student's t interval, in the same
    way for every metric. Runs without a value do not count, unless `at_least` gives a lower bound.
    The estimate records how many runs have a value. Paired comparisons use only seeds with a value
    in both results.
    """

    path: str
    """The metric's name in the JSON and in `[[assert]]`, such as `rtt_ms.p99`."""
    on: On
    unit: str
    doc: str
    value: Callable[[Mapping[str, Any]], float | None]
    """Computes the value from the summary of a flow, link or class, or from the whole summary."""
    weight: Weight = "once"
    """The weight of each value within a run."""
    at_least: Callable[[Mapping[str, Any]], float | None] | None = None
    """For a value that was still growing at the end of the run, computes a lower bound of the final
    value."""
    least: float | None = 0.0
    """The smallest possible value. Intervals do not extend below this value. None if the value may
    be negative."""
    most: float | None = None
    """The largest possible value. Intervals do not extend above this value. None if the value has
    no upper limit."""
    better: Better | None = None
    """Which direction is better. None if neither direction is better."""
    only: tuple[str, ...] = ()
    """The kinds of parts that have the metric. Empty if all kinds of parts in the metric's scope
    have the metric. See `parts`."""
    of_two: OfTwo | None = None
    """How to compute a metric that compares two results, such as `harm`. Such a metric has no value
    in a single run."""

    @property
    def name(self) -> str:
        """The metric's name in tables and Python, such as `rtt_p99_ms`."""
        return identifier(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The kind of object that can have the metric: flow, program, traffic, link, class or run.

        A metric of flows also applies to programs and sources of traffic, unless `only`
        restricts it.
        """
        return self.only or (("flow", "program", "traffic") if self.on == "flow" else (self.on,))

    @property
    def title(self) -> str:
        """The title in tables. The title is the name, followed by the unit unless the name already
        ends in the unit."""
        said = not self.unit or has_unit(self.name)
        return self.name if said else f"{self.name} ({self.unit})"

    @property
    def missing(self) -> str:
        """A phrase that says how runs without a value are treated."""
        if self.of_two is not None:
            return "only pairs of runs that both have a value count"
        if self.at_least is not None:
            return "tables show a lower bound instead of the mean"
        return "it does not count in the mean, and n is smaller"

    def is_called(self, word: str) -> bool:
        """Return whether a word is the metric's name or its path."""
        return word in (self.name, self.path)


class OfTwoResults(InputError):
    """Raised if a metric that compares two results is requested for one result."""


def refuse_of_two(metric: Metric, where: str) -> None:
    """Raise an error if the metric needs two results, one with and one without a competitor."""
    if metric.of_two is not None:
        raise OfTwoResults(
            f"{where}: {metric.name} needs two results, one of them without the competitor; "
            f"make them with tailback run FILE --without NAME or tailback compare FILE --without "
            f"NAME, or choose {metric.of_two.quantity.name}"
        )


def field(path: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that reads a field of a summary. `a.b` means field b of the table in field
    a."""
    first, *more = path.split(".")
    if not more:
        # Treat a top-level field separately, because this is faster. A report reads millions of
        # fields, and most are top-level fields.
        def read_first(part: Mapping[str, Any]) -> float | None:
            value = part.get(first)
            return value if isinstance(value, (int, float)) else None

        return read_first
    names = (first, *more)

    def read(part: Mapping[str, Any]) -> float | None:
        value: Any = part
        for name in names:
            # Checking for a dict first halves the time: `isinstance` with `Mapping` is slow.
            if type(value) is not dict and not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value if isinstance(value, (int, float)) else None

    return read
