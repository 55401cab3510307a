"""Defines settings of a figure that do not concern its data, such as axis limits and title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tailback.errors import InputError

Limits = tuple[float | None, float | None]
"""The two ends of an axis. An end that is None is chosen to suit the values."""

Axis = Literal["x", "y"]

EVENTS = {
    "drops": "drop.",
    "marks": "mark.",
    "slow-start-exit": "",
}
"""Kinds of events, with the prefix of the names of their series."""

ALL = "all"


@dataclass(frozen=True)
class Rule:
    """A horizontal or vertical reference line."""

    axis: Axis
    value: float
    text: str


@dataclass(frozen=True)
class FigureLook:
    """The settings as the user wrote them. `resolved` converts these settings to the units of the
    axes."""

    begin: str | None = None
    end: str | None = None
    rules: Sequence[str] = ()
    laws: Sequence[str] = ()
    x_limits: str | None = None
    y_limits: str | None = None
    title: str = ""
    events: Sequence[str] = ()


@dataclass(frozen=True)
class ResolvedLook:
    """The settings of a figure, in the units of its axes."""

    begin_s: float | None = None
    end_s: float | None = None
    rules: Sequence[Rule] = ()
    laws: Sequence[str] = ()
    x: Limits = (None, None)
    y: Limits = (None, None)
    title: str = ""
    events: Sequence[str] = ()

    def at(self, axis: Axis) -> list[float]:
        """Return the positions of the reference lines on an axis.

        The range of the axis must include these positions.
        """
        return [rule.value for rule in self.rules if rule.axis == axis]


def check(look: FigureLook) -> None:
    """Check the types of the settings, for callers from Python."""
    for name in ("begin", "end", "x_limits", "y_limits"):
        value = getattr(look, name)
        if value is not None and not isinstance(value, str):
            raise InputError(f'{name} is {value!r}; expected text such as "2s" or "0:20ms"')
