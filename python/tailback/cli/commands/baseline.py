"""`tailback baseline`: stores the results of a scenario for later comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import terminal
from tailback.cli import complaints
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import run_options, set_option
from tailback.errors import InputError, RunsFailed

if TYPE_CHECKING:
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        ("baseline first.toml main.tailback.json", "write the results of a scenario to a file"),
        (
            "baseline first.toml main.tailback.json --metric delay_p99_ms --force",
            "replace the file with a new one that has only one metric",
        ),
    ),
)
@click.argument("file")
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path), metavar="TARGET")
@click.option(
    "--metric",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Write only this metric, e.g. link.drops for drops at links [default: throughput, delay "
    "and other common metrics]. `tailback list metrics` lists all metrics. Can be repeated.",
)
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
@set_option
@run_options(
    seeds_help="Number of seeds for each sweep point; each seed is one run [default: the number "
    "that the scenario sets, or 10].",
    read_only=True,
)
def baseline(
    file: str,
    target: Path,
    chosen: tuple[str, ...],
    force: bool,
    overrides: tuple[str, ...],
    options: RunOptions,
) -> int:
    """Write the results of a scenario to a small file, for later comparisons.

    The name of TARGET must end in .tailback.json. The file contains the values of every metric for
    every seed, and the version of the engine. Later, `tailback compare TARGET FILE --fail-if
    delay_p99_ms:+10%` tests whether the 99th percentile of the delay has grown by more than 10 %.
    Each sweep point runs with 10 seeds, unless FILE or --seeds sets another number.
    """
    from tailback.comparison import baseline as kept
    from tailback.comparison.quantities import select
    from tailback.comparison.run import load_with_seeds
    from tailback.metrics.base import refuse_of_two

    if not kept.is_named_so(target):
        raise InputError(f"{target}: expected a name that ends in {kept.SUFFIX}")
    if target.exists() and not force:
        raise InputError(f"{target}: already exists; use --force to replace it")
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}; name one that exists")
    wanted = select(chosen)
    for metric in wanted:
        refuse_of_two(metric, "--metric")
    from tailback.running import engines, execution, scenarios

    runner = engines.get(options.engine)
    values = scenarios.overrides(overrides)
    scenario = load_with_seeds(Path(file), values, options.seeds, runner)
    try:
        results = execution.run_loaded([scenario], [runner], options)[0]
    except RunsFailed as failed:
        for message in failed.failures:
            complaints.error(message)
        complaints.error(f"{target} is not written")
        return FAILED
    cells = kept.write(results, wanted, target)
    terminal.out(
        f"{target}: {cells} values, {len(results)} runs, engine {results.engine} {results.version}"
    )
    return OK
