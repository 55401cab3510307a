"""`tailback list`: lists the available algorithms, traffic, programs and metrics."""

from __future__ import annotations

import click

from tailback import studies
from tailback.base import names, terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import LISTS, list_words
from tailback.cli.help import Command
from tailback.cli.options import with_option
from tailback.errors import InputError


@click.command(
    "list",
    cls=Command,
    examples=(
        ("list cc --options", "list congestion controls with their options"),
        ("list metrics", "list the metrics and their units"),
    ),
)
@click.argument(
    "what", required=False, metavar=f"[{'|'.join(LISTS)}|...]", shell_complete=list_words
)
@click.option("--options", is_flag=True, help="Also show the options of each algorithm.")
@with_option
def list_(what: str | None, options: bool) -> int:
    """List the available algorithms, kinds of traffic, programs and metrics.

    Installed packages can add lists, such as `tailback list experiments`.
    """
    from tailback.cli.tables import listing

    known = (*LISTS, *studies.lists())
    if what is not None and what not in known:
        raise InputError(names.unknown("list", what, known))
    for number, kind in enumerate((what,) if what else known):
        if what is None:
            # An empty line separates the lists, for example the list of traffic from the list under
            # `aqm:`.
            terminal.out(f"\n{kind}:" if number else f"{kind}:")
        for line in listing.lines(kind, options=options):
            terminal.out(line if what else f"  {line}")
    return OK
