"""Defines cells. A cell is a number of the publication, with its table, row and column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.statistics import LEAST_SEEDS, estimate
from tailback.report import TableCell

KINDS = {
    "relative": "relative",
    "capacity": "of the rate",
    "share": "of a fair share",
    "absolute": "absolute",
}
"""The kinds of errors.

An error is absolute, or relative to the published value, to the link's rate or to a fair share of
that rate.
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A cell of the publication. An experiment adds the coordinates of its place."""

    cell: TableCell
    values: tuple[float, ...] = ()
    """The measured values, one for each seed."""

    def error(self, kind: str) -> float | None:
        """Return the difference between the measured and the published value. `kind` is one of
        `KINDS`."""
        return self.cell.relative if kind == "relative" else self.cell.error

    def size(self, kind: str) -> float | None:
        """Return the error without its sign."""
        error = self.error(kind)
        return None if error is None else abs(error)

    @property
    def coordinates(self) -> dict[str, Any]:
        """Return the coordinates of the cell, by the keys that `reproduce --json` uses."""
        return {}

    def json(self) -> dict[str, Any]:
        """Return the object of the cell in `reproduce --json`."""
        return {**self.cell.json(), **self.coordinates}

    @property
    def within(self) -> bool | None:
        """Whether the error is within its tolerance. None without a tolerance or a value."""
        if self.cell.tolerance is None or self.cell.error is None:
            return None
        return self.cell.status == "pass"

    @property
    def chance(self) -> bool:
        """Whether the published value is within the range that contains a further run of ours in 95
        % of cases.

        The authors made only one run, so a miss within this range cannot be distinguished from
        chance.
        """
        n, known = len(self.values), self.cell.published
        if n < LEAST_SEEDS or known is None:
            return False
        half = estimate(self.values).half_width or 0.0
        return abs(known - math.fsum(self.values) / n) <= half * math.sqrt(n + 1)


def sizes(entries: Iterable[Entry], kind: str) -> list[float]:
    """Return the errors of all cells that have an error, without their signs."""
    return [size for entry in entries if (size := entry.size(kind)) is not None]


def counted(entries: Sequence[Entry]) -> str:
    """Return the number of entries as text, for the head of a report."""
    held = sum(entry.cell.published is not None for entry in entries)
    return (
        f"{len(entries)} measured, of which {held} are compared with published cells; the "
        "published values of the others are not in this repository"
    )
