"""A metric: a number computed from what a run recorded, and the rules that combine several such
numbers.
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
"""The weight of each value within a run; `WEIGHTS` has it in words."""

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
    """From the result without the competitor and the one with it."""


@dataclass(frozen=True)
class Metric:
    """A number about a flow, link, class of flows or run; `None` where it is not available.

    Over runs with different seeds every metric is pooled by the same rules, in `pooling`: the mean
    with Student's t interval; a run without a value is left out and the estimate says of how many
    runs the mean is, unless `at_least` knows a bound. Pairs are the seeds that have both values.
    """

    path: str
    """Its name in the JSON and in `[[assert]]`, e.g. `rtt_ms.p99`."""
    on: On
    unit: str
    doc: str
    value: Callable[[Mapping[str, Any]], float | None]
    """Takes the part of the summary of the flow, link or class, or the whole summary."""
    weight: Weight = "once"
    """The weight of each value within a run."""
    at_least: Callable[[Mapping[str, Any]], float | None] | None = None
    """If there is no value because it was still growing at the end: the bound that it exceeds."""
    most: float | None = None
    """No value is larger, so intervals end here."""
    better: Better | None = None
    """Which direction is better, if that matters."""
    only: tuple[str, ...] = ()
    """For a metric of flows, the kinds of parts that have it, if not all do; see `parts`."""
    of_two: OfTwo | None = None
    """For a metric of two results (`harm`), how it is computed; a single run has no value then."""

    @property
    def name(self) -> str:
        """Its name elsewhere, e.g. `rtt_p99_ms`."""
        return identifier(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds of parts that have it: programs and sources of traffic count as flows."""
        return self.only or (("flow", "program", "traffic") if self.on == "flow" else (self.on,))

    @property
    def title(self) -> str:
        """Its name in tables: with its unit, unless the name ends in it."""
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
        """Whether this is its name or its path."""
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
