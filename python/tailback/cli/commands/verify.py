"""`tailback verify`: checks that stored results are unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import foreign, terminal
from tailback.cli import complaints
from tailback.cli.help import Command
from tailback.cli.options import json_option, quiet_option

if TYPE_CHECKING:
    from tailback.store.verify import Verified


@click.command(
    cls=Command,
    examples=(
        ("verify", "check the folder results"),
        ("verify results --json", "print the result of the check as JSON"),
    ),
)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@quiet_option
@json_option
def verify(folder: Path | None, as_json: bool) -> int:
    """Check that stored results have not changed since tailback wrote them.

    DIR is a folder that `tailback run --out` wrote [default: results]. The command compares every
    file of every run, sweep and report with the size and hash that were recorded when the file was
    written. The command changes no file. If a run is damaged, the next `tailback run` moves the
    run's files to runs/.damaged and executes the run again. If a report is damaged, the next
    `tailback report` replaces the report. The exit status is 1 if any file is damaged.
    """
    from tailback.store import layout
    from tailback.store.verify import verify as check

    verification = check(folder if folder is not None else layout.DEFAULT)
    if as_json:
        terminal.out_json(verification.to_dict())
    else:
        _show(verification)
    return 0 if verification.whole else 1


def _show(verification: Verified) -> None:
    for kind, count in verification.counts.items():
        if not (count.whole or count.damaged or count.incomplete):
            continue
        words = [f"{count.whole} whole"]
        words += [f"{count.incomplete} incomplete"] if count.incomplete else []
        words += [f"{count.damaged} damaged"] if count.damaged else []
        terminal.out(f"{kind}: {', '.join(words)}")
    if verification.set_aside:
        terminal.out(f"runs/.damaged: {verification.set_aside} moved there before")
    for message in verification.damages:
        complaints.error(foreign.line(message))
