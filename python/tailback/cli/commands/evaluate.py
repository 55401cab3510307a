"""`tailback evaluate`: evaluates an algorithm against each section of a standard."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailback.base import terminal
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Group
from tailback.cli.options import json_option, report_options, run_options
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.evaluate.model import Evaluation
    from tailback.running.options import RunOptions


@click.group(cls=Group)
def evaluate() -> None:
    """Evaluate an algorithm against an RFC or Internet-Draft.

    The exit status is 1 if the algorithm fails a section or is worse than the reference algorithm,
    2 for bad input, and 0 otherwise.
    """


_OPTIONS = (
    click.option(
        "--quick",
        is_flag=True,
        help="Execute fewer and shorter runs. For example, `evaluate cc cubic --quick` takes about "
        "14 s of CPU time. Evaluations of programs on the kernel engine take longer.",
    ),
    click.option(
        "--worst",
        is_flag=True,
        help="Base each verdict on the worst seed instead of the mean over seeds.",
    ),
    click.option(
        "--against",
        metavar="NAME",
        help="Compare with this algorithm, such as the previous version. By default, `evaluate cc` "
        "compares with CUBIC, and `evaluate queue` with a FIFO. `evaluate bbr` does not accept "
        "this option, because it compares results with the requirements of the Internet-Draft.",
    ),
    click.option(
        "--since",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Print which verdicts have changed since an earlier evaluation. FILE contains the "
        "JSON that the earlier evaluation printed with --json.",
    ),
    click.option(
        "--part",
        "parts",
        multiple=True,
        metavar="SECTION",
        help="Evaluate only this section and its subsections; for example, 5.2 includes 5.2.1 "
        "[default: all sections of the standard]. The sections nsperf and L4S (`evaluate cc`) and "
        "L4S-battery (`evaluate queue`) run only if this option names them. Can be repeated.",
    ),
    click.option(
        "--junit",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the verdicts as JUnit XML.",
    ),
    click.option(
        "--report",
        "report_folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help=(
            "Folder to write the report to [default: evaluations/cc-NAME, queue-NAME or bbr-NAME "
            "in the folder of results]. With --quick, --part or --against, the default name also "
            "contains these options."
        ),
    ),
    click.option("--no-report", is_flag=True, help="Do not write a report."),
    report_options,
)


def _suite(command: Callable[..., Any]) -> Callable[..., int]:
    """Return a command that evaluates an algorithm with a suite. The function `command` only
    supplies the new command's name and help text."""

    @functools.wraps(command)
    def run(
        name: str,
        *,
        quick: bool,
        worst: bool,
        against: str | None,
        since: Path | None,
        parts: tuple[str, ...],
        junit: Path | None,
        report_folder: Path | None,
        no_report: bool,
        pdf: bool,
        options: RunOptions,
        as_json: bool,
    ) -> int:
        from tailback.evaluate import suites
        from tailback.evaluate.model import Request

        if junit is not None and not junit.absolute().parent.is_dir():
            raise InputError(
                f"--junit {junit}: there is no folder {junit.parent}; name one that exists"
            )
        request = Request(name, options, quick=quick, worst=worst, against=against, parts=parts)
        before = None
        if since is not None:
            from tailback.evaluate import earlier

            before = earlier.read(since, command.__name__)
        evaluation = suites.evaluate(command.__name__, request)
        if junit is not None:
            from tailback.evaluate.junit import write

            write(evaluation, junit)
        page = None
        if not (no_report or (options.read_only and report_folder is None)):
            # A partial or quick evaluation, or an evaluation against another algorithm, must not
            # replace the report of a full evaluation.
            plain = re.sub(r"[^\w.=-]+", "-", evaluation.subject)
            which = [evaluation.suite, plain, *(["quick"] if quick else []), *parts]
            if against is not None:
                which.append("against-" + re.sub(r"[^\w.=-]+", "-", against))
            place = options.out / "evaluations" / "-".join(which)
            page = _report(evaluation, report_folder or place, pdf)
        changes = None if before is None else evaluation.changes(before)
        if as_json:
            found = evaluation.to_dict()
            if changes is not None:
                found["changes"] = [change.to_dict() for change in changes]
            terminal.out_json(found)
        else:
            from tailback.cli.tables import evaluation as table

            table.show(evaluation, page, changes)
        return FAILED if evaluation.is_bad else OK

    decorated: Callable[..., int] = json_option(run)
    seeds = "Number of seeds for each scenario [default: the number that each section sets]."
    decorated = run_options(seeds_help=seeds, cores=False, spread=False, read_only=True)(decorated)
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return click.argument("name", metavar="NAME")(decorated)


def _report(evaluation: Evaluation, folder: Path, pdf: bool) -> Path:
    """Write the report, and return the path of the report's HTML page."""
    from tailback.evaluate import report
    from tailback.report import also_pdf

    with also_pdf(pdf):
        return report.write(evaluation, folder)


@evaluate.command(
    examples=(
        ("evaluate cc cubic --quick", "evaluate CUBIC with fewer and shorter runs"),
        ("evaluate cc my-cc --with my-cc --json", "evaluate a plugin"),
        (
            "evaluate cc program=quinn.toml --with stacks/quinn",
            "evaluate a QUIC stack in the simulator",
        ),
    )
)
@_suite
def cc() -> None:
    """Evaluate a congestion control against RFC 9743.

    NAME is a congestion control from `tailback list cc` or from a plugin. Write options of the
    congestion control after a colon: cubic:slow_start=search. To evaluate a program, such as a QUIC
    stack, write program=FILE instead of NAME. FILE must contain exactly one [[programs]] table. The
    exit status is 1 if the congestion control fails a section or is worse than the reference, 2 for
    bad input, and 0 otherwise.
    """


@evaluate.command(
    examples=(
        ("evaluate queue codel --quick", "evaluate CoDel with fewer and shorter runs"),
        ("evaluate queue my-queue --with my-queue", "evaluate a plugin"),
    )
)
@_suite
def queue() -> None:
    """Evaluate a queue discipline against RFC 7928.

    NAME is a queue discipline from `tailback list aqm` or from a plugin. Write options of the queue
    discipline after a colon: codel:target=10ms. The exit status is 1 if the queue discipline fails
    a section or is worse than the reference, 2 for bad input, and 0 otherwise.
    """


@evaluate.command(
    examples=(
        ("evaluate bbr bbr3:draft=06", "evaluate BBRv3 as in the draft"),
        ("evaluate bbr bbr3 --part A.4", "run only one test case"),
        ("evaluate bbr my-bbr --with my-bbr", "evaluate a plugin whose name contains bbr"),
        (
            "evaluate bbr program=quinn.toml --engine kernel",
            "evaluate a program by its packets and its qlog",
        ),
    )
)
@_suite
def bbr() -> None:
    """Evaluate an implementation of BBR with the test cases of BBR's Internet-Draft.

    NAME is an implementation of BBR from `tailback list cc`, or a plugin whose name contains bbr. A
    plugin must record the states that the test cases need. Write options of the implementation
    after a colon: bbr3:draft=06,down_gain=0.8. To evaluate a program, such as a QUIC stack, write
    program=FILE instead of NAME. FILE must contain exactly one [[programs]] table. The test cases
    are in appendix A of draft-ietf-ccwg-bbr-06. The exit status is 1 if a test case fails, 2 for
    bad input, and 0 otherwise.
    """
