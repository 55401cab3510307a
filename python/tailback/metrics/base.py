"""What a metric is: a number computed from what a run recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tailback.metrics.naming import has_unit, identifier

On = Literal["flow", "link", "class", "run"]


@dataclass(frozen=True)
class Metric:
    """A number about a flow, link, class of flows or run; `None` where it is not available."""

    path: str
    """What the JSON and `[[assert]]` call it, e.g. `rtt_ms.p99`."""
    on: On
    unit: str
    doc: str
    value: Callable[[Mapping[str, Any]], float | None]
    """Given the flow's, the link's or the class's part of a summary, or the summary."""
    against: Callable[[float, float], float | None] | None = None
    """What is made of two such values, the baseline's and a variant's, where the metric is of two
    results (`harm`); of one there is none then."""

    @property
    def name(self) -> str:
        """What it is called elsewhere, e.g. `rtt_p99_ms`."""
        return identifier(self.path)

    @property
    def title(self) -> str:
        """Its name in tables: with its unit, unless the name ends in it."""
        said = not self.unit or has_unit(self.name)
        return self.name if said else f"{self.name} ({self.unit})"

    def is_called(self, word: str) -> bool:
        """Whether this is its name or its path."""
        return word in (self.name, self.path)


def field(path: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Reads a field of a summary; `a.b` is field b of field a."""
    names = path.split(".")

    def read(part: Mapping[str, Any]) -> float | None:
        found: Any = part
        for name in names:
            if not isinstance(found, Mapping):
                return None
            found = found.get(name)
        return found if isinstance(found, int | float) else None

    return read


def recorded(path: str, on: On, unit: str, doc: str) -> Metric:
    """A metric that is a field of the summary under its own path."""
    return Metric(path, on, unit, doc, field(path))
