"""Performs a search. Optuna proposes candidates in batches of a fixed size, and gets the results in
the order of the candidates.

Therefore the candidates depend only on the seed, not on the number of parallel runs. An interrupted
search starts again, but reuses its stored runs.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.errors import InputError
from tailback.tuning import plan as plans
from tailback.tuning.measure import MeasuredCandidate
from tailback.tuning.plan import SearchPlan, Values

if TYPE_CHECKING:
    from optuna import Study
    from optuna.samplers import BaseSampler

JOURNAL = "study.journal"

Measure = Callable[[Sequence[Values], int, int], list[MeasuredCandidate]]
"""A function that measures candidates. The arguments of the function are the candidates, the number
of the first candidate, and the total number of candidates."""


@dataclass(frozen=True)
class Tried:
    """A candidate with its measured numbers."""

    number: int
    """The candidate's number, from 1."""
    values: Values
    measured: MeasuredCandidate
    holds: bool
    """Whether the candidate kept every bound in the search."""
    front: bool = False


def search(plan: SearchPlan, measure: Measure, journal: Path) -> list[Tried]:
    """Run and measure the number of candidates that the plan sets. `journal` is the file in which
    Optuna's study is stored."""
    with _quiet():
        return _search(plan, measure, journal)


def _search(plan: SearchPlan, measure: Measure, journal: Path) -> list[Tried]:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
    from optuna.trial import TrialState

    # Optuna's journal would sync to the disk at each step. Keep the study in memory and write it
    # once at the end.
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(
        storage=storage,
        study_name=plan.id,
        sampler=_sampler(plan),
        directions=["minimize" if g.direction == "minimise" else "maximize" for g in plan.goals],
    )
    candidates: list[Tried] = []
    known: dict[tuple[object, ...], MeasuredCandidate] = {}
    # If the sampler does not use results, all candidates form a single batch.
    step = plan.candidates if plan.sampler in plans.FIXED else plan.batch
    for start in range(0, plan.candidates, step):
        trials = [study.ask() for _ in range(min(step, plan.candidates - start))]
        asked = [
            {parameter.path: parameter.suggest(trial) for parameter in plan.vary}
            for trial in trials
        ]
        fresh = {tuple(v.values()): v for v in asked if tuple(v.values()) not in known}
        if fresh:
            done = measure(list(fresh.values()), start, plan.candidates)
            known.update(zip(fresh, done, strict=True))
        for trial, values in zip(trials, asked, strict=True):
            measured = known[tuple(values.values())]
            trial.set_user_attr("values", {path: str(word) for path, word in values.items()})
            if measured.fault:
                trial.set_user_attr("fault", measured.fault)
                study.tell(trial, state=TrialState.FAIL)
                candidates.append(Tried(trial.number + 1, values, measured, False))
                continue
            excess = [bound.violation(measured.value(bound.quantity.text)) for bound in plan.bounds]
            for bound, by in zip(plan.bounds, excess, strict=True):
                trial.set_constraint(bound.text, by)
            study.tell(trial, [measured.value(goal.text) for goal in plan.goals])
            candidates.append(
                Tried(trial.number + 1, values, measured, all(by <= 0 for by in excess))
            )
    backend = JournalFileBackend(str(journal), lock_obj=JournalFileOpenLock(str(journal)))
    optuna.copy_study(
        from_study_name=plan.id, from_storage=storage, to_storage=JournalStorage(backend)
    )
    return _with_front(study, candidates)


def _with_front(study: Study, candidates: Sequence[Tried]) -> list[Tried]:
    """Mark the candidates on the Pareto front. If several candidates are equal, only the first is
    marked.
    """
    numbers = {trial.number + 1: trial.values for trial in study.best_trials}
    seen: set[tuple[object, ...]] = set()
    marked = []
    for candidate in candidates:
        key = tuple(numbers.get(candidate.number, ()))
        front = candidate.number in numbers and candidate.holds and key not in seen
        if front:
            seen.add(key)
        marked.append(
            Tried(candidate.number, candidate.values, candidate.measured, candidate.holds, front)
        )
    return marked


def _sampler(plan: SearchPlan) -> BaseSampler:
    from optuna import samplers

    seed = plan.sampler_seed
    match plan.sampler:
        case "tpe":
            # `constant_liar` treats unfinished candidates as bad, so that the candidates of a batch
            # differ.
            return samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        case "nsga2":
            return samplers.NSGAIISampler(seed=seed, population_size=2 * plan.batch)
        case "qmc":
            return samplers.QMCSampler(seed=seed, scramble=True)
    return samplers.RandomSampler(seed=seed)


def require() -> None:
    """If Optuna is missing, raise an error with the command that installs it."""
    import importlib.util

    if importlib.util.find_spec("optuna") is None:
        raise InputError(
            "tailback tune needs Optuna, which is not installed; run: pip install 'tailback[tune]'"
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Optuna, which would otherwise log every trial."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="optuna")
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
