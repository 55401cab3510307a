"""Compares runs on Linux with the same runs in the simulator, and with the paper."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailback.errors import ScenarioError, ScenarioWarning
from tailback.report import Column, Mark, Section, Table, TableCell, Value
from tailback.report.tables import left
from tailback.running import engines
from tailback.running.scenarios import load, texts
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder, DctcpMeasures

# For each figure: its title, the name of its batch of runs, and the columns that identify a sweep
# point.
FIGURES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *((f"Figure 5, M = {m:g}", f"step-{tag}", (f"{pts.ECN}.min",)) for tag, m in pts.ROWS),
    ("Figure 6", "fig6", ("flows.dctcp.count", f"{pts.ECN}.min")),
    ("Figures 7 and 8", "slope", (f"{pts.ECN}.min", f"{pts.ECN}.probability")),
    ("Figure 9, on formula (3)", "formula3", (f"{pts.ECN}.min",)),
    ("Figure 10, marking ramp of 2 BDP", "fig10-bdp", (f"{pts.CLASSIC}.min",)),
    ("Figure 10, marking ramp of 2 Min_Thresh", "fig10-min", (f"{pts.CLASSIC}.min",)),
)


def refused(batches: Mapping[str, pts.DctcpBatch], engine: str) -> dict[str, str]:
    """Return the batches that an engine cannot run, with the reasons."""
    runner = engines.get(engine)
    out = {}
    for name, batch in batches.items():
        try:
            with warnings.catch_warnings():
                # Suppress warnings here, because they appear again when the batches run.
                warnings.simplefilter("ignore", ScenarioWarning)
                load(batch.scenario, texts(batch.set), 1, runner)
        except ScenarioError as error:
            out[name] = "; ".join(dict.fromkeys(one.message for one in error.diagnostics))
    return out


def not_run(reasons: Mapping[str, str]) -> Section:
    """List the batches that did not run, with the reasons."""
    rows: list[list[Value]] = [[name, reason] for name, reason in reasons.items()]
    table = Table("not-run", "Not run on this engine", left("runs", "reason"), rows)
    return Section("not-run", "Not run on this engine", [table])


def with_simulated(cells: Sequence[TableCell], measured: DctcpMeasures) -> list[dict[str, Any]]:
    """Return the values as `reproduce --json` prints them.

    The objects for values of Table I also contain the simulator's value.
    """
    of_sim = {cell.id: cell for cell in table1.cells(measured.simulated)}
    out = []
    for cell in cells:
        entry = cell.json()
        if cell.id in of_sim:
            entry["simulated"] = of_sim[cell.id].measured
        out.append(entry)
    return out


def sections(builder: Builder) -> Iterator[Section]:
    """Show Table I on both engines. Also show how much the values in the figures differ between the
    engines.
    """
    measured = builder.measured
    if "two-reno" in measured.simulated:
        yield _table1(builder)
    figures = list(_figures(measured))
    if figures:
        columns = [
            Column("figure", align="left"),
            Column("points"),
            Column("Jain\u2019s index", ".4f", unit="median distance"),
            Column("Jain\u2019s index", ".4f", unit="90th percentile"),
            Column("utilisation", ".4f", unit="median distance"),
            Column("utilisation", ".4f", unit="90th percentile"),
            Column("queue in BDP", ".4f", unit="median distance"),
            Column("queue in BDP", ".4f", unit="90th percentile"),
        ]
        note = (
            "Distance of Linux from the simulator at each point of a figure, both as means over "
            "the same seeds."
        )
        table = Table(
            "figures-beside", "Linux and simulator in the figures", columns, figures, note
        )
        yield Section("figures-beside", "Figures 5 to 10: Linux beside the simulator", [table])


def _table1(builder: Builder) -> Section:
    measured = builder.measured
    of_linux = table1.cells(measured.frames)
    of_sim = table1.cells(measured.simulated)
    rows: list[list[Value]] = []
    for linux, sim in zip(of_linux, of_sim, strict=True):
        apart = None
        if linux.measured is not None and sim.measured is not None:
            apart = linux.measured - sim.measured
        rows.append(
            [
                linux.id.removeprefix("Table I/"),
                linux.published,
                sim.measured,
                linux.measured,
                apart,
                _agrees(sim),
                _agrees(linux),
                _alike(linux, sim),
            ]
        )
    good = [sum(cell.status == "pass" for cell in cells) for cells in (of_linux, of_sim)]
    missed = [(a, b) for a, b in zip(of_linux, of_sim, strict=True) if a.status == "miss"]
    alike = sum(_same_miss(a, b) for a, b in missed)
    caption = (
        f"{good[0]} of {len(of_linux)} values agree with the paper on Linux, {good[1]} in the "
        f"simulator. Of the {len(missed)} that miss on Linux, {alike} miss in the simulator in the "
        "same direction."
    )
    columns = [
        Column("value", align="left"),
        Column("paper", ".3f"),
        Column("simulator", ".3f"),
        Column("Linux", ".3f"),
        Column("Linux \u2212 simulator", "+.3f"),
        Column("simulator agrees"),
        Column("Linux agrees"),
        Column("misses alike"),
    ]
    batches = [f"step-{tag}" for tag, _ in pts.ROWS]
    facts = builder.facts(*batches, "two-reno")
    table = Table("table1-beside", "Table I on both engines", columns, rows, caption, facts)
    return Section("table1-beside", "Table I: paper, simulator and Linux", [table])


def _agrees(cell: TableCell) -> Mark:
    return Mark("yes", "pass") if cell.status == "pass" else Mark("no", "miss")


def _same_miss(linux: TableCell, sim: TableCell) -> bool:
    """Return whether the simulator also misses the criterion, with an error of the same sign as on
    Linux.
    """
    errors = (linux.error, sim.error)
    known = [error for error in errors if error is not None]
    return sim.status == "miss" and len(known) == 2 and known[0] * known[1] > 0


def _alike(linux: TableCell, sim: TableCell) -> Value:
    if linux.status != "miss":
        return None
    return Mark("yes", "info") if _same_miss(linux, sim) else Mark("no", "miss")


def _figures(measured: DctcpMeasures) -> Iterator[list[Value]]:
    """For each figure that has runs on both engines, yield a row."""
    for title, batch, keys in FIGURES:
        frames = [frames.get(batch) for frames in (measured.frames, measured.simulated)]
        if any(frame is None for frame in frames):
            continue
        by = [f"p:{key}" for key in keys]
        means = [pts.aggregate(frame, by) for frame in frames if frame is not None]
        pair = means[0].join(means[1], on=by, suffix="_sim")
        row: list[Value] = [title, pair.height]
        for quantity in ("jain", "utilisation", "occupancy"):
            apart = (pair[quantity] - pair[f"{quantity}_sim"]).abs()
            row += [apart.median(), apart.quantile(0.9, "higher")]  # type: ignore[list-item]
        yield row
