"""`tailback grade`: grades submissions to a task."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import foreign, terminal
from tailback.base.progress import is_quiet
from tailback.cli import complaints
from tailback.cli.boundary import OK
from tailback.cli.help import Command
from tailback.cli.options import jobs_option, json_option, quiet_option, seeds_option


@click.command(
    cls=Command,
    examples=(
        ("grade codel-law/task.toml submissions/", "grade every file of a folder"),
        (
            "grade codel-law/task.toml submissions/ --csv > grades.csv",
            "write the grades to a CSV file",
        ),
    ),
)
@click.argument("task", type=click.Path(path_type=Path))
@click.argument("submissions", type=click.Path(path_type=Path))
@seeds_option
@jobs_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which tailback stores results [default: graded].",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV and nothing else.")
@json_option
@quiet_option
def grade(
    task: Path,
    submissions: Path,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    as_csv: bool,
    as_json: bool,
) -> int:
    """Grade submissions to a task: test which assertions of the task's scenario hold.

    TASK is a task file, or a folder with the file task.toml. The task names a scenario and the keys
    that a submission may set. A submission must not set other keys. SUBMISSIONS is a folder with a
    file NAME.toml for each submission. An assertion holds if the mean of its metric over the seeds
    is within the bound. If a submission is invalid, an error message names its file, line and
    column, and the command still grades the other submissions.

    docs/how-to/teach.md describes the format of tasks.
    """
    from tailback.teaching import grading

    if as_csv and as_json:
        raise click.UsageError("--csv and --json do not go together; expected one of them")
    found = grading.grade(task, submissions, seeds=seeds, jobs=jobs, out=out or grading.FOLDER)
    if as_json:
        terminal.out_json(found.to_dict())
    elif as_csv:
        terminal.out(found.csv(), end="")
    else:
        from tailback.cli.tables import grades

        grades.show(found)
    for one in found.wrong:
        problems: list[complaints.Problem] = [*one.problems, *one.failures]
        for problem in problems:
            complaints.error(problem)
    if found.skipped and not is_quiet():
        names = ", ".join(foreign.line(name) for name in found.skipped[:5])
        more = f" and {len(found.skipped) - 5} more" if len(found.skipped) > 5 else ""
        terminal.err(f"note: not graded, since the name does not end in .toml: {names}{more}")
    return OK
