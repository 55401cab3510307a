"""`tailback run`: a scenario or a sweep."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import FAILED, OK
from tailback.cli.options import (
    cores_option,
    engine_option,
    jobs_option,
    json_option,
    out_option,
    quiet_option,
    read_only_option,
    seeds_option,
    set_option,
    walls_options,
    with_option,
)
from tailback.cli.spreading import spread_options
from tailback.errors import RunsFailed


@click.command()
@click.argument("file")
@engine_option
@with_option
@set_option
@seeds_option
@jobs_option
@cores_option
@out_option
@spread_options
@read_only_option
@walls_options
@quiet_option
@json_option
def run(
    file: str,
    engine: str,
    overrides: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    cores: int,
    out: Path | None,
    read_only: bool,
    as_json: bool,
) -> int:
    """Run a scenario or a sweep; what is stored already is not run again."""
    from tailback.running import engines, execution, scenarios
    from tailback.store import layout

    runner = engines.get(engine)
    job = scenarios.load(Path(file), scenarios.overrides(overrides), seeds, runner)
    failures: list[str] = []
    root = out if out is not None else layout.DEFAULT
    wanted = {point.run_id for point in job.points}
    reused = sum(os.path.lexists(layout.run_path(root, run_id)) for run_id in wanted)
    try:
        results = execution.run_loaded(
            [job], [runner], jobs=jobs, out=out, read_only=read_only, cores=cores
        )[0]
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
        terminal.complain(message)
    for message in broken:
        terminal.complain(f"assertion does not hold: {message}")
    return FAILED if failures or broken else OK
