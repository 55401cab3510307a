"""Grades submissions to a task. A submission sets values for keys that the task allows.

    grades = tailback.grade("lesson/task.toml", "submissions/")
    grades.frame()

Submissions are untrusted. A submission cannot name files or plugins, and its estimated cost is
limited. An invalid submission does not affect the grades of other submissions.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback import engine_version
from tailback.base import arguments
from tailback.base.located import Located
from tailback.errors import InputError, RunsFailed
from tailback.running import engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.teaching.grading import submission as submissions
from tailback.teaching.grading import task as tasks
from tailback.teaching.grading.task import Task

if TYPE_CHECKING:
    import polars as pl

    from tailback.metrics.assertions import BoundVerdict
    from tailback.store.results import Results

Status = Literal["graded", "wrong", "failed"]

FOLDER = Path("graded")
"""The default folder for the runs of submissions. This folder is separate from the teacher's own
results."""


@dataclass(frozen=True)
class Grade:
    """The grade of one submission."""

    name: str
    file: str
    status: Status
    """The state of a submission. `wrong` means that the submission is not valid. `failed` means
    that the engine failed in one of the submission's runs."""
    verdicts: Sequence[BoundVerdict] = ()
    """Verdicts of the assertions for the means over seeds."""
    problems: Sequence[Located] = ()
    failures: Sequence[str] = ()

    @property
    def held(self) -> int:
        """The number of bounds that the submission meets."""
        return sum(verdict.held for verdict in self.verdicts)

    @property
    def reasons(self) -> list[str]:
        """Why the submission has no grade, as sentences with file, line and column."""
        return [*map(str, self.problems), *self.failures]


@dataclass(frozen=True)
class Grades:
    """The grades of all submissions to a task, sorted by name."""

    task: Task
    title: str
    seeds: int
    grades: Sequence[Grade]
    skipped: Sequence[str]
    """Names of files in the folder that are not submissions."""

    @property
    def of(self) -> int:
        """The number of bounds against which each graded submission is checked."""
        return max((len(grade.verdicts) for grade in self.grades), default=0)

    @property
    def wrong(self) -> list[Grade]:
        """The submissions without a grade."""
        return [grade for grade in self.grades if grade.status != "graded"]

    def columns(self) -> list[str]:
        """The titles of the value columns: each bound as text, in the order of the scenario."""
        return list(dict.fromkeys(words(v) for grade in self.grades for v in grade.verdicts))

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "task": str(self.task.file),
            "title": self.title,
            "engine": "sim",
            "version": engine_version(),
            "seeds": self.seeds,
            "submissions": [
                {
                    "name": grade.name,
                    "file": grade.file,
                    "status": grade.status,
                    "held": grade.held,
                    "of": self.of,
                    "assertions": [verdict.to_dict() for verdict in grade.verdicts],
                    "errors": [
                        *(
                            {
                                "file": one.file,
                                "line": one.line,
                                "column": one.column,
                                "message": one.message,
                                "help": one.help,
                            }
                            for one in grade.problems
                        ),
                        *(
                            {
                                "file": grade.file,
                                "line": None,
                                "column": None,
                                "message": one,
                                "help": None,
                            }
                            for one in grade.failures
                        ),
                    ],
                }
                for grade in self.grades
            ],
            "skipped": list(self.skipped),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each submission: name, file, status, held, of, the value for each bound,
        the reason."""
        columns = self.columns()
        rows = []
        for grade in self.grades:
            values = {words(verdict): verdict.value for verdict in grade.verdicts}
            rows.append(
                {
                    "name": grade.name,
                    "file": grade.file,
                    "status": grade.status,
                    "held": grade.held,
                    "of": self.of,
                    **{column: values.get(column) for column in columns},
                    "reason": "; ".join(grade.reasons) or None,
                }
            )
        return rows

    def frame(self) -> pl.DataFrame:
        """Return the grades as a frame."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def csv(self) -> str:
        """Return the grades as CSV.

        Text that a spreadsheet would execute as a formula gets an apostrophe in front.
        """
        file = io.StringIO()
        rows = self.rows()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([_cell(column) for column in rows[0]])
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
        return file.getvalue()


def words(verdict: BoundVerdict) -> str:
    """Return a checked bound as text: `delay_ms.p99 of bottleneck at most 20`."""
    name = f" of {verdict.name}" if verdict.name is not None else ""
    at = f" at {', '.join(f'{k} = {v}' for k, v in verdict.params.items())}"
    bound = f"at {'least' if verdict.side == 'min' else 'most'} {verdict.bound:g}"
    return f"{verdict.metric}{name} {bound}{at if verdict.params else ''}"


def _cell(value: object) -> object:
    text = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if text else value


def grade(
    task: Path | str,
    folder: Path | str,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | str = FOLDER,
    progress: bool | None = None,
) -> Grades:
    """Grade every submission in a folder by the assertions of the task's scenario.

    `task` is a file, or a folder with `task.toml`. `folder` has one file NAME.toml for each
    submission. An assertion holds if the mean over seeds is within its bounds. Raises `InputError`
    if the task is invalid.
    """
    found = tasks.load(Path(arguments.path("task", task)))
    files, others = submissions.find(Path(arguments.path("submissions", folder)))
    chosen = None if seeds is None else arguments.count("seeds", seeds)
    own = _own(found, chosen)
    most_cpu_s = found.most_cpu_s(submissions.cost_of(own).cpu_s)
    loaded = [submissions.load(found, file, chosen, most_cpu_s) for file in files]
    right = [one for one in loaded if one.scenario is not None]
    options = RunOptions.of(jobs=jobs, out=out, progress=progress)
    runner = engines.get("sim")
    failures: list[str] = []
    try:
        results = execution.run_loaded(
            [one.scenario for one in right if one.scenario is not None],
            [runner] * len(right),
            options,
        )
    except RunsFailed as error:
        results, failures = error.results, error.failures
    by_file = {one.file: result for one, result in zip(right, results, strict=True)}
    grades = [_grade(one, by_file.get(one.file), failures) for one in loaded]
    return Grades(
        found,
        own.title,
        len({point.seed for point in own.points}),
        grades,
        [other.name for other in others],
    )


def _own(task: Task, seeds: int | None) -> Any:
    """Load the task's scenario without a submission.

    The scenario must be valid and have assertions.
    """
    scenario = scenarios.load(
        task.scenario, [], seeds if seeds is not None else task.seeds, engines.get("sim")
    )
    if not scenario.asserts:
        raise InputError(
            f"{task.scenario}: no [[assert]] to grade by; add one, such as metric = "
            '"delay_ms.p99" with max = 20'
        )
    return scenario


def _grade(one: submissions.Submission, results: Results | None, failures: Sequence[str]) -> Grade:
    if one.scenario is None or results is None:
        return Grade(one.name, str(one.file), "wrong", problems=one.problems)
    missing = {point.run_id for point in one.scenario.points} - {run.run_id for run in results}
    if missing:
        said = [text for text in failures if any(run_id in text for run_id in missing)]
        return Grade(one.name, str(one.file), "failed", failures=said)
    means = [verdict for verdict in results.verdicts() if verdict.seed is None]
    return Grade(one.name, str(one.file), "graded", means)


__all__ = ["Grade", "Grades", "Task", "grade", "words"]
