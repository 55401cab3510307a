"""Runs scenarios, sweeps and batches: `tailback.run` and related functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from tailback.base import arguments
from tailback.errors import InputError
from tailback.running import engines
from tailback.running.execution import run_loaded
from tailback.running.options import RunKeywords, RunOptions
from tailback.running.scenarios import Source, load, table_of, texts
from tailback.store.results import Results


@dataclass(frozen=True)
class Job:
    """A scenario to run in a batch, with replaced values.

    `set` maps paths of keys to new values, such as `{"bottleneck.rate": "10Mbit"}`.
    """

    scenario: Source
    set: Mapping[str, object] = field(default_factory=dict)
    seeds: int | None = None
    engine: str | None = None
    """The engine of this job. None means the engine of the call."""


def run(
    scenario: Source,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the option has this name)
    **options: Unpack[RunKeywords],
) -> Results:
    """Run a scenario and its sweep.

    `set` maps paths of keys to values, which replace the scenario's values. The other keywords are
    optional. Every function that runs scenarios has these keywords. Their defaults are in brackets:

    - `seeds`: number of seeds of every sweep point [the scenario's number];
    - `jobs`: number of runs at the same time [as many as the cores allow];
    - `cores`: number of cores for each run of the simulator, which does not change results [1];
    - `out`: folder of results [`results`];
    - `progress`: whether to show progress, on stderr or in the notebook [unless TAILBACK_QUIET is
      set];
    - `engine`: `sim`, `kernel` or `kernel-realtime` [`sim`];
    - `plugins`: folders of plugins with your own algorithms;
    - `read_only`: whether to write nothing. With `read_only`, every run must already be stored
      [False].

    Raises `ScenarioError` with all errors of the scenario before anything is written. Raises
    `RunsFailed` if some runs failed, after all other runs have finished.
    """
    return run_many([Job(scenario, table_of(set))], **options)[0]


def sweep(
    scenario: Source,
    grid: Mapping[str, Sequence[object]],
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the option has this name)
    **options: Unpack[RunKeywords],
) -> Results:
    """Run a scenario at every sweep point of a grid such as `{"path.rtt": ["10ms", "80ms"], ...}`.
    The last key varies fastest.

    The grid replaces the scenario's own sweep, including its number of seeds. The keywords are the
    same as in `run`.
    """
    paths = arguments.table("grid", grid, "of paths and lists of values")
    axes = {path: arguments.values(f"grid, {path}", values) for path, values in paths.items()}
    return run(scenario, set={**table_of(set), "sweep": axes}, **options)


def run_many(batch: Sequence[Job], **options: Unpack[RunKeywords]) -> list[Results]:
    """Run many scenarios together, with one progress bar. The keywords are the same as in `run`.

    A job's own number of seeds takes precedence over the keyword `seeds`.
    """
    return run_jobs(batch, RunOptions.of(**options))


def run_jobs(batch: Sequence[Job], options: RunOptions) -> list[Results]:
    """Run scenarios like `run_many`, with options that are already checked."""
    for job in arguments.values("the batch", batch):
        if not isinstance(job, Job):
            raise InputError(f"the batch has {job!r}; expected tailback.Job(scenario, set, seeds)")
    names = [job.engine or options.engine for job in batch]
    by_name = {name: engines.get(name) for name in dict.fromkeys([options.engine, *names])}
    runners = [by_name[name] for name in names]
    loaded = [
        load(
            job.scenario,
            texts(job.set),
            options.seeds if job.seeds is None else job.seeds,
            runner,
            plugins=options.plugins,
        )
        for job, runner in zip(batch, runners, strict=True)
    ]
    return run_loaded(loaded, runners, options)
