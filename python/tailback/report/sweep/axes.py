"""What a sweep varies: its axes, their values in the words of the scenario, and which one is drawn
along x, which in colours and which in panels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.results import Results, Run

MOST_COLOURS = 7
"""More curves in one panel cannot be told apart."""
MOST_IN_A_ROW = 5
"""More panels beside each other are too narrow."""

_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?P<unit>[A-Za-z]*)")
#: What a unit of the scenario is of, how many of the first of its kind it is, how it is written.
_UNITS = {
    "": ("", 1.0, ""),
    "us": ("time", 1e-3, "\u00b5s"),
    "ms": ("time", 1.0, "ms"),
    "s": ("time", 1e3, "s"),
    "bit": ("rate", 1e-6, "bit/s"),
    "kbit": ("rate", 1e-3, "kbit/s"),
    "mbit": ("rate", 1.0, "Mbit/s"),
    "gbit": ("rate", 1e3, "Gbit/s"),
    "bdp": ("bdp", 1.0, "BDP"),
    "p": ("packets", 1.0, "packets"),
    "b": ("bytes", 1 / 1024, "B"),
    "kb": ("bytes", 1.0, "kB"),
    "mb": ("bytes", 1024.0, "MB"),
}
_FIRST = {"": "", "time": "ms", "rate": "Mbit/s", "bdp": "BDP", "packets": "packets", "bytes": "kB"}


@dataclass(frozen=True)
class Axis:
    """Keys that advance together, and their values in order."""

    keys: tuple[str, ...]
    levels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    """Of the first key, where that is a number, in `unit`."""
    unit: str = ""

    @property
    def title(self) -> str:
        """The keys, with the unit of what is drawn."""
        name = ", ".join(self.keys)
        return f"{name}, {self.unit}" if self.unit and len(self.keys) == 1 else name

    def level(self, run: Run) -> str:
        """Its value at the point of a run."""
        return _level(run, self.keys)

    def number(self, run: Run) -> float:
        """The same as a number."""
        assert self.numbers is not None
        return self.numbers[self.levels.index(self.level(run))]


@dataclass(frozen=True)
class Roles:
    """How a sweep is drawn."""

    x: Axis | None
    colour: Axis | None
    panels: tuple[Axis, ...]

    def panel(self, run: Run) -> str:
        """The heading of the panel that a run is in."""
        return ", ".join(axis.level(run) for axis in self.panels)

    def in_a_row(self) -> int:
        """How many panels make a row: the values of the last axis, if they fit; 0 else."""
        last = len(self.panels[-1].levels) if len(self.panels) > 1 else 0
        return last if 2 <= last <= MOST_IN_A_ROW else 0


def words(label: str) -> str:
    """A value as people write it: `10Mbit` is 10 Mbit/s."""
    found = _NUMBER.fullmatch(label)
    if found is None or found["unit"].lower() not in _UNITS:
        return label
    return f"{found['number']} {_UNITS[found['unit'].lower()][2]}".strip()


def _level(run: Run, keys: Sequence[str]) -> str:
    # Keys that have one value are often set together: a congestion control here and there.
    return ", ".join(dict.fromkeys(words(run.labels.get(key, "")) for key in keys))


def axes_of(results: Results) -> list[Axis]:
    """The axes along which something changes, as the scenario lists them."""
    found = []
    for keys in results.axes:
        own = tuple(keys)
        labels = dict.fromkeys(run.labels.get(own[0], "") for run in results)
        levels = tuple(dict.fromkeys(_level(run, own) for run in results))
        if len(levels) < 2:
            continue
        numbers, unit = _numbers(list(labels)) if len(labels) == len(levels) else (None, "")
        found.append(Axis(own, levels, numbers, unit))
    return found


def _numbers(labels: Sequence[str]) -> tuple[tuple[float, ...] | None, str]:
    """Values of labels in one unit; none if they are names, or of several kinds."""
    parsed = []
    for label in labels:
        found = _NUMBER.fullmatch(label)
        if found is None or found["unit"].lower() not in _UNITS:
            return None, ""
        parsed.append((float(found["number"]), *_UNITS[found["unit"].lower()]))
    if len({kind for _, kind, _, _ in parsed}) != 1:
        return None, ""
    if len({unit for _, _, _, unit in parsed}) == 1:
        return tuple(number for number, *_ in parsed), parsed[0][3]
    return tuple(number * factor for number, _, factor, _ in parsed), _FIRST[parsed[0][1]]


def roles(found: Sequence[Axis]) -> Roles:
    """The axis of numbers with most values along x (of names, if there is none), one of few values
    in colours, names before numbers, and panels for the rest."""
    x = max(found, key=lambda a: (a.numbers is not None, len(a.levels)), default=None)
    rest = [axis for axis in found if axis is not x]
    few = [axis for axis in rest if len(axis.levels) <= MOST_COLOURS]
    colour = max(few, key=lambda a: (a.numbers is None, len(a.levels)), default=None)
    return Roles(x, colour, tuple(axis for axis in rest if axis is not colour))


def most_coloured(found: Sequence[Axis]) -> Roles:
    """Roles of curves that have an x of their own: most values in colours, names rather than
    numbers, and the rest in panels."""
    few = [axis for axis in found if len(axis.levels) <= MOST_COLOURS]
    colour = max(few, key=lambda a: len(a.levels) + 1.5 * (a.numbers is None), default=None)
    return Roles(None, colour, tuple(axis for axis in found if axis is not colour))
