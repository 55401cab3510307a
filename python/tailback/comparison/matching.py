"""Decides which flow (source, program, link, class) of a variant corresponds to which of the
baseline.

Names decide first. If the unmatched ones are equally many on both sides, they are matched by their
order in the file. (A default name is that of the congestion control, which a variant may change.)
Classes are matched by name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Match:
    """A flow, link or class, in all variants."""

    name: str
    """The object's name in the baseline, or in its variant if the baseline does not have it."""
    places: tuple[int | None, ...]
    """The object's index among the names of each variant; None if a variant does not have it."""
    by_order: tuple[bool, ...]
    """For each variant, whether the object has another name there and is matched by order."""


def matched(named: Sequence[Sequence[str]], *, by_name: bool = False) -> Iterator[Match]:
    """Match the names that each variant has, the baseline's first; `by_name`: never by order."""
    first = next((names for names in named if names), ())
    places: dict[str, list[int | None]] = {name: [None] * len(named) for name in first}
    ordered: dict[str, list[bool]] = {}
    for i, names in enumerate(named):
        left = [name for name in names if name not in set(first)]
        open_ = [name for name in first if name not in set(names)]
        renamed = {}
        if not by_name and len(left) == len(open_):
            renamed = dict(zip(left, open_, strict=True))
        for at, name in enumerate(names):
            slot = renamed.get(name, name)
            places.setdefault(slot, [None] * len(named))[i] = at
            if name in renamed:
                ordered.setdefault(slot, [False] * len(named))[i] = True
    for slot, found in places.items():
        by_order = ordered.get(slot, [False] * len(named))
        yield Match(slot, tuple(found), tuple(by_order))
