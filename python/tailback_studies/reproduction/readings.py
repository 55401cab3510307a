"""Questions that a source leaves open: each reading is tried by itself, on the cells that it
affects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tailback_studies.reproduction.entries import Entry

BASELINE = "baseline"
"""The set-up of the reproduction, with which readings are compared."""

V = TypeVar("V")
S = TypeVar("S")
E = TypeVar("E", bound=Entry)


def _any(_setup: object) -> bool:
    return True


@dataclass(frozen=True)
class Reading(Generic[V, S]):
    """One other reading of the source."""

    id: str
    title: str
    """The difference from the set-up of the reproduction."""
    variant: V
    concerns: Callable[[S], bool] = _any
    """Whether it can change the results of a set-up."""


def before_and_after(
    by_reading: Mapping[str, Sequence[E]], reading: Reading[V, S]
) -> tuple[list[E], Sequence[E]]:
    """Return the cells that a reading concerns, in the set-up of the reproduction and with it."""
    changed = by_reading.get(reading.id, ())
    ids = {entry.cell.id for entry in changed}
    return [entry for entry in by_reading[BASELINE] if entry.cell.id in ids], changed
