"""The commands of `tailback`: one module each, one line each.

Exit status: 0 done, 1 a run failed or an assertion did not hold, 2 bad input, 3 a `--fail-if`
bound is exceeded, 4 the seeds cannot decide whether one is, 130 interrupted. With `--json` nothing
but the JSON goes to stdout.
"""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

from tailback import studies
from tailback._native import engine_version
from tailback.cli import boundary

COMMANDS = (
    *("new", "run", "check", "tune", "compare", "baseline", "explain", "plot", "report"),
    *("results", "merge", "export", "verify", "kernel", "build"),
    *("list", "completion"),
)
"""Each is what its module in `commands` has of that name; studies add more."""


class Commands(click.Group):
    """The commands, each of which is loaded when it is asked for: a start is short."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (as click calls it)
        """Their names, in the order of the help."""
        return sorted((*COMMANDS, *studies.commands()))

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 (as click calls it)
        cmd_name: str,
    ) -> click.Command | None:
        """The command of a name, if there is one."""
        if cmd_name not in COMMANDS:
            place = studies.commands().get(cmd_name)
            command = None if place is None else studies.load(place)
            assert command is None or isinstance(command, click.Command)
            return command
        module = importlib.import_module(f"tailback.cli.commands.{cmd_name}")
        # Python has a word for it where it ends in an underscore.
        found = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        assert isinstance(found, click.Command)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(engine_version(), "-V", "--version", message="tailback %(version)s")
def cli() -> None:
    """A laboratory for what happens at a bottleneck."""


def main() -> NoReturn:
    """Entry point of the command."""
    sys.exit(boundary.status_of(lambda: cli(standalone_mode=False)))


if __name__ == "__main__":
    main()
