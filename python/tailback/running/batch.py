"""Runs scenarios, sweeps and batches: what `tailback.run` and its relatives are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailback.base import arguments
from tailback.errors import (
    InputError,
)
from tailback.running import engines
from tailback.running.execution import run_loaded
from tailback.running.scenarios import Source, load, table_of, texts
from tailback.store.results import Results


@dataclass(frozen=True)
class Job:
    """A scenario with values to replace, by path: `{"bottleneck.rate": "10Mbit"}`."""

    scenario: Source
    set: Mapping[str, object] = field(default_factory=dict)
    seeds: int | None = None


def run(
    scenario: Source,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the word of the command line)
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
    crates: Sequence[Path | str] = (),
    cores: int = 1,
) -> Results:
    """Runs a scenario and its sweep.

    `set` replaces values, `seeds` the number of seeds; `jobs` is how many runs
    go on at once (default: as many as there are cores for), `cores` on how many
    cores each is played (of the simulator alone; results are the same), `out`
    where results are kept (default: `results`). `progress` says how far it is, on stderr or in the
    notebook; default: yes, unless TAILBACK_QUIET is set. `crates` are folders of
    crates with algorithms of one's own.

    Raises `ScenarioError` with everything that is wrong before anything is
    written, and `RunsFailed` when runs failed after the others have finished.
    """
    job = Job(scenario, table_of(set), seeds)
    return run_many(
        [job], jobs=jobs, out=out, progress=progress, engine=engine, crates=crates, cores=cores
    )[0]


def sweep(
    scenario: Source,
    grid: Mapping[str, Sequence[object]],
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the word of the command line)
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
    crates: Sequence[Path | str] = (),
) -> Results:
    """Runs a scenario at every point of a grid, `{"path.rtt": ["10ms", "80ms"], ...}`, last key
    fastest.

    The grid stands for the scenario's own sweep, its number of seeds included; otherwise as `run`.
    """
    paths = arguments.table("grid", grid, "of paths and lists of values")
    axes = {path: arguments.values(f"grid, {path}", found) for path, found in paths.items()}
    chosen = {**table_of(set), "sweep": axes}
    return run(
        scenario,
        set=chosen,
        seeds=seeds,
        jobs=jobs,
        out=out,
        progress=progress,
        engine=engine,
        crates=crates,
    )


def run_many(
    batch: Sequence[Job],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
    crates: Sequence[Path | str] = (),
    cores: int = 1,
) -> list[Results]:
    """Runs many scenarios at once, with one pool and one progress bar; otherwise as `run`."""
    runner = engines.get(engine)
    for job in arguments.values("the batch", batch):
        if not isinstance(job, Job):
            raise InputError(f"the batch has {job!r}; expected tailback.Job(scenario, set, seeds)")
    loaded = [
        load(
            job.scenario,
            texts(job.set),
            seeds if job.seeds is None else job.seeds,
            runner,
            crates=crates,
        )
        for job in batch
    ]
    runners = [runner] * len(loaded)
    return run_loaded(loaded, runners, jobs=jobs, out=out, progress=progress, cores=cores)
