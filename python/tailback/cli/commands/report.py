"""`tailback report`: writes the report of a sweep."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import sweep_ids
from tailback.cli.help import Command
from tailback.cli.options import quiet_option, report_options, with_option


@click.command(
    cls=Command,
    examples=(
        ("report", "write the report of the latest sweep"),
        ("report results --pdf", "also write the report as PDF"),
    ),
)
@click.argument(
    "folder",
    metavar="[DIR|SWEEP]",
    type=click.Path(path_type=Path),
    default=Path("latest"),
    shell_complete=sweep_ids,
)
@report_options
@with_option
@quiet_option
def report(folder: Path, pdf: bool) -> int:
    """Write the report of a sweep [default: the latest sweep].

    DIR is the folder of a sweep (results/sweeps/ID). DIR can also be a folder that `tailback run
    --out` wrote; then tailback writes the report of the latest sweep in this folder. SWEEP is the
    id of a sweep, or the beginning of its id.
    """
    from tailback.report import also_pdf
    from tailback.report.sweep import write_folder
    from tailback.store import archive, layout

    with also_pdf(pdf):
        where = folder if folder.is_dir() else archive.find(str(folder), layout.DEFAULT)
        terminal.out(write_folder(where))
    return OK
