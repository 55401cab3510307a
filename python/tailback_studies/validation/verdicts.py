"""Defines the goals for the agreement of the engines, and decides whether they hold.

A goal holds if enough scenarios are within its limit. The page also states how many scenarios are
within the limit or have an error at most as large as their noise. Estimating the noise needs five
seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.statistics import LEAST_SEEDS, median, nearest_rank
from tailback_studies.reproduction.judges import Judge, Noise
from tailback_studies.validation.cells import Cell, Measure


@dataclass(frozen=True)
class Limit:
    """A limit for the error of a quantity in each scenario. A given share of the scenarios must be
    within the limit.
    """

    name: str
    """The criterion, as text."""
    quantity: str
    relative: float
    share: float
    """Share of the scenarios that must be within the limit."""
    absolute: float = 0.0
    """An absolute difference up to this value, in the quantity's unit, is also within the limit."""
    unit: str = "ms"
    of: str = "relative"
    """The kind of errors, which is one of `entries.KINDS`."""

    def error(self, measure: Measure) -> float:
        """Return the error to which the limit applies."""
        return measure.error_of_rate if self.of == "capacity" else measure.error

    def within(self, measure: Measure) -> bool:
        """Return whether the difference between the means of both engines is within the limit."""
        near = not measure.logarithmic and abs(measure.absolute) <= self.absolute
        return abs(self.error(measure)) <= self.relative or near

    def misses(self, cell: Cell) -> list[Measure]:
        """Return the measures of a scenario whose errors exceed the limit."""
        return [measure for measure in cell.of(self.quantity) if not self.within(measure)]

    def missed(self, cell: Cell) -> bool:
        """Return whether the error of any measure exceeds both the limit and its noise."""
        return any(not measure.inside_noise for measure in self.misses(cell))

    @property
    def text(self) -> str:
        absolute = (
            f" or {self.absolute:g} {self.unit} (whichever is larger)" if self.absolute else ""
        )
        limit = f"at most {100 * self.relative:g} %{absolute}"
        return f"{limit} in {100 * self.share:g} % of scenarios"


MEDIAN = 0.02
"""Largest median error of throughput."""

THROUGHPUT = Limit("throughput of each flow", "throughput", 0.08, 0.95, of="share")
ORDER = Limit("throughput of identical flows, sorted", "order", 0.08, 0.95, of="share")
LIMITS = (
    THROUGHPUT,
    ORDER,
    Limit("mean queue delay", "delay", 0.10, 0.90, absolute=0.3),
    Limit("marks and drops", "signals", 0.20, 0.90),
    Limit("throughput ratio of two flows", "ratio", 0.15, 0.90),
    Limit("mean completion time of requests", "completion", 0.10, 0.90),
    # Senders count retransmissions, whereas the queue counts marks and drops.
    Limit(*("retransmissions of all flows", "retransmits", 0.20, 0.90), absolute=5, unit="packets"),
)
"""The limits of every scenario."""

OF_RATE = Limit("throughput of each flow", "throughput", 0.08, 0.95, of="capacity")
"""The limit of throughput for errors relative to the link's rate. Errors meet this limit easily if
many flows share the link."""


@dataclass(frozen=True)
class LimitVerdict:
    """The result of comparing all scenarios with a limit."""

    limit: Limit
    cells: int
    errors: tuple[float, ...]
    """The largest error of each scenario, without its sign."""
    within: int
    chance: int | None
    """Number of scenarios that are beyond the limit only because of noise. `None` if there are too
    few seeds to estimate noise."""
    noise: tuple[float, ...]
    """The kernel's own noise in each scenario. This noise is the difference between the mean over
    the first half of the seeds and the mean over the second half.
    """

    @property
    def holds(self) -> bool:
        """Whether enough scenarios are within the limit, without an allowance for noise."""
        return self.within >= self.limit.share * self.cells - 1e-9

    @property
    def judge(self) -> Judge:
        """The row of goals.csv for this limit."""
        return self._judge(self.limit.name, self.limit.text, self.holds, counted=True)

    @property
    def middle(self) -> Judge:
        """The row of goals.csv that compares the median error with `MEDIAN`."""
        holds = (median(self.errors) or 0.0) <= MEDIAN
        text = f"median {100 * MEDIAN:g} %"
        return self._judge(f"{self.limit.name}, median", text, holds, counted=False)

    def _judge(self, name: str, text: str, holds: bool, *, counted: bool) -> Judge:
        noise = None
        if self.noise:
            noise = Noise(
                len(self.noise), median(self.noise) or 0.0, nearest_rank(self.noise, 0.9) or 0.0
            )
        either = None if self.chance is None else self.within + self.chance
        return Judge(
            judge=name,
            error=self.limit.of,
            limit=text,
            cells=self.cells,
            median=median(self.errors),
            p90=nearest_rank(self.errors, 0.9),
            within=self.within if counted else None,
            within_or_chance=either if counted else None,
            noise_cells=noise.cells if noise else None,
            noise_median=noise.median if noise else None,
            noise_p90=noise.p90 if noise else None,
            holds=holds,
        )


