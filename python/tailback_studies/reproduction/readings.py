"""Compares alternatives ("readings") for details that a publication does not state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tailback_studies.reproduction.entries import Entry

BASELINE = "baseline"
"""The name of the reproduction's set-up, with which alternatives are compared."""

V = TypeVar("V")
S = TypeVar("S")
E = TypeVar("E", bound=Entry)


def _any(_setup: object) -> bool:
    return True


@dataclass(frozen=True)
class Reading(Generic[V, S]):
    """An alternative value of a detail that the publication does not state."""

    id: str
    title: str
    """How the alternative differs from the set-up of the reproduction."""
    variant: V
    concerns: Callable[[S], bool] = _any
    """Returns whether the alternative can change the results of a set-up."""


def before_and_after(
    by_reading: Mapping[str, Sequence[E]], reading: Reading[V, S]
) -> tuple[list[E], Sequence[E]]:
    """Return the values that an alternative affects: first as measured with the set-up, then as
    measured with the alternative."""
    changed = by_reading.get(reading.id, ())
    ids = {entry.cell.id for entry in changed}
    return [entry for entry in by_reading[BASELINE] if entry.cell.id in ids], changed
