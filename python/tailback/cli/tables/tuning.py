"""The table at the end of `tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from tailback.base import terminal
from tailback.base.progress import is_quiet
from tailback.cli.tables.layout import print_table, short_names
from tailback.tuning import page

if TYPE_CHECKING:
    from tailback.tuning.result import Tuned


def show(made: Tuned) -> None:
    """The front, and how far it is from the defaults."""
    heads, rows = page.rows(made)
    count = len(made.plan.vary)
    names = short_names(heads[1 : 1 + count], set(heads))
    table = Table(title=made.plan.defaults.title or None, title_justify="left", box=None)
    for i, head in enumerate([heads[0], *names, *heads[1 + count :]]):
        table.add_column(head, justify="left" if i <= count else "right", no_wrap=True)
    for row in rows:
        table.add_row(*("–" if cell is None else str(cell) for cell in row))
    print_table(table)
    for line in made.verdict():
        terminal.out(line)
    if not is_quiet():
        faults = sum(bool(one.measured.fault) for one in made.tried)
        lost = f", {faults} of which could not be measured" if faults else ""
        runs = len({run for one in made.tried for run in one.measured.run_ids})
        terminal.err(f"{len(made.tried)} candidates{lost}, {runs} runs in the search")
        terminal.err(f"report {made.folder / 'index.html'}; scenarios {made.folder}/point-*.toml")