def verdict(limit: Limit, cells: Sequence[Cell]) -> LimitVerdict | None:
    """Return the result of a limit, or None if no scenario has the quantity that it limits."""
    chosen = [cell for cell in cells if cell.of(limit.quantity)]
    if not chosen:
        return None
    scale = {cell.id: cell.of(limit.quantity)[0].shares for cell in chosen}
    noises = [
        max(found) / (scale[cell.id] if limit.of == "capacity" else 1)
        for cell in chosen
        if (found := [m.own_noise for m in cell.of(limit.quantity) if m.own_noise is not None])
    ]
    missing = [cell for cell in chosen if limit.misses(cell)]
    told = all(_seeds(measure) >= LEAST_SEEDS for c in chosen for measure in c.of(limit.quantity))
    return LimitVerdict(
        limit=limit,
        cells=len(chosen),
        errors=tuple(
            max(abs(limit.error(measure)) for measure in cell.of(limit.quantity)) for cell in chosen
        ),
        within=len(chosen) - len(missing),
        chance=sum(not limit.missed(cell) for cell in missing) if told else None,
        noise=tuple(noises),
    )


def _seeds(measure: Measure) -> int:
    return min(len(measure.sim), len(measure.kernel))


def verdicts(cells: Sequence[Cell]) -> list[LimitVerdict]:
    """Return the result of each limit whose quantity was measured. Throughput relative to the
    link's rate comes last."""
    found = (verdict(limit, cells) for limit in (*LIMITS, OF_RATE))
    return [one for one in found if one is not None]


def judges(cells: Sequence[Cell]) -> list[Judge]:
    """Return the rows of goals.csv.

    The first row is the median error of throughput, and the other rows are the limits.
    """
    found = verdicts(cells)
    middle = [one.middle for one in found if one.limit is THROUGHPUT]
    return [*middle, *(one.judge for one in found)]


@dataclass(frozen=True)
class Miss:
    """A quantity whose error in a scenario exceeds the limit."""

    cell: Cell
    limit: Limit
    measure: Measure
    """The measure with the largest error."""
    count: int
    """Number of the scenario's measures that are beyond the limit."""

    @property
    def size(self) -> float:
        """The error divided by its limit."""
        error = abs(self.limit.error(self.measure)) / self.limit.relative
        return error if math.isfinite(error) else 1e9

    @property
    def inside_noise(self) -> bool:
        """Whether noise explains all errors of the scenario that exceed the limit."""
        return not self.limit.missed(self.cell)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "cell": self.cell.id,
            "quantity": self.limit.quantity,
            "flow": self.measure.flow or None,
            "beyond": self.count,
            "of": len(self.cell.of(self.limit.quantity)),
            "inside_noise": self.inside_noise,
        }


def misses(cells: Sequence[Cell]) -> list[Miss]:
    """Return all differences that exceed a limit, the largest first, even if noise explains
    them."""
    breaches = []
    for cell in cells:
        for limit in LIMITS:
            beyond = limit.misses(cell)
            if beyond:
                # Prefer a measure whose error exceeds noise, even if the error of another measure
                # is larger but within noise.
                worst = max(beyond, key=lambda m: (not m.inside_noise, abs(m.error)))
                breaches.append(Miss(cell, limit, worst, len(beyond)))
    return sorted(breaches, key=lambda miss: (-miss.size, miss.cell.id, miss.limit.quantity))
