"""`tailback explain`: the causes of a run's results."""

from __future__ import annotations

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import run_ids
from tailback.cli.help import Command
from tailback.cli.options import json_option

MOST = 24
"""Headings that are printed."""


@click.command(
    cls=Command,
    examples=(
        ("explain", "explain the latest run"),
        ("explain latest --flow cubic", "explain one flow and its queues"),
    ),
)
@click.argument("run", metavar="[RUN]", default="latest", shell_complete=run_ids)
@click.option(
    "--flow",
    "flows",
    metavar="NAME",
    multiple=True,
    help="Explain only this flow or source, and its queues [default: all]. Can be repeated.",
)
@json_option
def explain(run: str, flows: tuple[str, ...], as_json: bool) -> int:
    """Explain a stored run: what held each flow back, and what filled each queue.

    RUN is the folder of a run (results/runs/ID), its id, the beginning of its id, or `latest`: the
    first run of the latest sweep [default: latest].

    Of each flow: what it waited for, as shares of its time; every reduction of
    its window, by cause, with times and sizes. Of each queue: whether it never
    drained or came in bursts, whose bytes waited in it, its drops and marks by cause,
    and its state over time. Of two flows: how each responds to the queue's drops and marks. Every
    number of a sentence is a field of --json, which lists the reductions one by one. Programs are
    not explained, since nothing is recorded inside them.

    docs/how-to/explain.md has examples with known causes.
    """
    from tailback.explain import explain as find
    from tailback.store import layout
    from tailback.store.run_folder import StoredRun

    explanation = find(StoredRun(layout.find_run(run, layout.DEFAULT)), flows)
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
        terminal.out(f"\nand {len(parts) - MOST} more; --flow NAME shows one, --json has all")
    for note in explanation.notes:
        terminal.err(f"note: {note}")
    return OK
