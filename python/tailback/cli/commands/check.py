"""`tailback check`: validates a scenario."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli import complaints
from tailback.cli.boundary import OK
from tailback.cli.help import Command
from tailback.cli.options import engine_option, seeds_option, set_option, with_option


@click.command(
    cls=Command,
    examples=(
        ("check first.toml", "validate a scenario and estimate its cost"),
        (
            "check first.toml --engine kernel",
            "check whether the kernel engine supports the scenario",
        ),
    ),
)
@click.argument("file")
@engine_option
@with_option
@set_option
@seeds_option
def check(file: str, engine: str, overrides: tuple[str, ...], seeds: int | None) -> int:
    """Validate a scenario and estimate the packets, CPU time and memory of its runs, without
    executing them."""
    from tailback.running import absence, costs, engines, scenarios

    runner = engines.get(engine)
    scenario = scenarios.load(Path(file), scenarios.overrides(overrides), seeds, runner)
    complaints.note_replaced_sweeps(scenario)
    absent = [absence.without(scenario, runner, name) for name in absence.competitors(scenario)]
    cost = costs.total(
        (point.packets, runner, runner.memory(point))
        for one in (scenario, *absent)
        for point in one.points
    )
    terminal.out(f"{file}: ok, {cost.text()}")
    costs.warn_of_hours(cost)
    return OK
