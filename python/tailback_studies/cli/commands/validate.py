"""`tailback validate`: compares the simulator with the Linux kernel."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import names, terminal
from tailback.cli import complaints
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import json_option, run_options
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        ("validate --quick", "take a first look"),
        ("validate --queue codel", "run the scenarios of one queue"),
        ("validate --queue impairments", "run the scenarios with impairments"),
    ),
)
@click.option(
    "--quick",
    is_flag=True,
    help="Run fewer and shorter scenarios with fewer seeds, for a first look.",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    help="Run only the scenarios of this queue, or of this group of queues [default: all queues]. "
    "Can be repeated.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Also write docs/evidence/validation.md and its figures. With --queue NAME, write "
    "docs/evidence/validation-NAME.md instead. If --queue chooses all queues of a group, NAME is "
    "the name of the group. If --queue chooses other queues, NAME is the first of these queues.",
)
@click.option(
    "--stored",
    is_flag=True,
    help="Compare only runs that are already stored, and execute no runs.",
)
@run_options(
    engine=False,
    cores=False,
    spread=False,
    seeds_help="Number of seeds for each scenario; each seed is one run on each engine [default: "
    "5; fewer with --quick].",
)
@json_option
def validate(
    quick: bool,
    queues: tuple[str, ...],
    write: bool,
    stored: bool,
    options: RunOptions,
    as_json: bool,
) -> int:
    """Compare the simulator with the Linux kernel in many scenarios.

    The scenarios send traffic through every queue that both the simulator and the kernel engine
    support. The traffic is a single flow, flows with different congestion controls, flows with
    Accurate ECN or BBR, or short connections. Each scenario runs with 5 seeds. The command reuses
    stored runs. To resume an interrupted command, repeat it. The exit status is 1 if a difference
    exceeds its limit, a scenario has no measurement, or a run failed.
    """
    began = time.monotonic()
    from tailback_studies import validation
    from tailback_studies.validation import grid

    known = list(dict.fromkeys([*(queue.name for queue in grid.QUEUES), *grid.FAMILIES]))
    for name in queues:
        if name not in known:
            raise InputError(names.unknown("queue", name, known))
    chosen = [q.name for q in grid.QUEUES if q.name in queues or q.family in queues]
    docs = Path("docs/evidence")
    if write and not docs.is_dir():
        raise InputError("--write: no folder docs/evidence here; run it where the sources are")
    result = validation.validate(options, quick=quick, only=chosen, stored=stored)
    if not result.cells:
        raise InputError(
            "no scenario has all its runs; run the command without --stored"
            if stored
            else "no scenario has all its runs; run the command again to repeat the failed ones"
        )
    if as_json:
        terminal.out_json(result.to_dict())
    from tailback_studies.validation import page

    pages = [page.save(result)]
    if write:
        pages.append(page.save_page(result, docs))
    if not as_json:
        from tailback_studies.cli.tables import validation as shown

        shown.show(result, pages, time.monotonic() - began)
    for message in result.ran.failures:
        complaints.error(message)
    return OK if result.holds and not result.ran.failures else FAILED
