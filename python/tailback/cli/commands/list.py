"""`tailback list`: what there is to choose from."""

from __future__ import annotations

import click

from tailback import terminal
from tailback.cli.boundary import OK
from tailback.cli.options import with_option

LISTS = ("cc", "aqm", "traffic", "programs", "metrics", "experiments")


@click.command("list")
@click.argument("what", required=False, type=click.Choice(LISTS))
@click.option("--options", is_flag=True, help="Show the options of each entry too.")
@with_option
def list_(what: str | None, options: bool) -> int:
    """List what there is to choose from."""
    from tailback.cli.tables import listing

    for kind in (what,) if what else LISTS:
        if what is None:
            terminal.out(f"{kind}:")
        for line in listing.lines(kind, options=options):
            terminal.out(line if what else f"  {line}")
    return OK
