"""The commands of `tailback`: one module each, one line each.

Exit status: 0 done, 1 a run failed or an assertion did not hold, 2 bad input, 3 a `--fail-if`
bound is exceeded, 4 it cannot be told whether one is, 130 interrupted. With `--json` nothing
but the JSON goes to stdout.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from tailback._native import engine_version
from tailback.cli import boundary
from tailback.cli.commands.baseline import baseline
from tailback.cli.commands.build import build
from tailback.cli.commands.check import check
from tailback.cli.commands.compare import compare
from tailback.cli.commands.completion import completion
from tailback.cli.commands.explain import explain
from tailback.cli.commands.export import export
from tailback.cli.commands.kernel import kernel
from tailback.cli.commands.list import list_
from tailback.cli.commands.merge import merge
from tailback.cli.commands.new import new
from tailback.cli.commands.plot import plot
from tailback.cli.commands.report import report
from tailback.cli.commands.reproduce import reproduce
from tailback.cli.commands.results import results
from tailback.cli.commands.run import run
from tailback.cli.commands.tune import tune
from tailback.cli.commands.validate import validate
from tailback.cli.commands.verify import verify

COMMANDS = (
    *(new, run, check, tune, compare, baseline, explain, plot, report, results, merge, export),
    *(verify, reproduce, validate, kernel, build, list_, completion),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(engine_version(), "-V", "--version", message="tailback %(version)s")
def cli() -> None:
    """A laboratory for what happens at a bottleneck."""


for command in COMMANDS:
    cli.add_command(command)


def main() -> NoReturn:
    """Entry point of the command."""
    sys.exit(boundary.status_of(lambda: cli(standalone_mode=False)))


if __name__ == "__main__":
    main()
