"""Finds the flow of a variant that corresponds to a flow of the baseline. Sources, programs, links
and classes are matched in the same way.

Objects with the same name correspond to each other. The objects without a match are matched by
their order in the file, if baseline and variant have equally many such objects. (The default name
of a flow is its congestion control, which a variant may change.) Classes are matched by name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Match:
    """A flow, link or class of the baseline, with the corresponding objects of all variants."""

    name: str
    """The object's name in the baseline. If the baseline does not have the object, the name comes
    from the variant that has it."""
    places: tuple[int | None, ...]
    """The object's index among the names of each variant. None if a variant does not have the
    object."""
    by_order: tuple[bool, ...]
    """For each variant, whether the object has another name in that variant and is matched by
    order."""


def matched(named: Sequence[Sequence[str]], *, by_name: bool = False) -> Iterator[Match]:
    """Match the names of all variants. `named` contains the names in each variant, beginning with
    the baseline. With `by_name`, names that differ are never matched by their order."""
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
