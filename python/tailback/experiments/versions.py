"""Experiments that lay versions of a queue side by side over a battery.

Their sources are reports of figures: there are no published numbers to be held against, the report
is what comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailback import toml
from tailback.errors import InputError, RunsFailed
from tailback.reproduction.experiment import ALL_CELLS, Experiment, ReproduceResult, all_cells

SEEDS = 10
QUICK_SEEDS = 3


@dataclass(frozen=True)
class Versions(Experiment):
    """An experiment of this kind."""

    name: str
    title: str
    doc: str
    versions: Mapping[str, Mapping[str, Any]]
    """Values by path, by version; the first is the baseline."""
    base: Mapping[str, Any]
    """Values by path, of every version."""
    setup: Sequence[tuple[str, str, str]]
    """What, what it is here, where that is from."""
    presets: Sequence[str] = ()
    battery: str = "l4s-battery"
    parts: Sequence[str] = field(
        default=("1-1", "1h-1h", "1l-1l", "flows", "mixed-rtt", "overload")
    )

    def run(
        self,
        parts: Sequence[str] | None,
        *,
        quick: bool,
        seeds: int | None,
        jobs: int | None,
        out: Path,
        progress: bool | None,
        engine: str = "sim",
        page: bool = False,
    ) -> ReproduceResult:
        """Runs the versions over the parts of the battery, writes the report, PDF included."""
        if engine != "sim":
            raise InputError(
                f"{self.name}: Linux has none of the versions of 2019; expected --engine sim"
            )
        from tailback import batteries
        from tailback.batteries.side_by_side import run_battery
        from tailback.comparison.model import Cell
        from tailback.comparison.variants import Variant
        from tailback.report import Facts, Section, write
        from tailback.report.tables import setup

        request = self.request(parts, quick, seeds, engine, page)
        made = run_battery(
            batteries.get(self.battery),
            [
                Variant(name, {path: toml.value(value) for path, value in sets.items()})
                for name, sets in self.versions.items()
            ],
            parts=parts or (),
            presets=self.presets,
            base=self.base,
            quick=quick,
            seeds=request.seeds_or(SEEDS, QUICK_SEEDS),
            jobs=jobs,
            out=out,
            progress=progress,
        )

        def where(cell: Cell) -> tuple[str, str]:
            return str(cell.params["part"]), str(cell.params["case"])

        report = made.battery.report(made)
        summary, *rest = report.sections
        report = replace(
            report,
            name=self.folder(request),
            title=self.title,
            meta=[("source", self.title), *report.meta],
            sections=[summary, Section("set-up", "Set-up", [setup(self.setup, Facts())]), *rest],
        )
        cells = [
            {
                "id": "/".join(filter(None, (*where(cell), cell.name, cell.quantity, variant))),
                "quantity": cell.quantity,
                "unit": cell.metric.unit,
                "published": None,
                "measured": value.mean,
                "n": value.n,
                "ci95": value.half_width,
            }
            for cell in made.cells
            for variant, value in cell.values.items()
        ]
        report = replace(report, files={**report.files, ALL_CELLS: all_cells(cells)})
        index = write(report, out / "reports" / report.name, pdf=True)
        if made.failures:
            raise RunsFailed(made.failures, [column.results for column in made.variants])
        return ReproduceResult(self.name, engine, index.parent, cells, [])
