"""Compares the points that a search found with the default values, on seeds that the search did not
use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from tailback.base.numbers import short
from tailback.metrics import Estimate, estimate
from tailback.metrics.differences import Difference, paired
from tailback.tuning.goals import Goal
from tailback.tuning.measure import MeasuredCandidate
from tailback.tuning.plan import SearchPlan, Values
from tailback.tuning.search import Tried

MOST_CHECKED = 12
"""The largest number of points of a front that run on unseen seeds. From a longer front, this
number of points is chosen evenly, including both ends.
"""

CERTAIN = 0.05
"""A difference that is the same for each seed counts as significant if the p value of the sign test
is below this level."""

FEWEST = math.floor(1 - math.log2(CERTAIN)) + 1
"""The smallest number of seeds with which a difference that is the same for each seed is
significant. With n seeds, the p value of the sign test is 2^(1 - n)."""

Answer = Literal["better", "worse", "same", "open"]


@dataclass(frozen=True)
class Point:
    """A point of the Pareto front, with its results on the unseen seeds."""

    number: int
    """The point's number along the front, from 1."""
    tried: Tried
    unseen: MeasuredCandidate | None
    """The point's result on unseen seeds. None if the point did not run on these seeds."""
    base: MeasuredCandidate
    """The result of the defaults on unseen seeds."""

    @property
    def values(self) -> Values:
        """The values of the point, by path."""
        return self.tried.values

    @property
    def file(self) -> str:
        """Name of the file with the point's scenario."""
        return f"point-{self.number:02}.toml"

    def checked(self, goal: Goal) -> Estimate | None:
        """Return the mean over the unseen seeds, with its interval."""
        return estimate(self.unseen.by_seed[goal.text]) if self.unseen is not None else None

    def difference(self, goal: Goal) -> Difference | None:
        """Return the difference from the default values, seed by seed."""
        if self.unseen is None:
            return None
        return paired(self.base.by_seed[goal.text], self.unseen.by_seed[goal.text])

    def answer(self, goal: Goal) -> Answer:
        """Return whether the point is better than the defaults in this goal, beyond noise.

        If the differences vary, their confidence interval must exclude 0. If all
        differences are equal, at least `FEWEST` seeds are needed.
        """
        difference = self.difference(goal)
        if difference is None:
            return "open"
        known = (
            difference.n >= FEWEST
            if difference.ci95 is None
            else abs(difference.absolute) > difference.ci95
        )
        if not known:
            return "open"
        if not difference.absolute:
            return "same"
        return "better" if goal.gain(difference.absolute) > 0 else "worse"

    def why_open(self, goal: Goal) -> str | None:
        """Return why the answer is "open", or None if the answer is not "open"."""
        if self.answer(goal) != "open":
            return None
        found = self.difference(goal)
        if found is None:
            return "not run on unseen seeds"
        if found.ci95 is None:
            seeds = "seed is" if found.n == 1 else "seeds are"
            return f"{found.n} unseen {seeds} too few; use at least {FEWEST}"
        return "the 95 % interval of the difference contains 0"

    def standing(self, goals: Sequence[Goal]) -> Standing:
        """Return the answer for all goals together.

        The answer is "open" rather than "no_worse" if any goal is undecided, because the point may
        be worse in that goal.
        """
        answers = {self.answer(goal) for goal in goals}
        if "worse" in answers:
            return "worse"
        if "open" in answers:
            return "open"
        if answers == {"better"}:
            return "better"
        return "no_worse" if "better" in answers else "same"


Standing = Literal["better", "no_worse", "same", "worse", "open"]
"""How a point compares with the defaults.

`better` means better in every goal. `no_worse` means better in some goals and equal in all other
goals. `same` means equal in all goals, and `worse` means worse in some goal. `open` means undecided
in some goal, and worse in no goal.
"""


