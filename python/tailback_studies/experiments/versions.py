"""Experiments that run a set of scenarios on several versions of a queue.

The experiments repeat reports that have figures but no published numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tailback.base import toml
from tailback.errors import RunsFailed
from tailback.metrics.naming import identifier
from tailback.metrics.statistics import median, nearest_rank
from tailback_studies.reproduction.experiment import (
    ALL_CELLS,
    Experiment,
    ReproduceResult,
    all_cells,
    command,
    compared_cells,
)

if TYPE_CHECKING:
    from tailback.comparison.model import Comparison
    from tailback.report import Table
    from tailback.running.options import RunOptions

SEEDS = 5
QUICK_SEEDS = 3


SETUP_ON_LINUX: Mapping[str, tuple[str, str]] = {
    "DCTCP": (
        "that of Linux 3.19 by the module `tcp_dctcp_2014`; losses are found by today's stack",
        "Linux has today's DCTCP only",
    ),
    "every segment is a packet": (
        "no TSO, GSO, GRO; the queue is measured from its way in to its way out",
        "the kernel engine",
    ),
    "queue": ("the module `sch_dualpi2_2019`", "Linux has none of these versions"),
}
"""Rows of the set-up that differ on the kernel engine or exist only there, by name."""

LEAD = (
    "The publication contains figures but no numbers. Therefore this page only compares "
    "the DualPI2 versions with each other. The command below writes every number to "
    "`all-cells.csv`."
)


def medians(comparison: Comparison, pairs: Sequence[tuple[str, str]]) -> Table:
    """For each quantity, show the median and the 90th percentile of the relative differences
    between versions."""
    from tailback.report import Table, Value
    from tailback.report.tables import left, right

    changes: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    for cell in comparison.cells:
        for pair in pairs:
            first, other = (cell.values[name].mean for name in pair)
            if first is not None and other:
                key = identifier(cell.quantity), cell.name
                deltas = changes.setdefault(key, {}).setdefault(pair, [])
                deltas.append(first / other - 1)
    rows: list[list[Value]] = []
    for (quantity, of), by_pair in changes.items():
        row: list[Value] = [quantity, of, max(len(deltas) for deltas in by_pair.values())]
        for pair in pairs:
            deltas = by_pair.get(pair, [])
            middle, far = median(deltas), nearest_rank([abs(change) for change in deltas], 0.9)
            row += [None if n is None else f"{100 * n:+.1f} %" for n in (middle, far)]
        rows.append(row)
    titles = (
        title for first, other in pairs for title in (f"{first} over {other}", "90th percentile")
    )
    caption = (
        "The table compares means over seeds. *A over B* shows by how many percent A is larger "
        "than B (median over all cases). *90th percentile* is the 90th percentile of absolute "
        "differences."
    )
    return Table(
        "medians",
        "Differences between the versions",
        [*left("quantity", "of"), *right("cases", *titles)],
        rows,
        caption,
    )


@dataclass(frozen=True)
class Versions(Experiment):
    """An experiment that compares versions of a queue."""

    name: str
    title: str
    doc: str
    versions: Mapping[str, Mapping[str, Any]]
    """The values of each version, by path. The first version is the baseline."""
    base: Mapping[str, Any]
    """Values that every version has, by path."""
    setup: Sequence[tuple[str, str, str]]
    """Rows of the set-up. Each row contains an item, its value in these runs, and the source of the
    value."""
    pairs: Sequence[tuple[str, str]] = ()
    """Pairs of versions to compare in addition to the baseline: a version, and its reference."""
    text: str = ""
    """The conclusions on the page."""
    presets: Sequence[str] = ()
    battery: str = "l4s-battery"
    parts: Sequence[str] = field(
        default=("1-1", "1h-1h", "1l-1l", "flows", "mixed-rtt", "overload")
    )

    compares_versions = True

    def setup_on(self, engine: str) -> list[tuple[str, str, str]]:
        """Return the rows that describe the set-up on an engine."""
        rows = {name: (what, basis) for name, what, basis in self.setup}
        if engine != "sim":
            rows.update(SETUP_ON_LINUX)
        return [(name, *rest) for name, rest in rows.items()]

    def run(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
        until_decided: bool = False,
    ) -> ReproduceResult:
        """Run the versions over the parts of `l4s-battery`, and write the report, including a
        PDF."""
        from tailback.comparison.model import Cell
        from tailback.comparison.variants import Variant
        from tailback.report import Facts, Section, Table, Text, write
        from tailback.report.comparison import facts_of
        from tailback.report.tables import setup
        from tailback_studies import batteries
        from tailback_studies.batteries.side_by_side import SeedRule, run_battery
        from tailback_studies.reproduction import runs as ran
        from tailback_studies.reproduction.page import Page

        request = self.request(parts, options, quick=quick, page=page, until_decided=until_decided)
        on_kernel = options.engine != "sim"
        seeds = request.seeds_or(SEEDS, 1 if on_kernel else QUICK_SEEDS)
        setup_rows = self.setup_on(options.engine)
        comparison = run_battery(
            batteries.get(self.battery),
            [
                Variant(
                    name,
                    {path: toml.value(value) for path, value in sets.items()},
                    engine=options.engine,
                )
                for name, sets in self.versions.items()
            ],
            replace(options, seeds=seeds),
            parts=parts or (),
            presets=self.presets,
            base=self.base,
            quick=quick,
            rule=SeedRule() if request.until_decided else None,
        )

        def where(cell: Cell) -> tuple[str, str]:
            return str(cell.params["part"]), str(cell.params["case"])

        report = comparison.battery.report(comparison)
        summary, *rest = report.sections
        report = replace(
            report,
            name=self.folder(request),
            title=self.title,
            meta=[("source", self.title), *report.meta],
            first="a4-equal",
            sections=[summary, Section("set-up", "Set-up", [setup(setup_rows, Facts())]), *rest],
        )
        cells = compared_cells(comparison.cells, lambda c: (*where(c), c.name, c.quantity))
        files = {**report.files, ALL_CELLS: all_cells(cells)}
        if page:
            first = next(iter(self.versions))
            pairs = [(name, first) for name in self.versions if name != first] + [*self.pairs]
            tables = [block for block in summary.blocks if isinstance(block, Table)]
            sections = [
                Section("medians", "Result", [Text(self.text), medians(comparison, pairs)]),
                Section("summary", summary.title, tables),
                Section(
                    "set-up",
                    "Set-up",
                    [
                        setup(setup_rows, Facts()),
                        ran.table({"every version": facts_of(comparison)}),
                    ],
                ),
            ]
            note = Page(self.title, f"{self.doc} {LEAD}", sections, facts_of(comparison))
            runs = {run.run_id: run for column in comparison.variants for run in column.results}
            cost = math.fsum(run.timing["cpu_s"] for run in runs.values())
            files[f"{self.name}.md"] = note.with_figure(report).text(
                command(self.name, request), cost
            )
        report = replace(report, files=files)
        index = write(report, options.out / "reports" / report.name, pdf=True)
        if comparison.failures:
            raise RunsFailed(
                comparison.failures, [column.results for column in comparison.variants]
            )
        return ReproduceResult(self.name, options.engine, index.parent, cells, [])
