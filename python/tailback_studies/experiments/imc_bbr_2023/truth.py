"""Defines the goals, which were set before the first comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailback_studies.experiments.imc_bbr_2023.layout import WORDS
from tailback_studies.experiments.imc_bbr_2023.points import GOODPUT, SIGN, ImcEntry
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import (
    CellsVerdict,
    CellsWithin,
    ErrorsBelow,
    ErrorsVerdict,
)
from tailback_studies.reproduction.judges import Judge, judge

# Limits for the errors of goodputs divided by the link's rate: median and 90th percentile. For
# comparison, the publication's own trials of BBR differ by 0.15 % (median) and 0.4 % (90th
# percentile). The publication's results of kernels 4.15 and 5.15 differ by 0.2 % (median) and 0.8 %
# (90th percentile).
MEDIAN, P90 = 0.005, 0.02
# The goal requires that at least this share of the measured gains does not have the opposite sign
# of the published gain.
SIGNS = 0.95


def _goodput(cc: str, buffer_kb: int) -> Callable[[ImcEntry], bool]:
    def belongs(entry: ImcEntry) -> bool:
        row = entry.row
        own = entry.quantity == GOODPUT and (row.cc, row.place.buffer_kb) == (cc, buffer_kb)
        return own and not row.offloads_decide

    return belongs


GOODPUTS: tuple[ErrorsBelow[ImcEntry], ...] = tuple(
    ErrorsBelow(f"goodput.{cc}.{buffer}kB", title, "capacity", _goodput(cc, buffer), MEDIAN, P90)
    for cc, buffer, title in (
        ("bbr", 100, "goodput of BBR, buffer of 100 kB"),
        ("bbr", 10_000, "goodput of BBR, buffer of 10 MB"),
        ("cubic", 100, "goodput of CUBIC, buffer of 100 kB, links up to 100 Mbit/s"),
        ("cubic", 10_000, "goodput of CUBIC, buffer of 10 MB"),
        ("bbr2", 100, f"goodput of {WORDS['bbr2']}, buffer of 100 kB"),
        ("bbr2", 10_000, f"goodput of {WORDS['bbr2']}, buffer of 10 MB"),
    )
)


@dataclass(frozen=True)
class SameSigns(CellsWithin[ImcEntry]):
    """A goal for the signs of BBR's gain. The goal limits the share of measured signs that are
    opposite to the published signs."""

    @property
    def text(self) -> str:
        return f"in {100 * self.needed:g} % of cases, not opposite to the published sign"


SIGN_GOAL = SameSigns(
    "gain_sign",
    "sign of BBR's gain over CUBIC; a gain of at most 1 % counts as zero",
    "absolute",
    lambda e: e.quantity == SIGN,
    1.0,
    SIGNS,
)


def judged(entries: Iterable[ImcEntry]) -> list[ImcEntry]:
    """Return copies of the values with tolerances. The goal for a value's quantity sets the
    tolerance."""
    return goals.with_tolerances([SIGN_GOAL], entries)


def verdicts(entries: Sequence[ImcEntry]) -> list[ErrorsVerdict | CellsVerdict]:
    """Return for each goal whether it is met. Skip goals without any measured value."""
    return [
        *goals.errors_verdicts(GOODPUTS, entries),
        *goals.cells_verdicts([SIGN_GOAL], entries),
    ]


def judges(entries: Sequence[ImcEntry]) -> list[Judge]:
    """Return a row of goals.csv for each goal."""
    return [judge(verdict, entries) for verdict in verdicts(entries)]


def summary(entries: Sequence[ImcEntry]) -> list[dict[str, Any]]:
    """Return the list `summary` of `reproduce --json`. The list contains the errors of each
    quantity, then the result of each goal."""
    return goals.summary(entries, verdicts(entries))


def missed(entries: Iterable[ImcEntry]) -> list[ImcEntry]:
    """Return the goodputs whose errors exceed the limit for the 90th percentile, largest first."""
    off = [
        e
        for e in entries
        if (e.size("capacity") or 0.0) > P90 and any(goal.belongs(e) for goal in GOODPUTS)
    ]
    return sorted(off, key=lambda e: -(e.size("capacity") or 0.0))


def opposite(entries: Iterable[ImcEntry]) -> list[ImcEntry]:
    """Return the measured signs that are opposite to the published signs."""
    return [e for e in entries if e.within is False]
