"""Makes the plan of a search from the user's request. All errors in the request are reported before
the first run."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tailback import _native
from tailback.base import toml
from tailback.base.located import Located
from tailback.base.names import unknown
from tailback.errors import InputError, InputErrors, ScenarioError, ScenarioWarning
from tailback.running import engines, scenarios
from tailback.running.options import RunOptions
from tailback.running.spread import shard
from tailback.tuning import goals, ranges
from tailback.tuning.asked import SearchRequest
from tailback.tuning.goals import Bound, Goal
from tailback.tuning.ranges import Vary, Word

SEEDS = 3
"""Number of seeds of each candidate in the search, unless the file or the caller sets a number."""

SAMPLERS = {
    "tpe": "tree-structured Parzen estimator: learns from earlier candidates",
    "nsga2": "NSGA-II: recombines the best so far",
    "random": "each value by itself",
    "qmc": "Sobol's points, which fill the ranges evenly",
}
FIXED = ("random", "qmc")
"""Samplers that do not depend on results. With these samplers, all candidates are known in
advance."""

Across = Literal["mean", "worst"]

Values = Mapping[str, Word]
"""A candidate: a value for each path."""


@dataclass(frozen=True)
class SearchPlan:
    """The plan of a search, with all data that the search needs."""

    scenario: scenarios.Source
    sets: tuple[tuple[str, str], ...]
    vary: tuple[Vary, ...]
    goals: tuple[Goal, ...]
    bounds: tuple[Bound, ...]
    sweep: Mapping[str, Any]
    """Values of the sweep points at which every candidate runs, by path."""
    across: Across
    candidates: int
    runs: int
    """Number of runs of a candidate."""
    seed: int
    """The first seed of the scenario."""
    seeds: int
    unseen: int
    batch: int
    sampler: str
    sampler_seed: int
    runner: engines.Engine
    plugins: tuple[Path | str, ...]
    defaults: _native.Scenario

    @property
    def id(self) -> str:
        """The id of the search: 20 digits of a hash of everything that affects the result."""
        text = json.dumps(
            [
                self.defaults.id,
                [(one.path, one.text, getattr(one, "log", None)) for one in self.vary],
                [(goal.text, goal.direction) for goal in self.goals],
                [one.text for one in self.bounds],
                [self.across, self.candidates, self.unseen, self.batch],
                [self.sampler, self.sampler_seed],
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def load(
        self, candidates: Sequence[Values], seed: int | None = None, seeds: int | None = None
    ) -> _native.Scenario:
        """Load candidates at every sweep point, as one sweep. Without candidates, load the
        unchanged scenario."""
        sweep = dict(self.sweep)
        if candidates:
            paths = outer_first(candidates[0])
            zipped = {path: [one[path] for one in candidates] for path in paths}
            sweep["zip"] = [*sweep.get("zip", ()), zipped]
        values = [*self.sets, ("sweep", toml.value(sweep))]
        if seed is not None:
            values.append(("seed", str(seed)))
        with warnings.catch_warnings():
            # Do not warn about single candidates, because their values are chosen by the search and
            # not by the user.
            warnings.simplefilter("ignore", ScenarioWarning)
            return scenarios.load(
                self.scenario, values, seeds or self.seeds, self.runner, plugins=self.plugins
            )


def make(
    scenario: scenarios.Source,
    asked: SearchRequest,
    sets: Sequence[tuple[str, str]],
    options: RunOptions,
) -> SearchPlan:
    """Read the user's request and return the plan of the search. Raise `InputError` with all
    errors."""
    reader = _Reader(scenario, tuple(sets), engines.get(options.engine), options.plugins)
    reader.check_words(asked)
    varied = reader.ranges_of(asked.vary)
    axes = reader.axes_of(asked.over)
    # Load the unchanged file first, so that errors in this file are reported with their line
    # numbers.
    first = reader.first()
    file_sweep: dict[str, Any] = json.loads(first.sweep) if first is not None else {}
    if first is not None:
        varied = reader.settled(varied, axes, first)
    goals_found, bounds_found = reader.goals_of(asked, first)
    reader.refuse()
    sweep: dict[str, Any] = dict(axes) if axes else file_sweep
    says = file_sweep.get("seeds")
    seeds = options.seeds or (says if isinstance(says, int) else SEEDS)
    sweep.pop("seeds", None)
    defaults = reader.load([("sweep", toml.value(sweep))], seeds)
    each = len(defaults.points)
    if asked.runs < each:
        raise InputError(
            f"--runs {asked.runs}: one candidate takes {each}, {each // seeds} points of {seeds} "
            f"seeds; expected at least {each}, and about ten times as many for a useful search"
        )
    return SearchPlan(
        scenario=scenario,
        sets=tuple(sets),
        vary=tuple(varied),
        goals=tuple(goals_found),
        bounds=tuple(bounds_found),
        sweep=sweep,
        across=asked.across,  # type: ignore[arg-type]
        candidates=asked.runs // each,
        runs=each,
        seed=min(point.seed for point in defaults.points),
        seeds=seeds,
        unseen=asked.unseen,
        batch=asked.batch,
        sampler=asked.sampler,
        sampler_seed=asked.seed,
        runner=reader.runner,
        plugins=options.plugins,
        defaults=defaults,
    )


@dataclass
class _Reader:
    """Reads the parts of a request, and collects their errors."""

    scenario: scenarios.Source
    sets: tuple[tuple[str, str], ...]
    runner: engines.Engine
    plugins: tuple[Path | str, ...]
    wrong: dict[str, _native.Diagnostic | Located | str] = field(default_factory=dict)
    """The errors, keyed by their text, so that no error is repeated."""

    def note(self, error: InputError | str) -> None:
        """Add an error."""
        problems = [error] if isinstance(error, str) else error.problems
        self.wrong.update({str(problem): problem for problem in problems})

    def refuse(self) -> None:
        """Raise `InputErrors` if errors were collected."""
        if self.wrong:
            raise InputErrors(*self.wrong.values())

    def load(self, values: Sequence[tuple[str, str]], seeds: int) -> _native.Scenario:
        """Load the scenario with additional values. Hide the scenario's warnings, because they were
        already shown."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScenarioWarning)
            sets = [*self.sets, *values]
            return scenarios.load(self.scenario, sets, seeds, self.runner, plugins=self.plugins)

    def check_words(self, asked: SearchRequest) -> None:
        """Check the values of the options `sampler` and `across`.

        Also check that `sets` does not replace the sweep.
        """
        if asked.sampler not in SAMPLERS:
            self.note(f"--sampler: {unknown('sampler', asked.sampler, list(SAMPLERS))}")
        elif asked.sampler not in FIXED and shard.chosen() is not None:
            self.note(
                f"--shard: the sampler {asked.sampler} needs earlier results before it "
                f"continues; expected --sampler {' or '.join(FIXED)}, or --cluster"
            )
        if asked.across not in ("mean", "worst"):
            self.note(f"--across: {unknown('word', asked.across, ['mean', 'worst'])}")
        for path, _ in self.sets:
            if path.partition(".")[0] == "sweep":
                self.note(f"--set {path}: cannot set the points of a search; use --over")

    def ranges_of(self, vary: Mapping[str, object]) -> list[Vary]:
        """Parse the ranges and choices of `vary`."""
        varied: list[Vary] = []
        for path, words in vary.items():
            try:
                varied.append(ranges.parse(path, words))
            except InputError as error:
                self.note(error)
        if not vary:
            self.note("nothing varies; expected --vary PATH=LO..HI")
        return varied

    def axes_of(self, over: Mapping[str, object]) -> dict[str, list[Word]]:
        """Parse `over`, which replaces the file's own sweep."""
        try:
            return ranges.over(over)
        except InputError as error:
            self.note(error)
            return {}

    def first(self) -> _native.Scenario | None:
        """Load the unchanged file with one seed, so that its errors keep their line numbers."""
        try:
            return scenarios.load(self.scenario, self.sets, 1, self.runner, plugins=self.plugins)
        except ScenarioError as error:
            self.note(error)
            return None

    def settled(
        self, varied: Sequence[Vary], axes: Mapping[str, Sequence[Word]], first: _native.Scenario
    ) -> list[Vary]:
        """Convert the ends of ranges to base units, and check that the scenario accepts all
        values."""
        swept = {*axes} if axes else {path for axis in first.axes for path in axis}
        for path in (parameter.path for parameter in varied if parameter.path in swept):
            self.note(
                f"--vary {path}: --over or the file's sweep already varies this key; remove one of "
                "them"
            )
        settled: list[Vary] = []
        for parameter in varied:
            if self._accepts(
                parameter.path, parameter.ends(), f"--vary {parameter.path}={parameter.text}"
            ):
                try:
                    settled.append(parameter.settle(self._bases))
                except InputError as error:
                    self.note(error)
        for path, words in axes.items():
            self._accepts(path, words, f"--over {path}={','.join(map(str, words))}")
        return settled

    def _bases(self, path: str, words: Sequence[Word]) -> list[float | str]:
        """Return values of a path in base units."""
        # The ends of a range may be equal. A sweep must not repeat a value, so pass the value only
        # once.
        distinct = list(dict.fromkeys(words))
        loaded = self.load([("sweep", toml.value({path: distinct}))], 1)
        values = dict(zip(distinct, (p.params[path] for p in loaded.points), strict=True))
        return [values[word] for word in words]

    def _accepts(self, path: str, words: Sequence[Word], option: str) -> bool:
        """Return whether the scenario accepts these values. If not, collect the error."""
        try:
            self._bases(path, words)
        except ScenarioError as error:
            placed = (one.at(option) if _is_of_search(one) else one for one in error.diagnostics)
            self.wrong.update({str(one): one for one in placed})
            return False
        return True

    def goals_of(
        self, asked: SearchRequest, first: _native.Scenario | None
    ) -> tuple[list[Goal], list[Bound]]:
        """Parse goals and conditions, and check that the scenario has the flows, links and classes
        in them."""
        if not asked.minimise and not asked.maximise:
            self.note("no goal; expected --minimise METRIC or --maximise METRIC")
        objectives: list[Goal] = []
        bounds: list[Bound] = []
        if first is None:
            return objectives, bounds
        there = goals.There(json.loads(first.points[0].canonical))
        for direction, texts in (("minimise", asked.minimise), ("maximise", asked.maximise)):
            for text in texts:
                try:
                    goal = Goal(goals.quantity(text, there), direction)  # type: ignore[arg-type]
                    goals.refuse_twice(goal, objectives)
                    objectives.append(goal)
                except InputError as error:
                    self.note(InputError(f"--{direction} {error}"))
        for text in asked.subject_to:
            try:
                bounds.append(goals.bound(text, there))
            except InputError as error:
                self.note(InputError(f"--subject-to {error}"))
        return objectives, bounds


def outer_first(paths: Iterable[str]) -> list[str]:
    """Sort paths so that outer keys come first. For example, `queue` comes before `queue.target`,
    because setting the queue afterwards would discard the target."""
    return sorted(paths, key=lambda path: path.count("."))


def bare(diagnostic: _native.Diagnostic) -> str:
    """Return an error as text. If the error is in the sweep that the search adds, leave out its
    line and column, because the user did not write this sweep."""
    return diagnostic.text if _is_of_search(diagnostic) else str(diagnostic)


def _is_of_search(diagnostic: _native.Diagnostic) -> bool:
    """Return whether an error is in the sweep that the search adds."""
    return (diagnostic.option or "").startswith("sweep=")
