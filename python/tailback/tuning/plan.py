"""A search as it is asked for, with everything that is wrong with it said before the first run."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tailback import _native
from tailback.base import toml
from tailback.base.names import unknown
from tailback.errors import InputError, ScenarioError, ScenarioWarning
from tailback.running import engines, scenarios
from tailback.running.spread import shard
from tailback.tuning import goals, ranges
from tailback.tuning.goals import Bound, Goal
from tailback.tuning.ranges import Vary, Word

SEEDS = 3
"""Of each point in the search, where neither the file nor the caller says how many."""

UNSEEN = 10
"""Seeds that the search has not seen, at its end."""

BATCH = 8
"""Candidates that are asked for at once, however many run at once."""

SAMPLERS = {
    "tpe": "tree-structured Parzen estimator: learns from what was tried",
    "nsga2": "NSGA-II: recombines the best so far",
    "random": "each value by itself",
    "qmc": "Sobol's points, which fill the ranges evenly",
}
FIXED = ("random", "qmc")
"""Samplers that need nothing of what was tried: all candidates are known at once."""

Across = Literal["mean", "worst"]

Values = Mapping[str, Word]
"""A candidate: a value for each path."""


@dataclass(frozen=True)
class Plan:
    """A search that can begin."""

    scenario: scenarios.Source
    sets: tuple[tuple[str, str], ...]
    vary: tuple[Vary, ...]
    goals: tuple[Goal, ...]
    bounds: tuple[Bound, ...]
    sweep: Mapping[str, Any]
    """The points at which every candidate is tried."""
    across: Across
    candidates: int
    runs: int
    """Of a candidate."""
    seed: int
    """The first of the scenario."""
    seeds: int
    unseen: int
    batch: int
    sampler: str
    sampler_seed: int
    runner: engines.Engine
    crates: tuple[Path | str, ...]
    defaults: _native.Scenario

    @property
    def id(self) -> str:
        """Names what is searched for, and how: 20 digits of a hash."""
        said = json.dumps(
            [
                self.defaults.id,
                [(one.path, one.text, getattr(one, "log", None)) for one in self.vary],
                [(goal.text, goal.direction) for goal in self.goals],
                [one.text for one in self.bounds],
                [self.across, self.candidates, self.unseen, self.batch],
                [self.sampler, self.sampler_seed],
            ]
        )
        return hashlib.sha256(said.encode()).hexdigest()[:20]

    def load(
        self, candidates: Sequence[Values], seed: int | None = None, seeds: int | None = None
    ) -> _native.Scenario:
        """Some candidates at every point, as one sweep; without any, the scenario as it is."""
        sweep = dict(self.sweep)
        if candidates:
            paths = outer_first(candidates[0])
            zipped = {path: [one[path] for one in candidates] for path in paths}
            sweep["zip"] = [*sweep.get("zip", ()), zipped]
        values = [*self.sets, ("sweep", toml.value(sweep))]
        if seed is not None:
            values.append(("seed", str(seed)))
        with warnings.catch_warnings():
            # What is unusual of one candidate concerns nobody.
            warnings.simplefilter("ignore", ScenarioWarning)
            return scenarios.load(
                self.scenario, values, seeds or self.seeds, self.runner, crates=self.crates
            )


def make(
    scenario: scenarios.Source,
    *,
    vary: Mapping[str, object],
    minimise: Sequence[str],
    maximise: Sequence[str],
    subject_to: Sequence[str],
    over: Mapping[str, object],
    runs: int,
    seeds: int | None,
    unseen: int,
    across: str,
    sampler: str,
    seed: int,
    batch: int,
    sets: Sequence[tuple[str, str]],
    engine: str,
    crates: Sequence[Path | str],
) -> Plan:
    """Reads what is asked for; raises `InputError` with everything that is wrong."""
    runner = engines.get(engine)
    wrong: dict[str, None] = {}

    def said(error: InputError) -> None:
        texts = error.diagnostics if isinstance(error, ScenarioError) else str(error).split("\n")
        wrong.update(dict.fromkeys(texts))

    if sampler not in SAMPLERS:
        wrong[f"--sampler: {unknown('sampler', sampler, list(SAMPLERS))}"] = None
    elif sampler not in FIXED and shard.chosen() is not None:
        wrong[
            f"--shard: the sampler {sampler} asks for more after it has seen what was tried; "
            f"expected --sampler {' or '.join(FIXED)}, or --cluster"
        ] = None
    if across not in ("mean", "worst"):
        wrong[f"--across: {unknown('word', across, ['mean', 'worst'])}"] = None
    for path, _ in sets:
        if path.partition(".")[0] == "sweep":
            wrong[f"--set {path}: the points of a search are those of --over"] = None
    varied: list[Vary] = []
    for path, asked in vary.items():
        try:
            varied.append(ranges.parse(path, asked))
        except InputError as error:
            said(error)
    if not vary:
        wrong["nothing may vary; expected --vary PATH=LO..HI"] = None
    axes: dict[str, list[Word]] = {}
    try:
        axes = ranges.over(over)
    except InputError as error:
        said(error)
    own = _own_sweep(scenario)
    sweep: dict[str, Any] = dict(axes) if axes else own
    # The file as it is, at its first point: what is wrong with it is said with its own places.
    first: _native.Scenario | None = None
    try:
        first = scenarios.load(scenario, sets, 1, runner, crates=crates)
    except ScenarioError as error:
        said(error)
    if first is not None:
        swept = {*axes} if axes else {p for axis in first.axes for p in axis}
        for path in (one.path for one in varied if one.path in swept):
            wrong[f"--vary {path}: is one of the points, too (--over, or the file's sweep)"] = None

        def bases(path: str, words: Sequence[Word]) -> list[float | str]:
            # The ends of an empty range are one value, and a sweep has each value once.
            distinct = list(dict.fromkeys(words))
            tried = [*sets, ("sweep", toml.value({path: distinct}))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ScenarioWarning)
                found = scenarios.load(scenario, tried, 1, runner, crates=crates)
            values = dict(zip(distinct, (p.params[path] for p in found.points), strict=True))
            return [values[word] for word in words]

        settled: list[Vary] = []
        for one in varied:
            option = f"--vary {one.path}={one.text}"
            if _reads(bases, one.path, one.ends(), option, wrong):
                try:
                    settled.append(one.settle(bases))
                except InputError as error:
                    said(error)
        varied = settled
        for path, words in axes.items():
            option = f"--over {path}={','.join(map(str, words))}"
            _reads(bases, path, words, option, wrong)
    found_goals: list[Goal] = []
    found_bounds: list[Bound] = []
    if not minimise and not maximise:
        wrong["no goal; expected --minimise METRIC or --maximise METRIC"] = None
    there = goals.There(json.loads(first.points[0].canonical)) if first is not None else None
    for direction, texts in (("minimise", minimise), ("maximise", maximise)):
        for text in texts:
            try:
                if there is not None:
                    goal = Goal(goals.quantity(text, there), direction)  # type: ignore[arg-type]
                    goals.refuse_twice(goal, found_goals)
                    found_goals.append(goal)
            except InputError as error:
                said(InputError(f"--{direction} {error}"))
    for text in subject_to:
        try:
            if there is not None:
                found_bounds.append(goals.bound(text, there))
        except InputError as error:
            said(InputError(f"--subject-to {error}"))
    if wrong or first is None:
        raise InputError("\n".join(wrong))
    says = own.get("seeds")
    many = seeds or (says if isinstance(says, int) else SEEDS)
    sweep.pop("seeds", None)
    values = [*sets, ("sweep", toml.value(sweep))]
    with warnings.catch_warnings():
        # It has been said.
        warnings.simplefilter("ignore", ScenarioWarning)
        defaults = scenarios.load(scenario, values, many, runner, crates=crates)
    each = len(defaults.points)
    if runs < each:
        raise InputError(
            f"--runs {runs}: one candidate takes {each}, {each // many} points of {many} seeds; "
            f"expected at least {each}, and some ten times that to find something"
        )
    return Plan(
        scenario,
        tuple(sets),
        tuple(varied),
        tuple(found_goals),
        tuple(found_bounds),
        sweep,
        across,  # type: ignore[arg-type]
        runs // each,
        each,
        min(point.seed for point in defaults.points),
        many,
        unseen,
        batch,
        sampler,
        seed,
        runner,
        tuple(crates),
        defaults,
    )


def _own_sweep(scenario: scenarios.Source) -> dict[str, Any]:
    """The sweep that the file has; what cannot be read is said by who reads it."""
    try:
        found = tomllib.loads(scenarios.text_of(scenario)).get("sweep", {})
    except (ValueError, OSError, RecursionError, InputError):
        return {}
    return dict(found) if isinstance(found, dict) else {}


def outer_first(paths: Iterable[str]) -> list[str]:
    """A queue before its target: what is outside would replace what was set inside it."""
    return sorted(paths, key=lambda path: path.count("."))


def bare(diagnostic: str) -> str:
    """What is wrong, without the place in a sweep that nobody has written."""
    return _PLACE.sub("", diagnostic)


_PLACE = re.compile(r"^--set sweep=.*?:\d+:\d+: ", re.DOTALL)


def _reads(
    bases: ranges.Bases, path: str, words: Sequence[Word], option: str, wrong: dict[str, None]
) -> bool:
    """Whether these values may stand there; if not, why."""
    try:
        bases(path, words)
    except ScenarioError as error:
        for text in error.diagnostics:
            wrong[_PLACE.sub(lambda _: f"{option}: ", text)] = None
        return False
    return True
