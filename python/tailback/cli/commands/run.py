"""`tailback run`: runs a scenario or a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import terminal
from tailback.cli import complaints
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import json_option, run_options, set_option
from tailback.errors import RunsFailed

if TYPE_CHECKING:
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        ("run first.toml --seeds 5", "run each point with five seeds"),
        (
            "run first.toml --set bottleneck.rate=10Mbit --engine kernel",
            "run the scenario at another rate on the Linux kernel",
        ),
    ),
)
@click.argument("file")
@set_option
@click.option(
    "--assert",
    "asserts",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with [[assert]] tables to add to the scenario. Each table sets a bound for a metric "
    "of every run.",
)
@click.option(
    "--without",
    "absent",
    multiple=True,
    metavar="NAME",
    help=(
        "Also run each sweep point without this flow or source of traffic, with the same seeds. "
        "The output then shows the harm that NAME does, which is how much worse the results of the "
        "other flows are with NAME. Can be repeated."
    ),
)
@run_options(read_only=True)
@json_option
def run(
    file: str,
    overrides: tuple[str, ...],
    asserts: Path | None,
    absent: tuple[str, ...],
    options: RunOptions,
    as_json: bool,
) -> int:
    """Run a scenario or a sweep.

    FILE is a scenario (TOML). If FILE contains a table [sweep], tailback runs every combination of
    the values in that table. Each combination is called a sweep point. If the results of a run are
    already stored, tailback uses the stored results and does not execute the run again.
    """
    from tailback.running import engines, execution, scenarios
    from tailback.store import layout

    runner = engines.get(options.engine)
    values = scenarios.overrides(overrides)
    job = scenarios.load(Path(file), values, options.seeds, runner, asserts=asserts)
    complaints.note_replaced_sweeps(job)
    failures: list[str] = []
    wanted = {point.run_id for point in job.points}
    reused = sum(1 for _ in layout.stored(options.out, wanted))
    try:
        results = execution.run_loaded([job], [runner], options, absent)[0]
    except RunsFailed as failed:
        results, failures = failed.results[0], failed.failures
    if as_json:
        terminal.out_json(results.to_dict())
    elif results.points:
        from tailback.cli.tables import results as table

        table.show(results)
        table.show_where(results, reused, len(wanted))
    broken = results.failed_assertions()
    for message in failures:
        complaints.error(message)
    for message in broken:
        complaints.error(f"assertion does not hold: {message}")
    return FAILED if failures or broken else OK
