"""What tells the points of a sweep apart: the value of every swept key, with its unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

Key = tuple[tuple[str, float | str], ...]
"""A point: its parameters, ordered by path."""

_UNIT = re.compile(r"\s*[\d.]+\s*(?P<unit>[a-zA-Z]+)\s*")
_NS = re.compile("[num]?s|[num]?secs?")


class Swept(Protocol):
    """A point of a sweep: one that is planned, stored or was run."""

    @property
    def params(self) -> Mapping[str, float | str]:
        """Numbers in base units, or names, by path."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The same values as the scenario file has them."""


def point_key(point: Swept) -> Key:
    """What a point is known by, wherever runs are grouped or points are matched."""
    return key_of(point.params, point.labels)


def key_of(params: Mapping[str, float | str], labels: Mapping[str, str]) -> Key:
    """The key of a point with these parameters.

    A parameter that is a number does not say what it counts: 20000 packets, 20000 bytes and
    20000 ns are no equal values. Its label does.
    """
    return tuple(
        sorted((path, _with_unit(value, labels.get(path, ""))) for path, value in params.items())
    )


def count(points: Iterable[Swept]) -> int:
    """How many points there are, their seeds together."""
    return len({point_key(point) for point in points})


def _with_unit(value: float | str, label: str) -> float | str:
    found = None if isinstance(value, str) else _UNIT.fullmatch(label)
    if found is None:
        return value
    unit = found["unit"].lower()
    if unit in ("p", "packets"):
        return f"{value:.17g}p"
    return f"{value:.17g}ns" if _NS.fullmatch(unit) else value
