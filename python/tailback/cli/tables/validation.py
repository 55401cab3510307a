"""What `validate` prints."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from tailback.cli.tables.layout import new_console, print_table
from tailback.validation import Validation
from tailback.validation.verdicts import Verdict, worst

MOST = 12
"""Cells that are named."""


def show(made: Validation, pages: list[Path]) -> None:
    """The goals, the worst cells, where the page is."""
    console = new_console()
    engines = ", ".join(f"{name} {version}" for name, version in made.ran.versions.items())
    console.print(f"{len(made.cells)} cells on {engines}")
    console.print()
    print_table(_goals(made.verdicts))
    missing = worst(made.cells, len(made.cells))
    if missing:
        console.print()
        print_table(_worst(made))
        if len(missing) > MOST:
            console.print(f"{len(missing) - MOST} more; --json and the report have them")
    console.print("A miss inside noise (95 % interval over seeds of both engines) is not a miss.")
    for page in pages:
        console.print(f"report: {page}", soft_wrap=True)


def share(verdict: Verdict, value: float) -> str:
    """A share of cells, or an error, in percent."""
    return f"{100 * value:.2f} %" if "median" in verdict.goal else f"{100 * value:.1f} %"


def _goals(verdicts: list[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("goal")
    for title in ("cells", "value", "noise ignored", "holds"):
        table.add_column(title, justify="right", no_wrap=True)
    for verdict in verdicts:
        table.add_row(
            verdict.goal,
            str(verdict.cells),
            share(verdict, verdict.value),
            share(verdict, verdict.plain),
            Text("yes") if verdict.holds else Text("no", "bold"),
        )
    return table


def _worst(made: Validation) -> Table:
    from tailback.validation.page import missed_words

    table = Table(title="Worst cells", title_justify="left", box=None, pad_edge=False)
    table.add_column("cell", no_wrap=True)
    table.add_column("simulator against kernel")
    for cell in worst(made.cells, MOST):
        table.add_row(cell.id, "; ".join(missed_words(cell)))
    return table
