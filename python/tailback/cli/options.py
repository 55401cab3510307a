"""Options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tailback.cli.completing import engine_names


def _unconfine(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """For whatever this command runs, in whichever thread."""
    if wanted:
        from tailback.kernel import confine

        os.environ[confine.VARIABLE] = "1"


unconfined_option = click.option(
    "--unconfined",
    is_flag=True,
    expose_value=False,
    callback=_unconfine,
    help="Run kernel guests even where nothing keeps them from this machine's files.",
)


def _compile_in(
    _context: click.Context, _parameter: click.Parameter, folders: tuple[str, ...]
) -> None:
    """For whatever this command loads, however deep."""
    if folders:
        from tailback.crates import asked

        asked.add_to_environment(folders)


with_option = click.option(
    "--with",
    "crates",
    multiple=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    expose_value=False,
    callback=_compile_in,
    help="Have the engine compiled with this crate of your own (tailback new --crate). Can be "
    "repeated.",
)
engine_option = click.option(
    "--engine",
    default="sim",
    show_default=True,
    shell_complete=engine_names,
    help="What runs it: sim, kernel or kernel-realtime.",
)
seeds_option = click.option(
    "--seeds", type=click.IntRange(min=1), metavar="N", help="Number of seeds at every point."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at once [default: all cores]."
)
out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where results are kept [default: results].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, nothing else.")
read_only_option = click.option(
    "--read-only", is_flag=True, help="Show what is stored; run and write nothing."
)
pdf_option = click.option("--pdf", is_flag=True, help="Write the report as PDF too.")
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace a value by its path, e.g. bottleneck.rate=10Mbit. Can be repeated.",
)
