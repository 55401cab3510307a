"""`tailback check`: is a scenario valid?"""

from __future__ import annotations

from pathlib import Path

import click

from tailback import terminal
from tailback.cli.boundary import OK
from tailback.cli.options import engine_option, seeds_option, set_option, with_option


@click.command()
@click.argument("file")
@engine_option
@with_option
@set_option
@seeds_option
def check(file: str, engine: str, overrides: tuple[str, ...], seeds: int | None) -> int:
    """Validate a scenario; nothing runs."""
    from tailback import engines, running

    scenario = running.load(Path(file), running.overrides(overrides), seeds, engines.get(engine))
    runs = len(scenario.points)
    terminal.out(f"{file}: ok, {runs} run{'s' if runs != 1 else ''}")
    return OK
