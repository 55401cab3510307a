"""What a metric is: a number computed from what a run recorded, and rules that combine several
such numbers.
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
"""How values within a run are weighted; `WEIGHTS` explains each in words."""

WEIGHTS: Mapping[Weight, str] = {
    "count": "a count of events",
    "bytes": "bytes over the measured time",
    "packets": "every packet once",
    "samples": "every RTT sample or record interval once",
    "requests": "every request once",
    "time": "every moment once",
    "intervals": "every interval of record.statistics once",
    "flows": "every flow once",
    "once": "one value",
}

Better = Literal["less", "more"]


@dataclass(frozen=True)
class OfTwo:
    """How a metric of two results is computed from a quantity of both."""

    quantity: Metric
    between: Callable[[float, float], float | None]
    """Computes the metric from two values: without the competitor, and with it."""


@dataclass(frozen=True)
class Metric:
    """A number about a flow, link, class of flows or run; `None` where it is not available.

    Over runs with different seeds every metric is pooled by the same rules, in `pooling`: the mean
    with Student's t interval. A run without a value is left out, unless `at_least` knows a bound;
    the estimate says how many runs count. Paired comparisons use the seeds that have both values.
    """

    path: str
    """The metric's name in the JSON and in `[[assert]]`, e.g. `rtt_ms.p99`."""
    on: On
    unit: str
    doc: str
    value: Callable[[Mapping[str, Any]], float | None]
    """Computes the value from the summary of a flow, link or class, or from the whole summary."""
    weight: Weight = "once"
    """The weight of each value within a run."""
    at_least: Callable[[Mapping[str, Any]], float | None] | None = None
    """For a value that was still growing at the end of the run: the bound that it exceeds."""
    least: float | None = 0.0
    """The smallest possible value, at which intervals end; None if it may be negative."""
    most: float | None = None
    """The largest possible value, at which intervals end."""
    better: Better | None = None
    """Which direction is better, if that matters."""
    only: tuple[str, ...] = ()
    """For a metric of flows that not all kinds of parts have: the kinds that do; see `parts`."""
    of_two: OfTwo | None = None
    """How a metric of two results (`harm`) is computed. It has no value in a single run."""

    @property
    def name(self) -> str:
        """The metric's name everywhere else, e.g. `rtt_p99_ms`."""
        return identifier(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds of parts that have the metric; programs and sources of traffic count as
        flows.
        """
        return self.only or (("flow", "program", "traffic") if self.on == "flow" else (self.on,))

    @property
    def title(self) -> str:
        """The title in tables: the name and the unit, unless the name ends in the unit."""
        said = not self.unit or has_unit(self.name)
        return self.name if said else f"{self.name} ({self.unit})"

    @property
    def missing(self) -> str:
        """How a run without a value is treated, in words."""
        if self.of_two is not None:
            return "only pairs of runs that have both"
        if self.at_least is not None:
            return "unfinished: a bound instead of the mean"
        return "left out, and n says so"

    def is_called(self, word: str) -> bool:
        """Whether a word is the metric's name or its path."""
        return word in (self.name, self.path)


class OfTwoResults(InputError):
    """A metric of two results was requested for one result."""


def refuse_of_two(metric: Metric, where: str) -> None:
    """Rejects a metric that needs a result without the competitor and one with it."""
    if metric.of_two is not None:
        raise OfTwoResults(
            f"{where}: {metric.name} needs two results, one of them without the competitor; "
            f"make them with tailback run FILE --without NAME or tailback compare FILE --without "
            f"NAME, or choose {metric.of_two.quantity.name}"
        )


def field(path: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Reads a field of a summary; `a.b` is field b of field a."""
    names = path.split(".")

    def read(part: Mapping[str, Any]) -> float | None:
        value: Any = part
        for name in names:
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value if isinstance(value, int | float) else None

    return read
