"""The results of one variant at one sweep point, which are runs or the values of a baseline file.

A comparison reads names and values through the interface `Side`. A comparison therefore need not
know whether its values come from runs or from a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tailback.metrics import Metric, parts, pooling
from tailback.metrics.parts import Kind
from tailback.metrics.pooling import Reading
from tailback.store.results import Run


class Side(Protocol):
    """The names and values of one variant at one sweep point."""

    @property
    def labels(self) -> dict[str, str]:
        """The swept values at this sweep point, as written in the scenario file."""

    @property
    def params(self) -> dict[str, float | str]:
        """The swept values at this sweep point as numbers or text, in the order of the sweep."""

    def names(self, kind: Kind) -> list[str]:
        """Return the names of the flows, links or classes of this kind. If the kind is "run",
        return one empty name."""

    def readings(self, kind: Kind, at: int, metric: Metric) -> dict[int, Reading]:
        """Return the values of one object by seed. `at` is the object's index in `names(kind)`."""


@dataclass(frozen=True)
class Ran:
    """One or more runs of a variant at one sweep point."""

    runs: Sequence[Run]

    @property
    def labels(self) -> dict[str, str]:
        return self.runs[0].labels

    @property
    def params(self) -> dict[str, float | str]:
        return self.runs[0].params

    def names(self, kind: Kind) -> list[str]:
        if kind == "run":
            return [""]
        return [part["name"] for part in parts.of(self.runs[0].summary, kind)]

    def readings(self, kind: Kind, at: int, metric: Metric) -> dict[int, Reading]:
        return {
            run.seed: pooling.read(metric, parts.of(run.summary, kind)[at]) for run in self.runs
        }


@dataclass(frozen=True)
class KeptRun:
    """A baseline file's values at one sweep point."""

    params: dict[str, float | str]
    labels: dict[str, str]
    cells: dict[Kind, dict[str, dict[str, dict[int, Reading]]]] = field(default_factory=dict)
    """The stored values by kind of object, object name, path of the quantity, and seed."""

    def names(self, kind: Kind) -> list[str]:
        return list(self.cells.get(kind, ()))

    def readings(self, kind: Kind, at: int, metric: Metric) -> dict[int, Reading]:
        named = self.cells.get(kind, {})
        return dict(named[self.names(kind)[at]].get(metric.path, {}))
