"""Registers the commands of `tailback`. Each command has a module and one entry in this file.

The exit status is 0 if the command succeeded, and 1 if a run failed or an assertion did not hold.
The exit status is 2 for bad input, 3 if a `--fail-if` bound is exceeded, and 4 if more seeds are
needed to decide about a bound. The exit status is 130 after an interrupt. With `--json`, stdout has
only the JSON.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import NoReturn

import click

from tailback import studies
from tailback._native import engine_version
from tailback.cli import boundary

PURPOSES = {
    "Run": ("new", "check", "run", "lab", "tune"),
    "Understand": ("explain", "plot", "report", "export"),
    "Compare": ("compare", "baseline", "evaluate"),
    "Teach": ("grade",),
    "Stored results": ("results", "merge", "verify", "bundle"),
    "Engines and plugins": ("kernel", "build"),
    "Help": ("list", "completion"),
}
"""Commands grouped by purpose, in the order of the help. The module in `commands` with a command's
name defines the command. Studies add more commands."""

COMMANDS = tuple(name for names in PURPOSES.values() for name in names)


class Commands(click.Group):
    """The group of all commands. A command's module is loaded only when the command runs, so that
    tailback starts quickly.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click passes `ctx`)
        return [name for names in _purposes().values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in _purposes().items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._sentence(ctx, name)) for name in names])

    def _sentence(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(limit=200)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 (click passes `ctx`)
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            place = studies.commands().get(cmd_name)
            command = None if place is None else studies.load(place)
            assert command is None or isinstance(command, click.Command)
            return command
        module = importlib.import_module(f"tailback.cli.commands.{cmd_name}")
        # The function's name ends in an underscore if Python has a builtin or keyword of that name.
        found = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        assert isinstance(found, click.Command)
        return found


def _purposes() -> dict[str, list[str]]:
    purposes = {heading: list(names) for heading, names in PURPOSES.items()}
    if added := sorted(studies.commands()):
        purposes["Published experiments and validation"] = added
    return purposes


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(engine_version(), "-V", "--version", message="tailback %(version)s")
def cli() -> None:
    """Experiment with TCP congestion control and queue management at a bottleneck."""


def main() -> NoReturn:
    status = boundary.status_of(lambda: cli(prog_name="tailback", standalone_mode=False))
    if status == boundary.OK:
        # At exit, the interpreter would search all objects for reference cycles, which takes
        # milliseconds. After an error, the search for cycles is necessary, because the error may
        # refer to a store with temporary files.
        gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
