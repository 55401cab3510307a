"""What a metric is: a number computed from what a run recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

On = Literal["flow", "link", "class", "run"]


@dataclass(frozen=True)
class Metric:
    """A number about a flow, link, class of flows or run; `None` where it is not available."""

    name: str
    on: On
    unit: str
    doc: str
    value: Callable[[Mapping[str, Any]], float | None]
    """Given the flow's, the link's or the class's part of a summary, or the summary."""


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


def recorded(name: str, on: On, unit: str, doc: str) -> Metric:
    """A metric that is a field of the summary under its own name."""
    return Metric(name, on, unit, doc, field(name))
