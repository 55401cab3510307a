"""Runs candidates, and measures each goal and condition for each seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailback import _native
from tailback.errors import DamagedResults, RunsFailed, ScenarioError
from tailback.running import execution
from tailback.running.options import RunOptions
from tailback.store.results import Results
from tailback.tuning.goals import GoalQuantity
from tailback.tuning.plan import SearchPlan, Values, bare


@dataclass(frozen=True)
class MeasuredCandidate:
    """The measured numbers of a candidate, by the text of each goal and condition."""

    by_seed: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """For each quantity, a number for each seed, combined over all sweep points."""
    fault: str = ""
    """Why the candidate has no result, or an empty string if the candidate has a result."""
    run_ids: Sequence[str] = ()

    def value(self, quantity: str) -> float:
        """Return the mean over seeds."""
        found = self.by_seed[quantity]
        return math.fsum(found) / len(found)


def measure(
    plan: SearchPlan,
    batches: Sequence[Sequence[Values]],
    options: RunOptions,
    *,
    seed: int | None = None,
    seeds: int | None = None,
) -> list[list[MeasuredCandidate]]:
    """Run several batches of candidates together. An empty batch means the unchanged scenario."""
    loaded: list[tuple[int, list[int], _native.Scenario]] = []
    outcomes = [[MeasuredCandidate() for _ in batch or [{}]] for batch in batches]
    for at, batch in enumerate(batches):
        try:
            loaded.append((at, list(range(max(1, len(batch)))), plan.load(batch, seed, seeds)))
        except ScenarioError as error:
            if not batch:
                raise
            # At least one candidate is invalid. Load each candidate alone to find the invalid
            # candidates.
            for i, candidate in enumerate(batch):
                try:
                    loaded.append((at, [i], plan.load([candidate], seed, seeds)))
                except ScenarioError as own:
                    outcomes[at][i] = MeasuredCandidate(fault=bare(own.diagnostics[0]))
            if len(batch) == 1:
                outcomes[at][0] = MeasuredCandidate(fault=bare(error.diagnostics[0]))
    scenarios = [scenario for _, _, scenario in loaded]
    failures: list[str] = []
    try:
        results = execution.run_loaded(scenarios, [plan.runner] * len(scenarios), options)
    except RunsFailed as failed:
        results, failures = failed.results, failed.failures
    for (at, candidates, scenario), found in zip(loaded, results, strict=True):
        for place, i in enumerate(candidates):
            count = len(candidates)
            outcomes[at][i] = _of(
                plan, scenario, found, place, count, seeds or plan.seeds, failures
            )
    return outcomes


def _of(
    plan: SearchPlan,
    scenario: _native.Scenario,
    results: Results,
    place: int,
    count: int,
    seeds: int,
    failures: Sequence[str],
) -> MeasuredCandidate:
    """Return the measured numbers of one candidate of a sweep.

    The runs of the sweep are sorted by sweep point, then by candidate, then by seed.
    """
    runs = {run.run_id: run for run in results.points}
    ids = [point.run_id for point in scenario.points]
    points = [ids[start : start + seeds] for start in range(place * seeds, len(ids), count * seeds)]
    flat = [run_id for point in points for run_id in point]
    for run_id in flat:
        if run_id not in runs:
            why = next((text for text in failures if run_id in text), f"run {run_id} failed")
            return MeasuredCandidate(fault=why, run_ids=flat)
    by_seed: dict[str, list[float]] = {}
    wanted = [(goal.quantity, goal.direction == "maximise") for goal in plan.goals]
    wanted += [(bound.quantity, bound.least) for bound in plan.bounds]
    for quantity, larger_is_better in wanted:
        samples: list[float] = []
        for i in range(seeds):
            values = [_value(quantity, runs[point[i]]) for point in points]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return MeasuredCandidate(fault=f"a run has no {quantity.text}", run_ids=flat)
            worst = min if larger_is_better else max
            samples.append(math.fsum(known) / len(known) if plan.across == "mean" else worst(known))
        by_seed[quantity.text] = samples
    return MeasuredCandidate(by_seed, run_ids=flat)


def _value(quantity: GoalQuantity, run: object) -> float | None:
    summary = run.summary  # type: ignore[attr-defined]
    if not isinstance(summary, Mapping):
        raise DamagedResults("no summary")
    return quantity.value(summary)
