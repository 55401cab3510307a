"""Finds the axes of a sweep, and chooses which to show along x, by colour and by panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tailback.plot import words
from tailback.store.results import Results, Run

MOST_COLOURS = 7
"""The largest number of curves that can be distinguished in one panel."""
MOST_IN_A_ROW = 5
"""The largest number of panels in a row. More panels would be too narrow."""


@dataclass(frozen=True)
class SweepAxis:
    """An axis of a sweep: a key, or several keys that are swept together, with its values in
    order."""

    keys: tuple[str, ...]
    levels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    """Values of the first key as numbers in `unit`. None if the values are not numbers."""
    unit: str = ""

    @property
    def title(self) -> str:
        """The label with the unit of its values."""
        return f"{self.label} ({self.unit})" if self.unit and len(self.keys) == 1 else self.label

    @property
    def label(self) -> str:
        """The names of the axis's keys."""
        return ", ".join(dict.fromkeys(words.key(key) for key in self.keys))

    def level(self, run: Run) -> str:
        """Return the value of the axis in a run."""
        return _level(run, self.keys)

    def number(self, run: Run) -> float:
        """Return the value of the axis in a run as a number."""
        return self._numbers[self.level(run)]

    @cached_property
    def _numbers(self) -> Mapping[str, float]:
        # Searching `levels` for each run would take time in proportion to the square of its length.
        assert self.numbers is not None
        return dict(zip(self.levels, self.numbers, strict=True))


@dataclass(frozen=True)
class Roles:
    """Says which axes of a sweep are shown along x, by colour and by panel."""

    x: SweepAxis | None
    colour: SweepAxis | None
    panels: tuple[SweepAxis, ...]

    def panel(self, run: Run) -> str:
        """Return the heading of the panel that shows a run."""
        return ", ".join(axis.level(run) for axis in self.panels)

    def in_a_row(self) -> int:
        """Return how many panels to place in a row. If panels show several axes, return the number
        of values of the last axis. 0 means that the layout may choose the number.
        """
        last = len(self.panels[-1].levels) if len(self.panels) > 1 else 0
        return last if 2 <= last <= MOST_IN_A_ROW else 0


def _level(run: Run, keys: Sequence[str]) -> str:
    # Name equal values once, because keys that are swept together often have the same value.
    return ", ".join(dict.fromkeys(_value(run.labels.get(key, "")) for key in keys))


@lru_cache(maxsize=1 << 16)
def _value(label: str) -> str:
    # Cache the texts, because each figure asks for the values of all sweep points again.
    return words.value(label)


def axes_of(results: Results) -> list[SweepAxis]:
    """Return the axes with several values, in the order of the scenario."""
    axes = []
    for keys in results.axes:
        paths = tuple(keys)
        labels = dict.fromkeys(run.labels.get(paths[0], "") for run in results)
        levels = tuple(dict.fromkeys(_level(run, paths) for run in results))
        if len(levels) < 2:
            continue
        numbers = words.numbers(list(labels)) if len(labels) == len(levels) else None
        values, unit = (tuple(numbers[0]), numbers[1]) if numbers else (None, "")
        axes.append(SweepAxis(paths, levels, values, unit))
    return axes


def roles(axes: Sequence[SweepAxis]) -> Roles:
    """Choose which axes of a sweep to show along x, by colour and by panel.

    x is the numeric axis with the most values. Without a numeric axis, x is the axis of names with
    the most values. Colours show an axis with few values, preferably of names. The other axes are
    shown in panels.
    """
    x = max(axes, key=lambda a: (a.numbers is not None, len(a.levels)), default=None)
    rest = [axis for axis in axes if axis is not x]
    few = [axis for axis in rest if len(axis.levels) <= MOST_COLOURS]
    colour = max(few, key=lambda a: (a.numbers is None, len(a.levels)), default=None)
    return Roles(x, colour, tuple(axis for axis in rest if axis is not colour))


def most_coloured(axes: Sequence[SweepAxis]) -> Roles:
    """Assign the axes of a sweep to colours and panels, for curves over another quantity.

    Colours show the axis with the most values among the axes with few enough values, preferably an
    axis of names. The other axes are shown in panels.
    """
    few = [axis for axis in axes if len(axis.levels) <= MOST_COLOURS]
    colour = max(few, key=lambda a: len(a.levels) + 1.5 * (a.numbers is None), default=None)
    return Roles(None, colour, tuple(axis for axis in axes if axis is not colour))
