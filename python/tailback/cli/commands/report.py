"""`tailback report`: the page of a sweep."""

from __future__ import annotations

from pathlib import Path

import click

from tailback import terminal
from tailback.cli.boundary import OK
from tailback.cli.options import pdf_option
from tailback.errors import InputError


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@pdf_option
def report(folder: Path, pdf: bool) -> int:
    """Write the report of a sweep.

    DIR is a folder of results, of which the latest sweep is taken, or the
    folder of a sweep, results/sweeps/ID.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    from tailback.report import also_pdf
    from tailback.report.sweep import write_folder

    with also_pdf(pdf):
        terminal.out(write_folder(folder))
    return OK
