"""Prints the result of `validate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tailback.cli.tables.layout import new_console, print_table
from tailback_studies.reproduction.judges import Judge
from tailback_studies.validation import Validation

MOST = 12
"""Largest number of scenarios that the table lists by name."""


def show(validation: Validation, pages: list[Path], took_s: float) -> None:
    """Print the goals, and the largest errors that exceed the limit of a goal.

    Then print the path of the page, and how long the command took.
    """
    console = new_console()
    engines = ", ".join(f"{name} {version}" for name, version in validation.ran.versions.items())
    console.print(f"{len(validation.cells)} of {validation.ran.cells} scenarios on {engines}")
    console.print()
    print_table(_goals(validation.judges))
    if validation.misses:
        console.print()
        print_table(_worst(validation))
        if len(validation.misses) > MOST:
            console.print(f"{len(validation.misses) - MOST} more; --json and the report have them")
    for page in pages:
        console.print(f"report: {page}", soft_wrap=True)
    each = ", ".join(f"{name} {validation.cpu_s(name):.0f} s" for name in validation.ran.versions)
    console.print(f"time: {took_s:.0f} s; processor time of all runs: {each}")


def _goals(judges: Sequence[Judge]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("goal")
    for title in ("asked for", "scenarios", "within", "or noise", "holds"):
        table.add_column(title, justify="right", no_wrap=True)
    for of in judges:
        middle = "" if of.median is None else f"{100 * of.median:.2f} %"
        table.add_row(
            of.title,
            of.limit,
            str(of.cells),
            middle if of.within is None else str(of.within),
            "" if of.within_or_chance is None else str(of.within_or_chance),
            Text("yes") if of.holds else Text("no", "bold"),
        )
    return table


def _worst(validation: Validation) -> Table:
    from tailback_studies.validation import tables

    table = Table(title="Furthest beyond a limit", title_justify="left", box=None, pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    for title in ("what", "simulator", "kernel", "error", "cause"):
        table.add_column(title)
    for miss, cause in list(zip(validation.misses, validation.causes, strict=True))[:MOST]:
        sim, kernel = (tables.number(miss.measure, engine) for engine in ("sim", "kernel"))
        error = tables.signed(miss.limit.error(miss.measure))
        table.add_row(miss.cell.id, miss.limit.name, sim, kernel, error, cause.text)
    return table
