"""Collects the data of the figures.

These data are statistics for each sweep point, version and class, averaged over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tailback.metrics import Estimate
from tailback.store.results import Run
from tailback_studies.batteries.l4s_battery.cases import Spot, spot
from tailback_studies.batteries.l4s_battery.measures import Group, flow_groups, over_seeds
from tailback_studies.batteries.side_by_side import BatteryComparison

SAMPLED = ("rate_mbit", "window_bytes", "utilisation", "mark_share", "drop_share")


@dataclass(frozen=True)
class View:
    """The runs of one version at a sweep point."""

    runs: Sequence[Run]

    @cached_property
    def classes(self) -> dict[str, dict[str, dict[str, float]]]:
        """Statistics (means over seeds) for each class and quantity."""
        by_class: dict[str, dict[str, list[Mapping[str, Any] | None]]] = {}
        for run in self.runs:
            for part in run.summary.get("classes") or []:
                by_quantity = by_class.setdefault(part["name"], {})
                by_quantity.setdefault("delay_ms", []).append(part["delay_ms"])
                samples = part.get("samples") or {}
                for quantity in SAMPLED:
                    by_quantity.setdefault(quantity, []).append(samples.get(quantity))
        return {
            name: {quantity: over_seeds(stats) for quantity, stats in by_quantity.items()}
            for name, by_quantity in by_class.items()
        }

    @cached_property
    def utilisation(self) -> dict[str, float]:
        """Statistics of the link's utilisation by all traffic together."""
        queues = [next(iter(run.summary["queues"].values())) for run in self.runs]
        return over_seeds([(queue.get("samples") or {}).get("utilisation") for queue in queues])

    @cached_property
    def groups(self) -> dict[str, Group]:
        """Number of flows, RTT and queue delay of each class that has flows."""
        if not self.runs:
            return {}
        found = flow_groups(self.runs[0].manifest["canonical"])
        return {
            name: Group(n, rtt, self.classes[name]["delay_ms"]["mean"])
            for name, (n, rtt) in found.items()
            if self.classes.get(name, {}).get("delay_ms", {}).get("mean") is not None
        }

    @cached_property
    def completions(self) -> dict[str, list[tuple[int, dict[str, float]]]]:
        """For each web source, a list of size bins. Each bin has its upper end in bytes, and
        statistics of the normalised completion times."""
        by_source: dict[str, dict[int, list[Mapping[str, Any] | None]]] = {}
        for run in self.runs:
            for source in run.summary.get("traffic") or []:
                for each in (source.get("completions") or {}).get("bins", []):
                    bins = by_source.setdefault(source["name"], {})
                    bins.setdefault(each["upto_bytes"], []).append(each["normalised"])
        return {
            name: [(upto, over_seeds(stats)) for upto, stats in sorted(bins.items())]
            for name, bins in by_source.items()
        }


@dataclass(frozen=True)
class BatteryPoint:
    """A scenario of the set, with the runs of each version."""

    part: str
    case: str
    at: Spot
    views: Mapping[str, View]
    """The results at this sweep point, by version."""


class Gathered:
    """The sweep points of a comparison, arranged for the figures."""

    def __init__(self, comparison: BatteryComparison) -> None:
        self.made = comparison
        names = [variant.name for variant in comparison.variants]
        self.points = []
        for params, groups in comparison.points():
            place = comparison.place(params)
            views = {name: View(runs) for name, runs in zip(names, groups, strict=True)}
            at = spot(place.file, place.params)
            case = str(dict(params)["case"])
            self.points.append(BatteryPoint(place.part, case, at, views))
        self._flags: set[tuple[str, str, str, str, str]] = set()
        self._values: dict[tuple[str, str, str, str, str], Estimate] = {}
        for cell in comparison.cells:
            part, case = str(cell.params["part"]), str(cell.params["case"])
            for variant, value in cell.values.items():
                self._values[part, case, cell.name, cell.quantity, variant] = value
            for variant, difference in cell.differences.items():
                if difference.flagged:
                    self._flags.add((part, case, cell.name, cell.quantity, variant))

    def of(self, part: str) -> list[BatteryPoint]:
        """Return the sweep points of a part of the set."""
        return [point for point in self.points if point.part == part]

    def flagged(self, point: BatteryPoint, variant: str, name: str, *quantities: str) -> bool:
        """Return whether any of `quantities` of the class, link or run `name` differs from the
        baseline by more than noise."""
        return any(
            (point.part, point.case, name, quantity, variant) in self._flags
            for quantity in quantities
        )

    def value(self, point: BatteryPoint, variant: str, name: str, quantity: str) -> Estimate | None:
        """Return the mean of a compared quantity."""
        return self._values.get((point.part, point.case, name, quantity, variant))
