"""Options that several commands share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tailback import progress
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


def _quieten(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        os.environ[progress.VARIABLE] = "1"


quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_quieten,
    help="Print results, warnings and errors, and nothing about progress.",
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


@dataclass(frozen=True)
class Auto:
    """As many seeds as it takes, up to so many."""

    most: int | None = None


class _Seeds(click.ParamType[Any]):
    """A number of seeds, `auto` or `auto:MAX`."""

    name = "seeds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Auto:
        if isinstance(value, int | Auto):
            return value
        text, auto = str(value), False
        if text == "auto":
            return Auto()
        if text.startswith("auto:"):
            text, auto = text.removeprefix("auto:"), True
        if not (text.isascii() and text.isdigit()) or int(text[:18]) < (2 if auto else 1):
            self.fail(
                f"{value}: expected a number from 1, auto, or auto:MAX with MAX from 2", param, ctx
            )
        return Auto(int(text)) if auto else int(text)


auto_seeds_option = click.option(
    "--seeds",
    type=_Seeds(),
    metavar="N|auto[:MAX]",
    help="Number of seeds at every point; auto: 10, and twice as many again until --fail-if can "
    "tell, up to MAX [default of MAX: 80].",
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
