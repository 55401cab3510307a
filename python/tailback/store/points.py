"""Identifies points of a sweep by the values and units of all swept keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

Key = tuple[tuple[str, float | str], ...]
"""The identity of a sweep point: its parameters, ordered by path."""

_UNIT = re.compile(r"\s*[\d.]+\s*(?P<unit>[a-zA-Z]+)\s*")
_NS = re.compile("[num]?s|[num]?secs?")


class Swept(Protocol):
    """The interface of sweep points that are planned, stored or run."""

    @property
    def params(self) -> Mapping[str, float | str]:
        """Swept values by path: names, or numbers in base units."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The swept values as the scenario file writes them."""


def point_key(point: Swept) -> Key:
    """Return a key that identifies a sweep point, for grouping runs and matching sweep points."""
    return key_of(point.params, point.labels)


def key_of(params: Mapping[str, float | str], labels: Mapping[str, str]) -> Key:
    """Return the key that identifies a sweep point with these swept values.

    The key includes the unit from the label, because the numbers in `params` have no unit. The unit
    distinguishes, for example, 20000 packets from 20000 bytes and from 20000 ns.
    """
    return tuple(
        sorted((path, _with_unit(value, labels.get(path, ""))) for path, value in params.items())
    )


def count(points: Iterable[Swept]) -> int:
    """Return the number of sweep points. Runs of one sweep point with different seeds count
    once."""
    return len({point_key(point) for point in points})


def _with_unit(value: float | str, label: str) -> float | str:
    found = None if isinstance(value, str) else _UNIT.fullmatch(label)
    if found is None:
        return value
    unit = found["unit"].lower()
    if unit in ("p", "packets"):
        return f"{value:.17g}p"
    return f"{value:.17g}ns" if _NS.fullmatch(unit) else value
