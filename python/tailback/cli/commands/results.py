"""`tailback results`: what is stored, to be looked at and tidied."""

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
    """List, show, compare and delete what is stored.

    A sweep is named by its folder, by its id or the beginning of it, or as
    `latest`; a run by its folder or id, or as `latest` if its sweep has no other.
    """


@results.command("list")
@out_option
@json_option
def list_(out: Path | None, as_json: bool) -> int:
    """The sweeps that are stored, the latest first."""
    from tailback.store import archive, layout

    sweeps = archive.kept(out or layout.DEFAULT)
    if as_json:
        terminal.out_json([sweep.to_dict() for sweep in sweeps])
    else:
        from tailback.cli.tables import archive as table

        table.show_list(sweeps)
    return OK


@results.command("show")
@click.argument("name", metavar="SWEEP", default="latest", shell_complete=sweep_ids)
@out_option
@with_option
@json_option
def show(name: str, out: Path | None, as_json: bool) -> int:
    """The table of a sweep, as at the end of `run` [default: latest]."""
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
        raise InputError(f"{sweep.id}: none of its runs is stored")
    return OK


@results.command("diff")
@click.argument("runs", metavar="RUN RUN", nargs=2, shell_complete=run_ids)
@out_option
@json_option
def diff(runs: tuple[str, str], out: Path | None, as_json: bool) -> int:
    """Where two runs differ: in what was run, and in every number that came out.

    `tailback compare` says of sweeps which differences are more than noise.
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
    examples=(("results prune --older-than 30 --dry-run", "show what pruning would delete"),),
)
@click.argument("names", metavar="[SWEEP]...", nargs=-1, shell_complete=sweep_ids)
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Older sweeps too."
)
@click.option("--other-versions", is_flag=True, help="Sweeps of other versions of an engine too.")
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
    """Delete sweeps, and runs that no sweep needs any more.

    Without a SWEEP and options only runs go that no sweep names. A run that a
    sweep that stays needs too is kept.
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