@dataclass(frozen=True)
class Tuned:
    """The result of a search."""

    plan: SearchPlan
    tried: Sequence[Tried]
    defaults: MeasuredCandidate
    """The result of the defaults in the search."""
    defaults_unseen: MeasuredCandidate
    front: Sequence[Point]
    """The points of the front, in the order of the first goal's value."""
    folder: Path
    """The folder with the report, figures, a scenario file for each point, and Optuna's journal."""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def unseen_seeds(self) -> tuple[int, int]:
        """The first and the last of the unseen seeds."""
        first = self.plan.seed + self.plan.seeds
        return first, first + self.plan.unseen - 1

    @property
    def unseen_text(self) -> str:
        """The unseen seeds as text."""
        first, last = self.unseen_seeds
        return f"seed {first}" if first == last else f"seeds {first} to {last}"

    @property
    def checked(self) -> list[Point]:
        """The points that ran with unseen seeds."""
        return [point for point in self.front if point.unseen is not None]

    def counts(self) -> dict[Standing, int]:
        """The number of compared points with each answer."""
        standings = [point.standing(self.plan.goals) for point in self.checked]
        return {one: standings.count(one) for one in get_args(Standing)}

    def left_out(self) -> list[str]:
        """Return sentences that say which points of the front were not compared, and why."""
        front, checked = len(self.front), len(self.checked)
        if front == checked:
            return []
        lines = []
        taken = len(chosen([point.tried for point in self.front]))
        if taken < front:
            lines.append(
                f"{taken} of the {front} points on the front were compared (at most "
                f"{MOST_CHECKED}, spread along the front); the other points have a dash"
            )
        if checked < taken:
            lines.append(f"{taken - checked} could not be measured with these seeds")
        return lines

    def verdict(self) -> list[str]:
        """Return sentences that compare the front with the default values."""
        plan = self.plan
        checked = self.checked
        if not self.front:
            held = sum(not candidate.measured.fault for candidate in self.tried)
            if held:
                bounds = ", ".join(bound.text for bound in plan.bounds)
                return [f"none of the {held} measured candidates meets {bounds}"]
            faults = dict.fromkeys(candidate.measured.fault for candidate in self.tried)
            return [f"no candidate could be measured: {next(iter(faults), '')}"]
        points = f"{len(checked)} point{'s' if len(checked) != 1 else ''}"
        head = f"on {self.unseen_text}, which the search did not use, compared with the defaults:"
        lines = [head, *self.left_out()]
        if not checked:
            return lines
        words = _STANDINGS if len(plan.goals) > 1 else _STANDINGS_OF_ONE
        told = ", ".join(
            f"{count} {words[standing]}"
            for standing, count in self.counts().items()
            if standing in words and (count or standing in ("better", "no_worse"))
        )
        lines.append(f"of {points}, {told}")
        # Print each reason once, with the goals that it concerns.
        reasons: dict[str, dict[str, None]] = {}
        for point in checked:
            for goal in plan.goals:
                if (why := point.why_open(goal)) is not None:
                    reasons.setdefault(why, {})[goal.text] = None
        lines += [f"open in {' and '.join(texts)}: {why}" for why, texts in reasons.items()]
        for goal in plan.goals:
            best = max(
                checked, key=lambda p: goal.gain(d.absolute if (d := p.difference(goal)) else 0.0)
            )
            if (found := best.difference(goal)) is not None:
                answer = best.answer(goal)
                lines.append(f"{goal.text}: at best {text(found)} (point {best.number}, {answer})")
        for bound in plan.bounds:
            if bound.violation(self.defaults_unseen.value(bound.quantity.text)) > 0:
                lines.append(f"with these seeds, the defaults do not meet {bound.text}")
        broken = self.broken()
        if broken:
            lines.append(f"with these seeds, {len(broken)} of {points} do not meet a bound")
        return lines

    def broken(self) -> list[Point]:
        """Return the points that met all conditions in the search, but not with unseen seeds."""
        return [
            point
            for point in self.checked
            if point.unseen is not None
            and any(b.violation(point.unseen.value(b.quantity.text)) > 0 for b in self.plan.bounds)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        plan = self.plan
        return {
            "id": plan.id,
            "engine": plan.runner.name,
            "version": plan.defaults.engine_version,
            "sampler": plan.sampler,
            "seed": plan.sampler_seed,
            "vary": {parameter.path: parameter.text for parameter in plan.vary},
            "goals": [{"metric": g.text, "direction": g.direction} for g in plan.goals],
            "subject_to": [bound.text for bound in plan.bounds],
            "across": plan.across,
            "runs_per_candidate": plan.runs,
            "candidates": [self._candidate(candidate) for candidate in self.tried],
            "defaults": {
                "search": _values(plan, self.defaults),
                "unseen": _estimates(self.defaults_unseen),
            },
            "unseen_seeds": list(self.unseen_seeds),
            "front": [self._point(point) for point in self.front],
            "compared": len(self.checked),
            "counts": self.counts(),
            "verdict": self.verdict(),
        }

    def _candidate(self, candidate: Tried) -> dict[str, Any]:
        return {
            "number": candidate.number,
            "values": dict(candidate.values),
            "measured": _values(self.plan, candidate.measured),
            "holds": candidate.holds,
            "front": candidate.front,
            "fault": candidate.measured.fault or None,
        }

    def _point(self, point: Point) -> dict[str, Any]:
        differences = {}
        for goal in self.plan.goals:
            difference = point.difference(goal)
            differences[goal.text] = (
                None
                if difference is None
                else {
                    "absolute": difference.absolute,
                    "ci95": difference.ci95,
                    "relative": difference.relative,
                    "answer": point.answer(goal),
                    "why_open": point.why_open(goal),
                }
            )
        return {
            "point": point.number,
            "candidate": point.tried.number,
            "values": dict(point.values),
            "search": _values(self.plan, point.tried.measured),
            "unseen": _estimates(point.unseen) if point.unseen else None,
            "difference": differences,
            "file": point.file,
        }


_STANDINGS: dict[Standing, str] = {
    "better": "better in every goal",
    "no_worse": "better in one and worse in none",
    "same": "the same in all",
    "worse": "worse in one or more",
    "open": "open",
}
_STANDINGS_OF_ONE: dict[Standing, str] = {
    "better": "better",
    "same": "the same",
    "worse": "worse",
    "open": "open",
}


def text(diff: Difference) -> str:
    """Format a difference and the half-width of its interval, in percent if the difference is
    relative."""
    if diff.relative is not None:
        half = diff.relative_ci95
        return f"{100 * diff.relative:+.3g}{f' ±{100 * half:.2g}' if half else ''} %"
    return f"{diff.absolute:+.3g}{f' ±{short(diff.ci95, 2)}' if diff.ci95 else ''}"


def _values(plan: SearchPlan, measured: MeasuredCandidate) -> dict[str, float] | None:
    if measured.fault:
        return None
    names = [goal.text for goal in plan.goals] + [b.quantity.text for b in plan.bounds]
    return {name: measured.value(name) for name in dict.fromkeys(names)}


def _estimates(measured: MeasuredCandidate) -> dict[str, Any]:
    found = {}
    for name, by_seed in measured.by_seed.items():
        one = estimate(by_seed)
        found[name] = {"n": one.n, "mean": one.mean, "ci95": one.half_width}
    return found


def chosen(front: Sequence[Tried]) -> list[int]:
    """Choose the points of a front to run with unseen seeds. Return their indices."""
    if len(front) <= MOST_CHECKED:
        return list(range(len(front)))
    last = len(front) - 1
    return sorted({round(i * last / (MOST_CHECKED - 1)) for i in range(MOST_CHECKED)})
