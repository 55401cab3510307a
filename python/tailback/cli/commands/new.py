"""`tailback new`: a scenario to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import example_names
from tailback.cli.help import Command


@click.command(
    cls=Command,
    examples=(
        ("new > first.toml", "write the first example to a file"),
        ("new --crate cc my-cc", "start a plugin with a congestion control"),
    ),
)
@click.argument("name", metavar="[NAME]", default="first", shell_complete=example_names)
@click.option("--list", "listed", is_flag=True, help="List the scenarios and their titles.")
@click.option(
    "--crate",
    "kind",
    type=click.Choice(("cc", "queue", "traffic")),
    help="Start a plugin for an algorithm of your own, in the folder NAME.",
)
def new(name: str, listed: bool, kind: str | None) -> int:
    """Print a scenario that comes with tailback [default: first], or start a plugin."""
    if kind is not None:
        return _begin(kind, name)
    from tailback import examples

    if listed:
        width = max(map(len, examples.names()))
        for one in examples.names():
            terminal.out(f"{one:{width}}  {examples.title(one)}")
    else:
        terminal.out(examples.text(name), end="")
    return OK


def _begin(kind: str, name: str) -> int:
    from tailback.plugins import begin

    folder = Path(name)
    for path in begin.write(kind, folder):
        terminal.out(path)
    terminal.err(
        f"its tests: tailback build --with {folder} --test; "
        f"a run: tailback run {folder / 'scenario.toml'}"
    )
    return OK
