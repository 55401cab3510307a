"""Defines published numbers, each with its table, row, column and measured values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.statistics import LEAST_SEEDS, estimate
from tailback.report import TableCell

KINDS = {
    "relative": "relative",
    "capacity": "relative to the link's rate",
    "share": "relative to a fair share",
    "absolute": "absolute",
}
"""The kinds of errors.

An error is absolute, or relative to one of these: the published value, the link's rate, or a fair
share of this rate.
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A published number with its measured values. The subclass of each experiment adds the
    number's table, row and column."""

    cell: TableCell
    values: tuple[float, ...] = ()
    """The measured values, one for each seed."""

    def error(self, kind: str) -> float | None:
        """Return the measured value minus the published value. `kind` is one of `KINDS` and says
        what this difference is divided by."""
        return self.cell.relative if kind == "relative" else self.cell.error

    def size(self, kind: str) -> float | None:
        """Return the absolute value of the error."""
        error = self.error(kind)
        return None if error is None else abs(error)

    @property
    def coordinates(self) -> dict[str, Any]:
        """The position of the value in the publication, with the keys of `reproduce --json`."""
        return {}

    def json(self) -> dict[str, Any]:
        """Return the object of the value in `reproduce --json`."""
        return {**self.cell.json(), **self.coordinates}

    @property
    def within(self) -> bool | None:
        """Whether the error is within the tolerance. None if the error or the tolerance is
        unknown."""
        if self.cell.tolerance is None or self.cell.error is None:
            return None
        return self.cell.status == "pass"

    @property
    def chance(self) -> bool:
        """Whether the published value lies in the 95 % prediction interval of one more run. The
        authors made only one run, so an error within this interval may be due to chance.
        """
        n, known = len(self.values), self.cell.published
        if n < LEAST_SEEDS or known is None:
            return False
        half = estimate(self.values).half_width or 0.0
        return abs(known - math.fsum(self.values) / n) <= half * math.sqrt(n + 1)


def sizes(entries: Iterable[Entry], kind: str) -> list[float]:
    """Return the absolute values of all known errors."""
    return [size for entry in entries if (size := entry.size(kind)) is not None]


def counted(entries: Sequence[Entry]) -> str:
    """Return the number of values as text, for the head of a report."""
    held = sum(entry.cell.published is not None for entry in entries)
    return (
        f"{len(entries)} measured, of which {held} are compared with published values; the "
        "published values of the others are not in this repository"
    )
