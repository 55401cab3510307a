"""Prints the table at the end of `tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from tailback.base import terminal
from tailback.base.progress import is_quiet
from tailback.cli.tables.layout import print_table, short_names
from tailback.tuning import page

if TYPE_CHECKING:
    from tailback.tuning.result import Tuned


def show(result: Tuned) -> None:
    heads, rows = page.rows(result)
    count = len(result.plan.vary)
    names = short_names(heads[1 : 1 + count], set(heads))
    table = Table(title=result.plan.defaults.title or None, title_justify="left", box=None)
    for i, head in enumerate([heads[0], *names, *heads[1 + count :]]):
        table.add_column(head, justify="left" if i <= count else "right", no_wrap=True)
    for row in rows:
        table.add_row(*("–" if cell is None else str(cell) for cell in row))
    print_table(table)
    for line in result.verdict():
        terminal.out(line)
    if not is_quiet():
        faults = sum(bool(candidate.measured.fault) for candidate in result.tried)
        lost = f", {faults} of which could not be measured" if faults else ""
        runs = len({run for candidate in result.tried for run in candidate.measured.run_ids})
        terminal.err(f"{len(result.tried)} candidates{lost}, {runs} runs in the search")
        terminal.err(
            f"report {result.folder / 'index.html'}; scenarios {result.folder}/point-*.toml"
        )
