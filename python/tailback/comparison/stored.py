"""Compares stored sweeps, runs, Flent data files and qlog files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback.comparison import baseline
from tailback.comparison.judging import judge
from tailback.comparison.model import MEASURED, Comparison, VariantResults
from tailback.comparison.points import refuse_other_points, seeds_by_point
from tailback.comparison.quantities import METRICS, TEST_BED, select
from tailback.errors import InputError
from tailback.store import layout, run_folder
from tailback.store.points import Key
from tailback.store.results import Results


def compare_stored(sources: Sequence[Path], chosen: Sequence[str] = ()) -> Comparison:
    """Compare stored results. The first source is the baseline.

    A source is a sweep (`results/sweeps/ID`), a run (`results/runs/ID`), a Flent data file
    (`.flent.gz`), or a folder of Flent files that are repetitions of one experiment. A source can
    also be a qlog file of a sender (`.qlog`, `.sqlog`). A data file has no parameters, so it is
    compared with a single sweep point. tailback ignores values that were measured before the end of
    the sweep point's warm-up. The first source may be a baseline file (`.tailback.json`)."""
    from tailback.interop import flent_results, qlog_results

    beds = [at for at, source in enumerate(sources) if flent_results.is_source(source)]
    logs = [at for at, source in enumerate(sources) if qlog_results.is_source(source)]
    files = {
        at: baseline.read(source)
        for at, source in enumerate(sources)
        if baseline.is_named_so(source)
    }
    if files and (list(files) != [0] or beds or logs):
        raise InputError("the file of a baseline comes first; name a scenario or runs after it")
    if files:
        chosen = chosen or baseline.quantities(files[0])
    by_default = TEST_BED if beds else qlog_results.METRICS if logs else METRICS
    wanted = select(chosen or by_default)
    read = flent_results.read_sources([sources[at] for at in beds])
    read_logs = qlog_results.read_sources([sources[at] for at in logs])
    measured = (*beds, *logs)
    runs = {at: _open_stored(s) for at, s in enumerate(sources) if at not in (*measured, *files)}
    if measured:
        for at, (results, planned) in runs.items():
            _refuse_many_points(sources[at], results, planned)
    first = next((results for results, _ in runs.values() if results.points), None)
    warmup = max((r.summary["warmup_s"] for found, _ in runs.values() for r in found), default=0.0)
    columns_of = dict(runs) | {at: (base.results, base.seeds) for at, base in files.items()}
    for at, source in zip(beds, read, strict=True):
        results = source.results(
            first.root if first else layout.DEFAULT,
            first.points[0].params if first else {},
            first.points[0].labels if first else {},
            warmup,
        )
        columns_of[at] = (results, seeds_by_point(results.points))
    for at, log in zip(logs, read_logs, strict=True):
        results = log.results(
            first.root if first else layout.DEFAULT,
            first.points[0].params if first else {},
            first.points[0].labels if first else {},
            warmup,
            first.points[0] if first else None,
        )
        columns_of[at] = (results, seeds_by_point(results.points))
    opened, points = zip(*(columns_of[at] for at in range(len(sources))), strict=True)
    labels = [*(base.name for base in files.values()), *_names(opened[len(files) :])]
    refuse_other_points(labels, points)
    columns = [
        VariantResults(name, results.engine, results.version, {}, results, seeds)
        for name, results, seeds in zip(labels, opened, points, strict=True)
    ]
    if files:
        there = replace(files[0].results, root=columns[1].results.root)
        columns[0] = replace(baseline.cut(files[0], points[1]), results=there)
    return judge(columns, wanted)


def _open_stored(source: Path) -> tuple[Results, dict[Key, list[int]]]:
    """Open a stored sweep or run. Also return the planned sweep points, including sweep points
    without a run."""
    from tailback.store.results import open_results, open_run

    if not source.is_dir():
        what = "folder"
        if source.exists():
            what = "folder, and no data file of Flent (.flent.gz) or qlog file (.qlog, .sqlog)"
        raise InputError(f"{source}: no such {what}; expected the folder of a sweep or run")
    if os.path.lexists(source / run_folder.MANIFEST):
        results = open_run(source)
        results.require_whole()
        return results, seeds_by_point(results.points)
    results = open_results(source)
    results.require_whole()
    index = layout.read_index(layout.index_path(results.root, results.id))
    return results, seeds_by_point(index.points)


def _refuse_many_points(
    source: Path, results: Results, planned: Mapping[Key, Sequence[int]]
) -> None:
    """Raise `InputError` if a data file is compared with a sweep that has several sweep points."""
    if len(planned) > 1:
        hint = f", e.g. {results.points[0].path}" if results.points else ""
        raise InputError(
            f"{source}: {len(planned)} points, but measured data can be compared with only one "
            f"point; expected the folder of a run{hint} or of a sweep of one point"
        )
    if not results.points:
        raise InputError(f"{source}: no run of this sweep is stored; run its scenario again")


def _names(opened: Sequence[Results]) -> list[str]:
    """Return names that distinguish stored sweeps.

    The names are the titles of the sweeps if the titles differ, otherwise the engines or the ids.

    If a simulated sweep is named by its engine, measured data is named by its file.
    """
    for labels in (
        [r.title for r in opened],
        [r.engine for r in opened],
        [r.id.rpartition("-")[0] if r.engine in MEASURED else r.engine for r in opened],
    ):
        if len(set(labels)) == len(labels) and all(labels):
            return labels
    labels = [r.id for r in opened]
    if len(set(labels)) < len(labels):
        raise InputError("the same sweep, run or file is given twice; expected different ones")
    return labels
