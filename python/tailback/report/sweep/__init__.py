"""Makes the report that `tailback report DIR` writes for a stored sweep.

The sections show metrics over swept keys (`measured`) and distributions at all sweep points
(`distributions`). Other sections show the first, the middle and the last sweep point over
time (`traces`), and list every number (`cells`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailback.report import reasons, rerun
from tailback.report.model import Facts, Report, Section, Text
from tailback.report.sweep import cells, distributions, measured, programs, traces
from tailback.report.sweep.axes import SweepAxis, axes_of
from tailback.report.text import plain
from tailback.report.write import write
from tailback.store.results import Results, Run, open_results


def write_folder(folder: Path) -> Path:
    """Write the report of a sweep. `folder` is a sweep, or a folder of results with its latest
    sweep.

    Returns the path of index.html, which is in `reports/<sweep>` of the results.
    """
    results = open_results(folder)
    results.require_whole()
    return write(of(results), results.root / "reports" / results.id)


def of(results: Results) -> Report:
    """Build the report of a sweep."""
    groups = results.groups()
    axes = axes_of(results)
    facts = _facts(results, groups)
    warnings = "\n\n".join(plain(warning) for warning in results.warnings)
    # A sweep with one point has no axis over which to draw.
    against = measured.figures(groups, axes, facts) if axes else []
    over_time = traces.figures(groups, facts)
    shares = distributions.figures(groups, axes, facts)
    sections = [
        Section("warnings", "Warnings", [Text(warnings)] if warnings else []),
        Section("measured", "Against what is swept", against),
        *(() if axes else (Section("time", "Over time", over_time),)),
        reasons.of_sweep(groups, facts),
        Section("delay", "Distributions", shares),
        *((Section("time", "Over time", over_time),) if axes else ()),
        Section("programs", "Programs", programs.blocks(groups, facts)),
        Section("cells", "Every number", cells.tables(groups, facts)),
        Section("follows", "What the algorithms follow", [Text(_follows(groups))]),
    ]
    return Report(
        name=results.id,
        title=results.title or results.id,
        lead=_lead(results, groups, axes),
        meta=[
            *((", ".join(axis.keys), _listed(axis)) for axis in axes),
            ("engine", f"{results.engine} {results.version}"),
            ("sweep", results.id),
        ],
        sections=[section for section in sections if section.blocks],
        files={"cells.csv": cells.csv_of(groups)},
    )


def _lead(results: Results, groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis]) -> str:
    runs = f"{len(results)} run{'s' if len(results) != 1 else ''}"
    points = f"{len(groups)} point{'s' if len(groups) != 1 else ''}"
    if not axes:
        return f"{runs} of {points}."
    return f"{runs} of {points}: {plain(_keys(axes))}."


def _keys(axes: Sequence[SweepAxis]) -> str:
    *most, last = [" with ".join(axis.keys) for axis in axes] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _listed(axis: SweepAxis) -> str:
    # A value can contain commas, for example if several keys are swept together, or if it is an
    # inline table.
    return ("; " if any("," in level for level in axis.levels) else ", ").join(axis.levels)


def _facts(results: Results, groups: Sequence[Sequence[Run]]) -> Facts:
    durations = sorted({run.summary["duration_s"] for run in results})
    warmups = sorted({run.summary["warmup_s"] for run in results})
    return Facts(
        runs=len(results),
        seeds=max((len(group) for group in groups), default=0),
        duration=", ".join(f"{d:g} s simulated" for d in durations),
        warmup=", ".join(f"{w:g} s" for w in warmups if w),
        engine=f"{results.engine} {results.version}",
        reruns=rerun.of([("", results)]),
    )


def _follows(groups: Sequence[Sequence[Run]]) -> str:
    found: dict[str, str] = {}
    for group in groups:
        found.update(group[0].stored.follows)
    return "\n\n".join(f"**{plain(name)}**: {plain(what)}" for name, what in sorted(found.items()))
