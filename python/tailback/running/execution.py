"""Runs the sweep points of scenarios on all cores of this machine.

Stored runs are not run again. If an error stops a sweep, the finished runs are kept in the store.
"""

from __future__ import annotations

import os
import queue
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from tailback import _native
from tailback.base import machine
from tailback.base.progress import Progress
from tailback.errors import (
    DamagedResults,
    DamageWarning,
    EnginePanic,
    InputError,
    RunsFailed,
    ScenarioWarning,
)
from tailback.plugins import copies
from tailback.running import absence, costs, engines, pool
from tailback.running.options import RunOptions
from tailback.running.spread import place
from tailback.running.spread import shard as shards
from tailback.store import frames, layout, shape, versions
from tailback.store.results import Results
from tailback.store.run_folder import StoredRun

if TYPE_CHECKING:
    from tailback.metrics.assertions import Assertion


@dataclass(frozen=True)
class Planned:
    """A run that has to be executed."""

    scenario: _native.Scenario
    index: int
    runner: engines.Engine
    store: _native.Store
    control: _native.Control
    run_id: str
    cost: float
    packets: int
    memory: int
    label: str


def run_loaded(
    loaded: Sequence[_native.Scenario],
    runners: Sequence[engines.Engine],
    options: RunOptions,
    without: Sequence[str] = (),
) -> list[Results]:
    """Run loaded scenarios, each on its own engine.

    An assertion on the harm by a competitor adds runs without this competitor. `without` names more
    competitors to leave out.

    If `read_only` is set or the folder cannot be written, nothing is written. In these two cases,
    every run must already be stored. This function ignores the options `seeds`, `engine` and
    `plugins`, which took effect when the scenarios were loaded.
    """
    root, cores = options.out, options.cores
    if cores > 1:
        _look_at_cores(loaded, cores)
    failures: dict[str, str] = {}
    wanted = len(loaded)
    absent = [
        {
            name: absence.without(scenario, runner, name)
            for name in absence.competitors(scenario, without)
        }
        for scenario, runner in zip(loaded, runners, strict=True)
    ]
    # Write the index of the requested sweep last, so that `latest` means this sweep and not a sweep
    # without a competitor.
    indexes = [_index(one) for by_name in absent for one in by_name.values()]
    indexes += [_index(one, by_name) for one, by_name in zip(loaded, absent, strict=True)]
    runners = [
        *(runner for runner, by_name in zip(runners, absent, strict=True) for _ in by_name),
        *runners,
    ]
    loaded = [*(one for by_name in absent for one in by_name.values()), *loaded]
    if loaded and (folder := _open(root, loaded, read_only=options.read_only)) is not None:
        # Write the index first, so that a report can show the finished runs of a stopped sweep.
        for index in indexes:
            layout.write_index(folder, root, index)
        missing = _missing(loaded, runners, folder, root, cores)
        sizes = {point.run_id: point.cost for scenario in loaded for point in scenario.points}
        part = shards.chosen()
        mine = part.part(sizes) if part is not None else list(sizes)
        own = set(mine)
        missing = [run for run in missing if run.run_id in own]
        costs.warn_of_hours(costs.total((run.packets, run.runner, run.memory) for run in missing))
        elsewhere = place.chosen()
        if elsewhere is None:
            at_once = options.jobs or max(1, machine.cores() // cores)
            failures = _execute(missing, folder, at_once, options.progress)
        else:
            failures = elsewhere.execute(missing, folder, options.progress)
        # Delete the store object, which removes its temporary files, before an error is raised.
        del folder, missing
        if part is not None:
            _refuse_part(part, mine, sizes, root, failures)
    results = [
        Results.of(index, root, _assertions(scenario))
        for index, scenario in zip(indexes[-wanted:], loaded[-wanted:], strict=True)
    ]
    if failures:
        raise RunsFailed(list(failures.values()), results)
    return results


def _refuse_part(
    part: shards.Shard,
    mine: list[str],
    costs: Mapping[str, float],
    root: Path,
    failures: Mapping[str, str],
) -> None:
    """Raise `PartDone` if the store lacks runs of other shards."""
    absent = sum(not os.path.lexists(layout.run_path(root, one)) for one in costs)
    if absent > len(failures):
        share = shards.share(costs, mine)
        said = list(failures.values())
        raise shards.PartDone(
            shards.Done(part, len(mine), len(costs), share, absent, str(root), said)
        )


def stored(loaded: Sequence[_native.Scenario], root: Path) -> list[Results]:
    """Return the stored results of loaded scenarios, without running anything."""
    return [Results.of(_index(scenario), root, _assertions(scenario)) for scenario in loaded]


def _open(
    root: Path, loaded: Sequence[_native.Scenario], *, read_only: bool
) -> _native.Store | None:
    """Open the store for writing. If the store is read-only or cannot be written, check that it
    contains every run, and return None.
    """
    refused: OSError | None = None
    if not read_only:
        try:
            return _native.Store(root)
        except OSError as error:
            if not layout.is_refused(error):
                raise
            refused = error
    wanted = {point.run_id: None for scenario in loaded for point in scenario.points}
    absent, damaged = 0, []
    for run_id in wanted:
        path = layout.run_path(root, run_id)
        if not os.path.lexists(path):
            absent += 1
            continue
        try:
            _native.check_run(path)
        except DamagedResults as damage:
            damaged.append(str(damage))
    if damaged:
        raise DamagedResults(*damaged)
    if absent and refused is not None:
        raise refused
    if absent:
        raise InputError(
            f"{root}: {absent} of {len(wanted)} runs are not stored, and nothing is run "
            "with --read-only; remove --read-only"
        )
    return None


def _missing(
    loaded: Iterable[_native.Scenario],
    runners: Iterable[engines.Engine],
    folder: _native.Store,
    root: Path,
    cores: int,
) -> list[Planned]:
    """Return the runs that are not stored, each once. The longest runs come first, so that all
    threads finish at about the same time.

    Each process puts runs of equal cost in a different order. Two processes that run the same sweep
    therefore share the work.
    """
    # Runs with plugins need the `Store` class of the compiled module that contains the plugins.
    stores: dict[ModuleType, _native.Store] = {_native: folder}
    wanted: dict[str, tuple[_native.Scenario, engines.Engine, int, _native.Point]] = {}
    for scenario, runner in zip(loaded, runners, strict=True):
        native = copies.native_of(scenario)
        if native not in stores:
            stores[native] = native.Store(root)
        for i, point in enumerate(scenario.points):
            wanted[point.run_id] = scenario, runner, i, point
    held = _held(root, list(wanted))
    missing = []
    # Plan only the missing runs, because planning a run takes longer than finding it in the store.
    for run_id, (scenario, runner, i, point) in wanted.items():
        if run_id in held or _is_stored(folder, run_id):
            continue
        native = copies.native_of(scenario)
        missing.append(
            Planned(
                scenario=scenario,
                index=i,
                runner=runner,
                store=stores[native],
                control=native.Control(cores=cores),
                run_id=run_id,
                cost=point.cost,
                packets=point.packets,
                # If a run uses several cores, each core holds the whole network in memory.
                memory=runner.memory(point) * (cores if cores > 1 and point.splits(cores) else 1),
                label=_label(point),
            )
        )
    mine = os.getpid()
    return sorted(missing, key=lambda run: (-run.cost, zlib.crc32(f"{mine} {run.run_id}".encode())))


def _look_at_cores(loaded: Sequence[_native.Scenario], cores: int) -> None:
    """Reject `--cores` on a cluster and with engines other than the simulator. Warn if no sweep
    point of a scenario can use several cores."""
    if place.chosen() is not None:
        raise InputError("--cores and --cluster do not go together; expected one of them")
    for scenario in loaded:
        if scenario.engine != "sim":
            raise InputError(f"--cores {cores} is for the simulator only; expected --engine sim")
        if not any(point.splits(cores) for point in scenario.points):
            warnings.warn(
                f"the network is not cut into {cores} parts, and runs on one core: parts need "
                "links with a delay between them, about equal rates in each part, and ideal hosts",
                ScenarioWarning,
                stacklevel=3,
            )


CHUNK = 256
"""How many stored runs to check at a time. Ctrl-C takes effect between these groups of runs."""


def _held(root: Path, run_ids: Sequence[str]) -> set[str]:
    """Return the ids of stored runs whose content matches their hashes.

    Runs that have not changed since an earlier command checked them are not read again.
    """
    held: set[str] = set()
    catalogue = _native.Catalogue(root, shape.native_summary())
    try:
        for begin in range(0, len(run_ids), CHUNK):
            part = list(run_ids[begin : begin + CHUNK])
            found = catalogue.held(part, min(frames.READERS, machine.cores()))
            held.update(run_id for run_id, is_held in zip(part, found, strict=True) if is_held)
    finally:
        catalogue.save()
    return held


def _is_stored(folder: _native.Store, run_id: str) -> bool:
    """Return whether a run is stored and undamaged. Move a damaged run aside."""
    reason = None
    if folder.contains(run_id):
        try:
            _ = StoredRun(folder.path(run_id)).summary
        except InputError as damage:
            # The hashes match but the content is invalid, so somebody changed the file
            # deliberately.
            reason = str(damage)
        else:
            return True
    said = folder.set_aside(run_id, reason)
    if said is not None:
        warnings.warn(f"{said}; it is run again", DamageWarning, stacklevel=2)
    return False


def _fitting(planned: Sequence[Planned]) -> int:
    """Return how many of the largest runs fit into memory at the same time."""
    available = machine.memory_available()
    if available is None:
        return len(planned)
    return available // max(1, max(run.memory for run in planned))


def _label(point: _native.Point) -> str:
    params = "".join(f"{path} = {value}, " for path, value in point.labels.items())
    return f"{params}seed {point.seed}"


def _execute(
    planned: list[Planned],
    folder: _native.Store,
    jobs: int,
    progress: bool | None,
) -> dict[str, str]:
    """Execute all runs. Return error messages by run id."""
    failures: dict[str, str] = {}
    if not planned:
        return failures
    active: dict[str, Planned] = {}

    def work(run: Planned) -> None:
        active[run.run_id] = run
        if not _is_stored(folder, run.run_id):
            run.runner.run(run.scenario, run.index, run.store, run.control)

    workers = max(1, min(jobs, len(planned), _fitting(planned)))
    # A plugin's code may never return, so runs with plugins can hang.
    doubtful = {run.run_id for run in planned if not isinstance(run.store, _native.Store)}
    patience = pool.patience_s()
    watch: pool.Watch[str] = pool.Watch(patience)
    threads: pool.Pool[Planned] = pool.Pool(workers, work)
    total = sum(run.cost for run in planned)
    cost_done = 0.0
    try:
        with Progress(len(planned), enabled=progress) as bar:
            for run in planned:
                threads.submit(run)
            done = 0
            while done < len(planned):
                try:
                    run, error = threads.done.get(timeout=0.2)
                except queue.Empty:
                    pass
                else:
                    if run.run_id in failures:
                        # This run was abandoned and counted as failed, but it has
                        # finished after all.
                        continue
                    done += 1
                    active.pop(run.run_id, None)
                    cost_done += run.cost
                    if isinstance(error, EnginePanic):
                        # A panic affects only this run. Any other error stops the sweep.
                        what = copies.placed(str(error))
                        failures[run.run_id] = f"run {run.run_id} ({run.label}): {what}"
                    elif error is not None:
                        raise error
                now = list(active.values())
                if doubtful:
                    own = [run for run in now if run.run_id in doubtful]
                    for run_id in watch.stuck((run.run_id, run.control.fraction) for run in own):
                        run = active.pop(run_id)
                        threads.give_up(run)
                        done += 1
                        cost_done += run.cost
                        failures[run_id] = f"run {run_id} ({run.label}): {_stuck(run, patience)}"
                running = sum(r.cost * r.control.fraction for r in now)
                bar.update(done, (cost_done + running) / total)
    finally:
        # After an error or Ctrl-C, running runs stop at the end of their time slice.
        for run in planned:
            run.control.cancel()
        threads.stop(run for run in planned if run.run_id in doubtful)
        for store in {id(run.store): run.store for run in planned}.values():
            store.settle()
    return failures


def _stuck(run: Planned, patience_s: float) -> str:
    at = run.control.fraction * run.scenario.points[run.index].duration_ns / 1e9
    since = f"for {patience_s:g} s, at {at:.6f} s of the run"
    if (here := run.control.at_work) is not None:
        name, hook = here
        return f'the congestion control "{name}" has not returned from {hook} {since}; {_LOOP}'
    names = ", ".join(versions.hashes_of(run.scenario.engine_version))
    return f"simulated time has not advanced {since}, with code of {names}; {_LOOP}"


_LOOP = f"look for a loop that never ends ({pool.VARIABLE}=SECONDS waits longer)"


def _index(
    scenario: _native.Scenario, absent: Mapping[str, _native.Scenario] = MappingProxyType({})
) -> layout.Index:
    """Return the index of a scenario's sweep. `absent` maps the name of each
    competitor to the scenario without it."""
    return layout.Index(
        id=scenario.id,
        title=scenario.title,
        engine=scenario.engine,
        engine_version=scenario.engine_version,
        axes=scenario.axes,
        points=[
            layout.PointRef(
                *(p.params, p.labels, p.seed, p.run_id, p.baseline),
                {name: alone.points[i].run_id for name, alone in absent.items()},
            )
            for i, p in enumerate(scenario.points)
        ],
        warnings=[str(warning) for warning in scenario.warnings],
    )


def _assertions(scenario: _native.Scenario) -> list[Assertion]:
    if not scenario.asserts:
        return []
    from tailback.metrics.assertions import Assertion

    return [
        Assertion(a.metric, a.flow, a.link, a.min, a.max, a.class_name, a.without)
        for a in scenario.asserts
    ]
