"""`tailback explain`: explains the causes of a run's results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import foreign, terminal
from tailback.base.names import unknown
from tailback.cli.boundary import OK
from tailback.cli.completing import run_ids
from tailback.cli.help import Command
from tailback.cli.options import json_option
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.store.layout import PointRef

MOST = 24
"""The largest number of headings to print. The command prints only the number of further
headings."""


@click.command(
    cls=Command,
    examples=(
        ("explain", "explain the latest run"),
        ("explain latest --flow cubic", "explain one flow and its queues"),
        ("explain --where path.rtt=80ms", "explain one sweep point of the latest sweep"),
    ),
)
@click.argument("run", metavar="[RUN]", default="latest", shell_complete=run_ids)
@click.option(
    "--flow",
    "flows",
    metavar="NAME",
    multiple=True,
    help="Explain only this flow or source of traffic, and the queues in which its packets waited "
    "[default: all flows, sources and queues]. Can be repeated.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help=(
        "In the latest sweep, explain the run with this value of a swept key (path.rtt=80ms) or "
        "with this seed (seed=2) [default: the first run of the sweep]. Can be repeated."
    ),
)
@json_option
def explain(run: str, flows: tuple[str, ...], where: tuple[str, ...], as_json: bool) -> int:
    """Explain a stored run: what limited the throughput of each flow, and what filled each queue.

    RUN is the folder of a run (results/runs/ID), the id of a run, the beginning of an id, or
    `latest` [default]. `latest` is the first run of the latest sweep, or the run that --where
    selects.

    For each flow, the command prints what the flow waited for, and what share of the time it spent
    waiting for each cause. The command also prints when, why and by how much the flow's congestion
    window was reduced. For each queue, the command prints whether the queue never drained or held
    only bursts. The command also prints what share of the waiting bytes belonged to each flow, and
    the queue's state over time. The command counts the queue's drops and marks for each cause. For
    two flows at one queue, the command prints how each flow responds to the queue's drops and
    marks. With --json, the command prints every number as a field, and lists every reduction of a
    window separately. The command does not explain programs (the [[programs]] of a scenario),
    because tailback cannot record what happens inside a program.

    docs/how-to/explain.md shows examples whose causes are known.
    """
    from tailback.explain import explain as find
    from tailback.store.run_folder import StoredRun

    folder, choice = _chosen(run, where)
    explanation = find(StoredRun(folder), flows)
    if as_json:
        terminal.out_json(explanation.to_dict())
        return OK
    parts = explanation.parts()
    shown = parts if len(parts) <= MOST else parts[:MOST]
    for number, part in enumerate(shown):
        if number:
            terminal.out()
        terminal.out(part.title)
        for sentence in part.sentences:
            terminal.out(f"  {sentence}")
    if len(parts) > MOST:
        terminal.out(
            f"\nand {len(parts) - MOST} more; use --flow NAME to show one, or --json to print all"
        )
    for note in (*explanation.notes, *choice):
        terminal.err(f"note: {note}")
    return OK


def _chosen(run: str, where: tuple[str, ...]) -> tuple[Path, list[str]]:
    """Return the folder of the run to explain, and a note for the user if several runs matched."""
    from tailback.store import layout

    points = layout.latest_points(layout.DEFAULT) if run == layout.LATEST else []
    if where and not points:
        raise InputError(
            "--where chooses a run of the latest sweep, and RUN also names a run; "
            "remove one of them"
        )
    if len(points) < 2 and not where:
        return layout.find_run(run, layout.DEFAULT), []
    kept = points
    for text in where:
        kept = [point for point in kept if _is_at(point, text, points)]
    if not kept:
        raise InputError(
            f"--where {' --where '.join(map(foreign.line, where))}: no run of the latest sweep has "
            f"these values together; try one of {len(points)}, such as {layout.named(points[0])}"
        )
    first = kept[0]
    keys = ", ".join(dict.fromkeys([*first.labels, "seed"]))
    note = f"this is run {layout.named(first)}, one of {len(points)} of the latest sweep"
    return (
        layout.run_path(layout.DEFAULT, first.run_id),
        [f"{note}; choose another by its id, or with --where KEY=VALUE (KEY: {keys})"],
    )


def _is_at(point: PointRef, text: str, points: list[PointRef]) -> bool:
    """Return whether a sweep point matches `--where KEY=VALUE`. Raise `InputError` for a key or
    value that no sweep point has."""
    word, _, value = text.partition("=")
    keys = list(dict.fromkeys([*points[0].labels, "seed"]))
    matches = [key for key in keys if key == word or key.endswith(f".{word}")]
    if len(matches) != 1:
        raise InputError(f"--where {foreign.line(text)}: {unknown('key', word, keys)}")
    texts = list(dict.fromkeys(_value(point, matches[0]) for point in points))
    if value not in texts:
        raise InputError(f"--where {foreign.line(text)}: {unknown('value', value, texts)}")
    return _value(point, matches[0]) == value


def _value(point: PointRef, key: str) -> str:
    return str(point.seed) if key == "seed" else point.labels[key]
