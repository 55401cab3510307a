"""`tailback new`: a scenario to begin with."""

from __future__ import annotations

import click

from tailback import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import example_names


@click.command()
@click.argument("name", default="first", shell_complete=example_names)
@click.option("--list", "listed", is_flag=True, help="The scenarios there are, with their titles.")
def new(name: str, listed: bool) -> int:
    """Print a scenario that comes with tailback [default: first].

    tailback new codel-dctcp > mine.toml
    """
    from tailback import examples

    if listed:
        width = max(map(len, examples.names()))
        for one in examples.names():
            terminal.out(f"{one:{width}}  {examples.title(one)}")
    else:
        terminal.out(examples.text(name), end="")
    return OK
