"""Converts the settings of a figure that do not concern its data to the units of the figure's axes.
This module also checks that the settings fit the figure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from tailback.base.foreign import quoted
from tailback.base.names import unknown
from tailback.errors import InputErrors
from tailback.plot import laws, words
from tailback.plot.look import ALL, EVENTS, Axis, FigureLook, Limits, ResolvedLook, Rule
from tailback.plot.plan import PlotPlan


def resolved(look: FigureLook, plan: PlotPlan) -> PlotPlan:
    """Convert the settings to the units of the plan's axes. Raise one `InputErrors` that lists all
    mistakes."""
    return _Resolution(look, plan).plan()


@dataclass
class _Resolution:
    look: FigureLook
    of: PlotPlan
    wrong: list[str] = field(default_factory=list)

    def plan(self) -> PlotPlan:
        look = self.look
        begin, end = self._time("--from", look.begin), self._time("--to", look.end)
        if begin is not None and end is not None and end <= begin:
            self.wrong.append("--to: not after --from; expected a later time")
        found = ResolvedLook(
            begin,
            end,
            [rule for text in look.rules if (rule := self._rule(text)) is not None],
            self._laws(),
            self._limits("x", look.x_limits),
            self._limits("y", look.y_limits),
            look.title,
            self._events(),
        )
        if self.wrong:
            raise InputErrors(*self.wrong)
        return replace(self.of, look=found)

    def _unit(self, axis: Axis) -> str | None:
        """Return the unit of a numeric axis. Return None for an axis of names and for a heat
        map."""
        plan = self.of
        if not plan.kind.coloured:
            return None
        if axis == "y":
            return "" if plan.kind.up else plan.y.unit
        if plan.kind.over_time:
            return "s"
        if plan.x is None:
            return plan.y.unit
        numbers = getattr(plan.x, "numbers", ())
        if plan.kind.x == "name" or numbers is None:
            return None
        return plan.x.unit

    def _time(self, option: str, text: str | None) -> float | None:
        if text is None:
            return None
        if not self.of.kind.over_time:
            self.wrong.append(f"{option}: {self.of.kind.name} has no time; set --kind time")
            return None
        return self._number(option, text, "s")

    def _number(self, option: str, text: str, unit: str) -> float | None:
        found = words.split(text)
        value = None if found is None else words.converted(*found, unit)
        if value is None:
            example = {"": "0.5", "s": "2s", "ms": "5ms", "Mbit/s": "5Mbit"}.get(unit, "5")
            kind = f"in {unit}" if unit else "without a unit"
            self.wrong.append(
                f"{option}: {quoted(text)} is not a value of this axis; expected a number {kind}, "
                f"e.g. {example}"
            )
        return value

    def _rule(self, text: str) -> Rule | None:
        found = re.fullmatch(r"\s*([xy])\s*=\s*(.+?)\s*", text)
        if found is None:
            self.wrong.append(f"--rule {quoted(text)}: expected y=VALUE or x=VALUE, e.g. y=5ms")
            return None
        axis: Axis = "x" if found[1] == "x" else "y"
        option = f"--rule {axis}"
        unit = self._unit(axis)
        if unit is None:
            self.wrong.append(f"{option}: this axis has names; expected a line at the other axis")
            return None
        value = self._number(option, found[2], unit)
        return None if value is None else Rule(axis, value, words.value(found[2]))

    def _limits(self, axis: Axis, text: str | None) -> Limits:
        if text is None:
            return None, None
        option = f"--{axis}-limits"
        low_text, colon, high_text = text.partition(":")
        if not colon:
            self.wrong.append(f"{option} {quoted(text)}: expected LOW:HIGH, e.g. 0:20ms or 1:")
            return None, None
        unit = self._unit(axis)
        if unit is None:
            self.wrong.append(f"{option}: this axis has names; use --where to choose some")
            return None, None
        low = self._number(option, low_text, unit) if low_text.strip() else None
        high = self._number(option, high_text, unit) if high_text.strip() else None
        if low is not None and high is not None and high <= low:
            self.wrong.append(f"{option}: {quoted(text)} is empty; expected LOW below HIGH")
        return low, high

    def _laws(self) -> list[str]:
        chosen = list(dict.fromkeys(self.look.laws))
        try:
            laws.check(self.of, chosen)
        except InputErrors as error:
            self.wrong += map(str, error.problems)
        return chosen

    def _events(self) -> list[str]:
        chosen: dict[str, None] = {}
        for word in self.look.events:
            if word == ALL:
                chosen.update(dict.fromkeys(EVENTS))
            elif word in EVENTS:
                chosen[word] = None
            else:
                self.wrong.append(f"--events: {unknown('event', word, [*EVENTS, ALL])}")
        if chosen and not self.of.kind.over_time:
            self.wrong.append(f"--events: {self.of.kind.name} has no time; set --kind time")
        return list(chosen)
