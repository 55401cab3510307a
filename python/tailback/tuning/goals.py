"""Defines the goals of a search (metrics to minimise or maximise) and its conditions.

A goal needs one number for each run. The number describes the run, its only link, its only flow, or
the flow, link or class whose name follows `@`. If several flows have this name, the number is the
mean of their values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailback import metrics
from tailback.base.names import unknown
from tailback.comparison.quantities import select
from tailback.errors import InputError
from tailback.metrics import Metric, parts, pooling
from tailback.metrics.base import refuse_of_two

_BOUND = re.compile(r"(?P<quantity>.+?)\s*(?P<sign>>=|<=)\s*(?P<number>[+-]?[\d.]+(?:e[+-]?\d+)?)")
_NEAR = re.compile(r"\s*(=[<>]|[<>]=?)\s*")


@dataclass(frozen=True)
class GoalQuantity:
    """A quantity that a goal or a condition uses. The quantity gives one number for each run."""

    text: str
    """The quantity as the user wrote it."""
    metric: Metric
    name: str
    """Name of the flows, link or class. Empty for the run."""

    def is_that(self, other: GoalQuantity) -> bool:
        """Return whether another quantity refers to the same number."""
        own, their = self.metric, other.metric
        return (own.on, own.path, self.name) == (their.on, their.path, other.name)

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number for a run, or None if the run does not have it."""
        match self.metric.on:
            case "run":
                return pooling.read(self.metric, summary).value
            case "link":
                return pooling.read(self.metric, summary["queues"].get(self.name)).value
            case "class":
                named = [c for c in parts.of(summary, "class") if c["name"] == self.name]
            case _:
                every = (part for kind in parts.LIKE_FLOWS for part in parts.of(summary, kind))
                named = [part for part in every if metrics.is_of(part["name"], self.name)]
        found = [pooling.read(self.metric, part) for part in named]
        if any(reading.value is None for reading in found):
            return None
        return pooling.together(found).value


@dataclass(frozen=True)
class Goal:
    """A quantity to minimise or to maximise."""

    quantity: GoalQuantity
    direction: Literal["minimise", "maximise"]

    @property
    def text(self) -> str:
        return self.quantity.text

    @property
    def title(self) -> str:
        """The quantity as the user wrote it, with its unit, for axes and tables."""
        metric = self.quantity.metric
        return self.text if metric.title == metric.name else f"{self.text} ({metric.unit})"

    def gain(self, difference: float) -> float:
        """Return a difference with the sign that makes improvements positive."""
        return -difference if self.direction == "minimise" else difference


@dataclass(frozen=True)
class Bound:
    """A condition on a quantity: a bound that its value must meet."""

    text: str
    quantity: GoalQuantity
    least: bool
    limit: float

    def violation(self, value: float) -> float:
        """Return by how much a value violates the bound. The result is 0 or less if the bound
        holds."""
        return self.limit - value if self.least else value - self.limit


def refuse_twice(goal: Goal, others: Sequence[Goal]) -> None:
    """Raise an error if another goal uses the same quantity."""
    for other in others:
        if goal.quantity.is_that(other.quantity):
            raise InputError(
                f"{goal.text}: is a goal already, --{other.direction} {other.text}; "
                "expected each metric once"
            )


class There:
    """The names of the flows, links and classes of a scenario."""

    def __init__(self, point: Mapping[str, Any]) -> None:
        self.senders = {
            kind: [part["name"] for part in point.get(key, ())]
            for kind, key in (("flow", "flows"), ("program", "programs"), ("traffic", "traffic"))
        }
        self.single = len(point["flows"]) == 1 and point["flows"][0].get("count", 1) == 1
        self.links = [link["name"] for link in point["links"]]
        parts = [*point["flows"], *point.get("traffic", ())]
        self.classes = list(dict.fromkeys(c for part in parts if (c := part.get("class"))))

    def named(self, metric: Metric) -> list[str]:
        """Return the names of the flows, links or classes to which a metric applies."""
        match metric.on:
            case "link":
                return self.links
            case "class":
                return self.classes
            case "flow":
                return [name for kind in metric.parts for name in self.senders[kind]]
        return []


def quantity(text: str, there: There) -> GoalQuantity:
    """Parse `METRIC` or `METRIC@NAME`."""
    word, at, name = (part.strip() for part in text.partition("@"))
    found = sorted(select([word]), key=lambda metric: metrics.ONS.index(metric.on))
    for metric in found:
        refuse_of_two(metric, text)
    offered = {metric.on: metric for metric in found}
    named = {on: there.named(metric) for on, metric in offered.items()}
    valid = [label for names in named.values() for label in names]
    if at:
        for on, metric in offered.items():
            if name in named[on]:
                return GoalQuantity(text, metric, name)
        kind = " or ".join(on for on in offered if on != "run") or "run"
        if not valid:
            raise InputError(
                f"{text}: {word} belongs to a {kind}, and the scenario "
                "has none; choose another metric"
            )
        raise InputError(f"{text}: {unknown(kind, name, valid)}")
    if "run" in offered:
        return GoalQuantity(text, offered["run"], "")
    if "link" in offered and len(there.links) == 1:
        return GoalQuantity(text, offered["link"], there.links[0])
    if "flow" in offered and "link" not in offered and there.single:
        return GoalQuantity(text, offered["flow"], there.senders["flow"][0])
    if not valid:
        raise InputError(
            f"{text}: belongs to a {next(iter(offered))}, and the scenario has none; "
            "choose another metric"
        )
    raise InputError(
        f"{text}: belongs to a {next(iter(offered))}; expected "
        + " or ".join(f"{word}@{label}" for label in valid[:4])
    )


def bound(text: str, there: There) -> Bound:
    """Parse `METRIC>=NUMBER` or `METRIC<=NUMBER`."""
    match = _BOUND.fullmatch(text.strip())
    try:
        limit = float(match["number"]) if match is not None else math.nan
    except ValueError:
        limit = math.nan
    if match is None or not math.isfinite(limit):
        near = _NEAR.sub(lambda sign: ">=" if ">" in sign[0] else "<=", text.strip())
        hint = f'; did you mean "{near}"?' if match is None and _BOUND.fullmatch(near) else ""
        raise InputError(f"{text}: expected METRIC>=NUMBER or METRIC<=NUMBER{hint}")
    found = quantity(match["quantity"], there)
    return Bound(text.strip(), found, match["sign"] == ">=", limit)
