"""Writes the results of goals as rows of goals.csv. Each experiment and each validation has one
such file.

The page docs/evidence/trust.md is made from these files. The column `within` counts the values
within the limit. The column `within_or_chance` also counts values that may exceed the limit by
chance. The column `within_or_chance` is empty if there are fewer than five seeds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tailback.metrics.statistics import LEAST_SEEDS, median, nearest_rank
from tailback_studies.reproduction.entries import Entry, sizes
from tailback_studies.reproduction.goals import CellsVerdict, ErrorsVerdict

FILE = "goals.csv"


@dataclass(frozen=True)
class Noise:
    """The noise of published values. The noise is computed from the differences between published
    values that repeat the same experiment."""

    cells: int
    median: float
    p90: float


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A row of goals.csv, with the errors of a group of values. Unknown numbers are None."""

    judge: str
    """The criterion, as text."""
    error: str
    """The kind of errors, which is one of `entries.KINDS`."""
    limit: str
    """The goal, as text."""
    cells: int
    median: float | None
    p90: float | None
    within: int | None = None
    """Number of values within the limit."""
    within_or_chance: int | None = None
    """Number of values that are within the limit, or outside the limit only because of noise. None
    if there are fewer than five seeds."""
    blind: int = 0
    """Number of held-out values, which were not used until the set-up was frozen."""
    blind_median: float | None = None
    blind_p90: float | None = None
    noise_cells: int | None = None
    """Number of pairs of published values that repeat one experiment."""
    noise_median: float | None = None
    noise_p90: float | None = None
    holds: bool
    sizes: Mapping[str, float] = field(default_factory=dict, compare=False)
    """The size of each error by the id of its value. If a criterion only counts values, the size is
    0 for a value that fulfils it, and 1 for any other value. The sizes are not in goals.csv."""

    @property
    def title(self) -> str:
        """The criterion in words. If errors are relative to the link's rate, the text says so."""
        return self.judge + ", relative to the link's rate" * (self.error == "capacity")

    def row(self) -> dict[str, Any]:
        """Return the columns of goals.csv."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(one.name for one in fields(Judge) if one.name != "sizes")


def judge(
    verdict: ErrorsVerdict | CellsVerdict, entries: Iterable[Entry], noise: Noise | None = None
) -> Judge:
    """Return the row of goals.csv for the result of a goal."""
    goal = verdict.goal
    cells = [entry for entry in goal.own(entries) if entry.size(goal.kind) is not None]
    blind = [entry for entry in cells if entry.cell.blind]
    errors, hidden = sizes(cells, goal.kind), sizes(blind, goal.kind)
    within = chance = None
    if isinstance(verdict, CellsVerdict):
        within = verdict.within
        chance = within + verdict.chance if _seeds(cells) else None
    return Judge(
        judge=goal.title,
        error=goal.kind,
        limit=goal.text,
        cells=verdict.cells,
        median=median(errors),
        p90=nearest_rank(errors, 0.9),
        within=within,
        within_or_chance=chance,
        blind=len(blind),
        blind_median=median(hidden),
        blind_p90=nearest_rank(hidden, 0.9),
        noise_cells=noise.cells if noise else None,
        noise_median=noise.median if noise else None,
        noise_p90=noise.p90 if noise else None,
        holds=verdict.holds,
        sizes={entry.cell.id: entry.size(goal.kind) or 0.0 for entry in cells},
    )


def _seeds(entries: Sequence[Entry]) -> bool:
    """Return whether every value has enough seeds to estimate chance."""
    return bool(entries) and all(len(entry.values) >= LEAST_SEEDS for entry in entries)


def to_csv(judges: Iterable[Judge]) -> str:
    """Return goals.csv. Missing numbers are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in judges:
        writer.writerow([_text(value) for value in row.row().values()])
    return out.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def from_csv(text: str) -> list[Judge]:
    """Read the rows of a goals.csv."""
    return [_judge(row) for row in csv.DictReader(io.StringIO(text))]


def _judge(row: dict[str, str]) -> Judge:
    whole = ("cells", "within", "within_or_chance", "blind", "noise_cells")
    words = ("judge", "error", "limit")
    values: dict[str, Any] = {}
    for name in COLUMNS:
        text = row[name]
        if name in words:
            values[name] = text
        elif name == "holds":
            values[name] = text == "yes"
        elif not text:
            values[name] = None
        else:
            values[name] = int(text) if name in whole else float(text)
    return Judge(**values)
