"""Makes the report. The report shows errors by group of values, figures, every published row, and
the set-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tailback.report import Block, Facts, Report, Section
from tailback.report.tables import present, setup
from tailback.store.results import Results
from tailback_studies.experiments.dualpi2_2022 import (
    figures,
    law,
    on_linux,
    rows,
    signature,
    tails,
    truth,
)
from tailback_studies.experiments.dualpi2_2022.causes import DECLARED
from tailback_studies.experiments.dualpi2_2022.layout import MIXED, OVERLOAD, Run
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry
from tailback_studies.reproduction.shown import NO_OFFLOADS, facts, goals_table, head

TITLE = "DualPI2 (2022), run again"
SOURCE = (
    "O. Albisser and others: result files of \u201cDual Queue Coupled AQM: Deployable Very Low "
    "Queuing Delay for All\u201d, arXiv 2209.01078, 2022"
)
LEAD = (
    "An L4S flow and a classic flow with different round-trip times pass DualPI2, and flows with "
    "ECN and without pass PIE and FQ-CoDel. In other rows UDP overloads either class of DualPI2."
)
QUICK = " A quick run: the published rows only, one fifth of their time, one seed."


@dataclass(frozen=True)
class DualPi2Runs:
    """The runs and results on which a report is based."""

    facts: Facts
    quick: bool
    tails: pl.DataFrame | None = None
    """Tails of queue delays, as `tails.tails` returns them."""


def ran(
    runs: Sequence[Run], results: Sequence[Results], *, quick: bool, draw: bool = True
) -> DualPi2Runs:
    """Return the seeds, duration, engine and deviations of these runs, for the captions of a
    report."""
    deviations = [NO_OFFLOADS]
    if results and results[0].engine == "kernel":
        deviations.insert(0, on_linux.DEVIATION)
        deviations.insert(0, "today's Linux in virtual time instead of 5.10")
    if quick:
        deviations.insert(0, "50 s of a run count, not 250 s")
    warmup = "44 s plus 40 times the larger round-trip time of the two flows"
    made = facts(results, warmup=warmup, deviations=tuple(deviations))
    return DualPi2Runs(made, quick, tails.tails(runs, results) if draw else None)


def report(
    entries: Sequence[DualPi2Entry],
    laws: Sequence[law.Law],
    basis: DualPi2Runs,
    refused: Sequence[DualPi2Entry] = (),
) -> Report:
    """Return the report of the experiment. `refused` has the values whose runs Linux could not
    execute.
    """
    signs = signature.signatures(entries)
    result = present(
        goals_table(truth.judged_goals(entries), basis.facts),
        signature.table(signs, basis.facts) if signs else None,
        law.table(laws, basis.facts) if laws else None,
    )
    sections = [
        Section("result", "How far off", result),
        _figures(MIXED, "Mixed round-trip times", entries, basis),
        _figures(OVERLOAD, "Overload", entries, basis),
        Section(
            "refused",
            "Not run",
            [on_linux.table(refused, basis.facts)] if refused else [],
        ),
        Section("misses", "Errors beyond their limit", rows.misses(entries, basis.facts)),
        Section("set-up", "Set-up", [setup(DECLARED, basis.facts)]),
        *rows.tables(entries),
    ]
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if basis.quick else ""),
        meta=head(SOURCE, basis.facts, entries),
        sections=[section for section in sections if section.blocks],
        cells=[entry.cell for entry in entries],
        files={"all-cells.csv": rows.all_cells(entries)},
        first="mixed-rtt-rate",
    )


def _figures(kind: str, title: str, entries: Sequence[DualPi2Entry], basis: DualPi2Runs) -> Section:
    own = [e for e in entries if e.run.archive.kind == kind]
    blocks: list[Block] = present(
        figures.ratios(own, basis.facts) if kind == MIXED else None,
        *(figures.beside(own, kind, *drawn, basis.facts) for drawn in figures.DRAWN),
        tails.figure(basis.tails.filter(pl.col("kind") == kind), kind, basis.facts)
        if basis.tails is not None
        else None,
    )
    return Section(f"figures-{kind}", title, blocks)
