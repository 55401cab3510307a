"""A published experiment: what it plans, runs in one pool and makes of it."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.base.names import unknown
from tailback.errors import InputError, ScenarioWarning

if TYPE_CHECKING:
    from tailback.comparison.model import Cell as Compared
    from tailback.report import Report
    from tailback.running.batch import Job
    from tailback.running.options import RunOptions
    from tailback.store.results import Results
    from tailback_studies.reproduction.judges import Judge
    from tailback_studies.reproduction.page import Page


@dataclass(frozen=True)
class ReproduceResult:
    """How far off the published numbers an experiment is."""

    experiment: str
    engine: str
    report_dir: Path
    cells: list[dict[str, Any]] = field(default_factory=list)
    """id, quantity, unit, published, measured, n, ci95"""
    summary: list[dict[str, Any]] = field(default_factory=list)
    """quantity, cells, median_rel_error, p90_rel_error, median_abs_error, p90_abs_error"""

    def to_dict(self) -> dict[str, Any]:
        """The object that `reproduce --json` prints."""
        return {
            "experiment": self.experiment,
            "engine": self.engine,
            "cells": self.cells,
            "summary": self.summary,
        }


@dataclass(frozen=True)
class Request:
    """What is to be run."""

    parts: tuple[str, ...]
    """In the experiment's order; all of them where none was named."""
    named: bool
    """Whether parts were named."""
    quick: bool
    seeds: int | None
    engine: str
    page: bool = False
    """Whether its page is wanted, with everything that it needs beyond the source's own parts."""

    def seeds_or(self, every: int, quick: int | None = None) -> int:
        """Seeds of each point: as asked for, or the experiment's own numbers."""
        if self.seeds is not None:
            return self.seeds
        return quick if self.quick and quick is not None else every

    def named_part(self, part: str) -> bool:
        """Whether this part, which is beyond the source, is to be run: it was named, or the page
        is wanted."""
        return (self.named or self.page) and part in self.parts


@dataclass(frozen=True)
class Findings:
    """What came of it."""

    report: Report
    cells: list[dict[str, Any]]
    """As `reproduce --json` lists them."""
    summary: list[dict[str, Any]]
    judges: Sequence[Judge] = ()
    """What each goal says, for goals.csv."""
    page: Page | None = None
    """What the page in docs has."""


Found = Mapping[str, "Sequence[Results]"]
"""Results by group, in the order of its jobs."""


@dataclass(frozen=True)
class Study:
    """What to run, in groups, and what to make of it."""

    jobs: Mapping[str, Sequence[Job]]
    findings: Callable[[Found], Findings]


class Experiment(ABC):
    """A published experiment, as the command line sees it."""

    name: str
    """The word on the command line."""
    title: str
    """Title, authors and year of the source."""
    doc: str
    """What it shows, in a sentence."""
    parts: Sequence[str]
    """Figures and tables that can be run by themselves."""

    needs_kernel: bool = False
    """Whether only the kernel engine has it: its page is not made where no kernel is needed."""

    not_run: Sequence[tuple[str, int | None, str]] = ()
    """What of the source is not reproduced: what, how many of its rows, why."""

    def request(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
    ) -> Request:
        """What is asked for; an unknown part is refused."""
        if page and (parts or quick):
            raise InputError("--page: a page is of the whole experiment: no --part, no --quick")
        return Request(
            parts=known_parts(parts, self.parts),
            named=bool(parts),
            quick=quick,
            seeds=options.seeds,
            engine=options.engine,
            page=page,
        )

    def folder(self, request: Request) -> str:
        """Where the report goes: neither a part nor another engine takes the place of the whole."""
        whole = not request.named or request.parts == tuple(self.parts)
        engine = () if request.engine == "sim" else (request.engine,)
        return "-".join((self.name, *(() if whole else request.parts), *engine))

    @abstractmethod
    def run(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
    ) -> ReproduceResult:
        """Runs the parts (default: all), writes the report, compares."""


class Reproduction(Experiment):
    """An experiment with numbers or expectations to be held against what is measured."""

    @abstractmethod
    def study(self, request: Request) -> Study:
        """What to run for these parts; a part that the engine cannot run is refused."""

    def run(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
    ) -> ReproduceResult:
        """Runs the study of these parts in one pool and writes its report."""
        from tailback.report import write
        from tailback.running.batch import run_jobs
        from tailback_studies.reproduction import judges

        request = self.request(parts, options, quick=quick, page=page)
        study = self.study(request)
        flat = [job for group in study.jobs.values() for job in group]
        with warnings.catch_warnings():
            # The set-up is that of the source: there is nothing the user could change in it.
            warnings.filterwarnings("ignore", ".*phase effects", ScenarioWarning)
            results = iter(run_jobs(flat, replace(options, seeds=None)))
        groups = {name: [next(results) for _ in group] for name, group in study.jobs.items()}
        findings = study.findings(groups)
        name = self.folder(request)
        files = {ALL_CELLS: all_cells(findings.cells), **findings.report.files}
        if findings.judges:
            files[judges.FILE] = judges.to_csv(findings.judges)
        if findings.page is not None:
            runs = {run.run_id: run for group in groups.values() for r in group for run in r}
            cost = math.fsum(run.timing["cpu_s"] for run in runs.values())
            illustrated = findings.page.with_figure(findings.report)
            files[f"{self.name}.md"] = illustrated.text(command(self.name, request), cost)
        written = replace(findings.report, name=name, files=files)
        index = write(written, options.out / "reports" / name, jobs=options.jobs)
        return ReproduceResult(
            self.name, options.engine, index.parent, findings.cells, findings.summary
        )


def command(name: str, request: Request) -> str:
    """What is typed to get the same."""
    words = ["tailback reproduce", name, *(f"--part {part}" for part in request.parts)]
    if not request.named:
        del words[2:]
    words += ["--page"] if request.page else []
    words += ["--quick"] if request.quick else []
    words += [f"--seeds {request.seeds}"] if request.seeds is not None else []
    words += [f"--engine {request.engine}"] if request.engine != "sim" else []
    return " ".join(words)


def compared_cells(
    cells: Iterable[Compared], place: Callable[[Compared], Sequence[str]]
) -> list[dict[str, Any]]:
    """Cells of a comparison as `reproduce --json` lists them: nothing of them is published. A
    cell's id is its place and the variant."""
    return [
        {
            "id": "/".join(filter(None, (*place(cell), variant))),
            "quantity": cell.quantity,
            "unit": cell.metric.unit,
            "published": None,
            "measured": value.mean,
            "n": value.n,
            "ci95": value.half_width,
        }
        for cell in cells
        for variant, value in cell.values.items()
    ]


ALL_CELLS = "all-cells.csv"
"""The file with every cell that was measured; the report's own has what places them, too."""


def all_cells(cells: Sequence[Mapping[str, Any]]) -> str:
    """Every cell as CSV, published or not."""
    from tailback.report.tables import csv_text

    head = ("id", "quantity", "unit", "published", "measured", "n", "ci95")
    rows = ([*(cell[name] for name in head), _yes(cell.get("blind"))] for cell in cells)
    return csv_text([(*head, "blind"), *rows])


def _yes(value: object) -> str:
    return "yes" if value else "no"


def known_parts(parts: Sequence[str] | None, valid: Sequence[str]) -> tuple[str, ...]:
    """The parts asked for, or all, in the experiment's order; an unknown one is refused."""
    for part in parts or ():
        if part not in valid:
            raise InputError(unknown("part", part, valid))
    return tuple(part for part in valid if not parts or part in parts)
