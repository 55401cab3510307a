"""`tailback results`: lists, shows and deletes stored results."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import run_ids, sweep_ids
from tailback.cli.help import Group
from tailback.cli.options import json_option, out_option, with_option
from tailback.errors import InputError


@click.group(cls=Group)
def results() -> None:
    """List, show, compare and delete stored sweeps and runs.

    Name a sweep by its folder, its id, the beginning of its id, or `latest`. Name a run by its
    folder, its id, the beginning of its id, or `latest`. As the name of a run, `latest` works only
    if the latest sweep has a single run.
    """


@results.command(
    "list",
    examples=(
        ("results list", "list the sweeps in the folder results"),
        ("results list --json", "print the list as JSON"),
    ),
)
@out_option
@json_option
def list_(out: Path | None, as_json: bool) -> int:
    """List the stored sweeps, the latest first."""
    from tailback.store import archive, layout

    sweeps = archive.kept(out or layout.DEFAULT)
    if as_json:
        terminal.out_json([sweep.to_dict() for sweep in sweeps])
    else:
        from tailback.cli.tables import archive as table

        table.show_list(sweeps)
    return OK


@results.command(
    "show",
    examples=(
        ("results show", "print the table of the latest sweep"),
        ("results show latest --json", "print all numbers of the latest sweep as JSON"),
    ),
)
@click.argument("name", metavar="[SWEEP]", default="latest", shell_complete=sweep_ids)
@out_option
@with_option
@json_option
def show(name: str, out: Path | None, as_json: bool) -> int:
    """Print the table of a sweep again, as `run` printed it [default: the latest sweep]."""
    from tailback.cli.tables import results as table
    from tailback.store import archive, layout
    from tailback.store.results import open_results

    sweep = open_results(archive.find(name, out or layout.DEFAULT))
    sweep.require_whole()
    if as_json:
        terminal.out_json(sweep.to_dict())
    elif sweep.points:
        table.show(sweep)
    else:
        raise InputError(f"{sweep.id}: none of its runs is stored; run its scenario again")
    return OK


@results.command(
    "diff",
    examples=(
        ("results diff 3cf5 efbc", "compare two runs by the beginnings of their ids"),
        ("results diff results/runs/3cf5 other/runs/efbc", "compare runs of two folders"),
    ),
)
@click.argument("runs", metavar="RUN RUN", nargs=2, shell_complete=run_ids)
@out_option
@json_option
def diff(runs: tuple[str, str], out: Path | None, as_json: bool) -> int:
    """Show in which settings (scenario, seed and engine) and in which results two runs differ.

    `tailback compare` shows which differences between sweeps are more than noise.
    """
    from tailback.store import archive, layout
    from tailback.store.run_folder import StoredRun

    first, other = (StoredRun(layout.find_run(name, out or layout.DEFAULT)) for name in runs)
    set_up = ("engine", "engine_version", "seed", "canonical")
    sides = [{key: run.manifest.get(key) for key in set_up} for run in (first, other)]
    differences = {
        "set_up": list(archive.differences(*sides)),
        "results": [
            row
            for row in archive.differences(first.summary, other.summary)
            if row[0] not in ("run_id", "seed")
        ],
    }
    if as_json:
        keys = ("path", "first", "second")
        document = {
            k: [dict(zip(keys, row, strict=True)) for row in v] for k, v in differences.items()
        }
        terminal.out_json(document)
    else:
        from tailback.cli.tables import archive as table

        table.show_differences(differences["set_up"], differences["results"])
    return OK


@results.command(
    "prune",
    examples=(
        ("results prune --older-than 30 --dry-run", "show what pruning would delete"),
        (
            "results prune --other-versions",
            "delete sweeps that other versions of the engine have made",
        ),
    ),
)
@click.argument("names", metavar="[SWEEP]...", nargs=-1, shell_complete=sweep_ids)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Also delete sweeps that are older than this number of days.",
)
@click.option(
    "--other-versions",
    is_flag=True,
    help="Also delete sweeps that other versions of the engine have made.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@out_option
@json_option
def prune(
    names: tuple[str, ...],
    days: float | None,
    other_versions: bool,
    dry_run: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Delete sweeps, and delete runs that belong to no sweep.

    Without SWEEP and options, the command deletes only runs that belong to no sweep. The command
    never deletes a run that a remaining sweep uses.
    """
    from tailback.base.numbers import bytes_text
    from tailback.running import engines
    from tailback.store import archive, layout

    root = out or layout.DEFAULT
    versions = engines.versions() if other_versions else None
    plan = archive.plan(root, names, older_days=days, versions=versions)
    if not dry_run:
        archive.remove(plan)
    if as_json:
        terminal.out_json(
            {
                "sweeps": [sweep.index.id for sweep in plan.sweeps],
                "runs": plan.runs,
                "bytes": plan.bytes,
                "removed": not dry_run,
            }
        )
        return OK
    for sweep in plan.sweeps:
        terminal.out(f"{sweep.index.id}  {sweep.index.title}")
    word = "would go" if dry_run else "gone"
    terminal.out(
        f"{len(plan.sweeps)} sweeps, {len(plan.runs)} runs, {bytes_text(plan.bytes)} {word}"
    )
    return OK
