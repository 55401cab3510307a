"""`tailback merge`: merges several stores into one."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli import complaints
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import json_option, quiet_option


@click.command(
    cls=Command,
    examples=(
        ("merge part-1 part-2 --into results", "merge the stores of two shards"),
        ("merge part-* --into results --json", "print what was merged as JSON"),
    ),
)
@click.argument("stores", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "--into",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="STORE",
    help="Folder of results to write to. The command creates the folder if it does not exist.",
)
@quiet_option
@json_option
def merge(stores: tuple[str, ...], into: Path, as_json: bool) -> int:
    """Merge the runs and sweeps of several folders of results (stores) into one.

    The command checks the hashes of every run. Runs and sweeps that the target folder already
    contains stay unchanged. The command does not copy reports and comparisons. To write a report
    again from the merged runs, repeat the command that wrote the report.
    """
    from tailback.running.spread.merge import merge as put_together

    result = put_together(stores, into)
    if as_json:
        terminal.out_json(result.to_dict())
    else:
        terminal.out(
            f"{into}: added {_many(result.runs, 'run')} and {_many(result.sweeps, 'sweep')}; "
            f"{_many(result.runs_there, 'run')} and {_many(result.sweeps_there, 'sweep')} were "
            f"there already"
        )
    for damage in result.damages:
        complaints.error(f"not added: {damage}")
    return FAILED if result.damages else OK


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
