"""Defines experiments. An experiment plans its runs, executes them in one pool, and writes a
report."""

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
    """The result of an experiment, as `reproduce` returns it."""

    experiment: str
    engine: str
    report_dir: Path
    cells: list[dict[str, Any]] = field(default_factory=list)
    """The rows of cells.csv: id, quantity, unit, published, measured, n, ci95."""
    summary: list[dict[str, Any]] = field(default_factory=list)
    """Errors by quantity: quantity, cells, median_rel_error, p90_rel_error, median_abs_error,
    p90_abs_error."""
    goals: list[dict[str, Any]] = field(default_factory=list)
    """The goals, as goals.csv lists them: goal, limit, cells, holds."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `reproduce --json` prints."""
        return {
            "experiment": self.experiment,
            "engine": self.engine,
            "cells": self.cells,
            "summary": self.summary,
            "goals": self.goals,
        }


@dataclass(frozen=True)
class Request:
    """The user's options for a run of an experiment."""

    parts: tuple[str, ...]
    """The requested parts in the experiment's order, or all parts if the user named none."""
    named: bool
    """Whether the user named parts."""
    quick: bool
    seeds: int | None
    engine: str
    page: bool = False
    """Whether to write the page. The page also needs runs that are not part of the publication."""
    until_decided: bool = False
    """Whether to add seeds until the differences between versions are decided."""
    published: bool = False
    """Whether to leave out runs that have no published value to compare with."""

    def seeds_or(self, every: int, quick: int | None = None) -> int:
        """Return the number of seeds that the user requested. If the user did not request a number,
        return `quick` for a quick run, and `every` for any other run.
        """
        if self.seeds is not None:
            return self.seeds
        return quick if self.quick and quick is not None else every

    def named_part(self, part: str) -> bool:
        """Return whether to run an optional part. An optional part runs if the user names it or
        requests the page.
        """
        return (self.named or self.page) and part in self.parts


@dataclass(frozen=True)
class Findings:
    """The report of an experiment, and the data from which its files are written."""

    report: Report
    cells: list[dict[str, Any]]
    """The values in the form of `reproduce --json`."""
    summary: list[dict[str, Any]]
    judges: Sequence[Judge] = ()
    """The result of each goal, for goals.csv."""
    page: Page | None = None
    """The content of the experiment's page in docs."""


Found = Mapping[str, "Sequence[Results]"]
"""Results by group of jobs, in the order of the group's jobs."""


@dataclass(frozen=True)
class Study:
    """The jobs of an experiment, in named groups, and the function that makes a report from their
    results."""

    jobs: Mapping[str, Sequence[Job]]
    findings: Callable[[Found], Findings]


class Experiment(ABC):
    """The interface through which the command line uses an experiment."""

    name: str
    """The name of the experiment on the command line."""
    title: str
    """Title, authors and year of the publication."""
    doc: str
    """A sentence about what the experiment shows."""
    parts: Sequence[str]
    """Names of the parts (figures and tables) that can be run separately."""

    needs_kernel: bool = False
    """Whether only the kernel engine can run the experiment. Commands that write pages without a
    kernel skip such an experiment."""

    compares_versions: bool = False
    """Whether the experiment compares versions with each other, so that tests of their differences
    can decide the number of seeds."""

    not_run: Sequence[tuple[str, int | None, str]] = ()
    """The parts of the publication that are not reproduced. Each item has a description, the number
    of rows, and the reason."""

    def request(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
        until_decided: bool = False,
    ) -> Request:
        """Check the user's options. Raise an error for an unknown part."""
        if until_decided:
            if not self.compares_versions:
                raise InputError(
                    f"--until-decided: {self.name} does not compare versions with each other; "
                    "set the number of seeds with --seeds"
                )
            if page or quick or options.seeds is not None:
                raise InputError(
                    "--until-decided: the results decide the number of seeds; remove --seeds, "
                    "--quick and --page"
                )
        if page and (parts or quick):
            raise InputError(
                "--page: the page needs the whole experiment; remove --part and --quick"
            )
        return Request(
            parts=known_parts(parts, self.parts),
            named=bool(parts),
            quick=quick,
            seeds=options.seeds,
            engine=options.engine,
            page=page,
            until_decided=until_decided,
        )

    def folder(self, request: Request) -> str:
        """Return the folder of the report.

        A report of single parts, or of runs on another engine than the simulator, has a separate
        folder. Such a report therefore does not overwrite the report of the whole experiment.
        """
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
        until_decided: bool = False,
    ) -> ReproduceResult:
        """Run these parts of the experiment, or all parts by default. Compare the results with the
        publication, and write the report."""


class Reproduction(Experiment):
    """An experiment that compares measurements with published numbers or with expectations."""

    @abstractmethod
    def study(self, request: Request) -> Study:
        """Plan the jobs of the requested parts of the experiment. Raise an error for a part that
        the engine cannot run."""

    def run(
        self,
        parts: Sequence[str] | None,
        options: RunOptions,
        *,
        quick: bool = False,
        page: bool = False,
        until_decided: bool = False,
    ) -> ReproduceResult:
        """Run these parts of the experiment in one pool, and write the report."""
        from tailback.report import write
        from tailback.running.batch import run_jobs
        from tailback_studies.reproduction import judges

        request = self.request(parts, options, quick=quick, page=page, until_decided=until_decided)
        study = self.study(request)
        flat = [job for group in study.jobs.values() for job in group]
        with warnings.catch_warnings():
            # Suppress warnings about phase effects. The publication determines the set-up, so the
            # user cannot change it.
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
        goals = [
            {"goal": goal.title, "limit": goal.limit, "cells": goal.cells, "holds": goal.holds}
            for goal in findings.judges
        ]
        return ReproduceResult(
            self.name, options.engine, index.parent, findings.cells, findings.summary, goals
        )


def command(name: str, request: Request) -> str:
    """Return the command that produces the same result."""
    words = ["tailback reproduce", name, *(f"--part {part}" for part in request.parts)]
    if not request.named:
        del words[2:]
    words += ["--page"] if request.page else []
    words += ["--quick"] if request.quick else []
    words += ["--until-decided"] if request.until_decided else []
    words += [f"--seeds {request.seeds}"] if request.seeds is not None else []
    words += [f"--engine {request.engine}"] if request.engine != "sim" else []
    return " ".join(words)


def compared_cells(
    cells: Iterable[Compared], place: Callable[[Compared], Sequence[str]]
) -> list[dict[str, Any]]:
    """Return the values of a comparison as objects of `reproduce --json`, without published values.
    A value's id consists of the name of the variant and of the parts that `place` returns.
    """
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
"""The file with every measured value and its coordinates in the publication. The report's cells.csv
has no coordinates."""


def all_cells(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return every value as CSV, including values without a published value."""
    from tailback.report.tables import csv_text

    head = ("id", "quantity", "unit", "published", "measured", "n", "ci95")
    rows = ([*(cell[name] for name in head), _yes(cell.get("blind"))] for cell in cells)
    return csv_text([(*head, "blind"), *rows])


def _yes(value: object) -> str:
    return "yes" if value else "no"


def known_parts(parts: Sequence[str] | None, valid: Sequence[str]) -> tuple[str, ...]:
    """Return the requested parts in the experiment's order, or all parts. Raise an error for an
    unknown part."""
    for part in parts or ():
        if part not in valid:
            raise InputError(unknown("part", part, valid))
    return tuple(part for part in valid if not parts or part in parts)
