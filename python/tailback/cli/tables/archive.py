"""Prints the tables of `results list` and `results diff`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from tailback.base import terminal
from tailback.base.foreign import line
from tailback.base.numbers import bytes_text, short
from tailback.cli.tables.layout import print_table

if TYPE_CHECKING:
    from tailback.store.archive import StoredSweep


def show_list(sweeps: Sequence[StoredSweep]) -> None:
    if not sweeps:
        terminal.out("no sweeps are stored here")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("sweep", "title", "engine", "written"):
        table.add_column(name)
    for name in ("stored", "size"):
        table.add_column(name, justify="right")
    for sweep in sweeps:
        when = datetime.datetime.fromtimestamp(sweep.written).strftime("%Y-%m-%d %H:%M")
        runs = f"{len(sweep.stored)} of {len(sweep.runs)} runs"
        index = sweep.index
        table.add_row(
            index.id, line(index.title), index.engine, when, runs, bytes_text(sweep.bytes)
        )
    print_table(table)


def show_differences(
    set_up: Sequence[tuple[str, Any, Any]], results: Sequence[tuple[str, Any, Any]]
) -> None:
    """Print the differences between two runs: first in their scenarios, then in their results."""
    for title, rows in (("what was run", set_up), ("what came out", results)):
        if not rows:
            terminal.out(f"{title}: the same")
            continue
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        table.add_column("")
        for name in ("first", "second"):
            table.add_column(name, justify="right")
        for path, one, other in rows:
            table.add_row(path.removeprefix("canonical."), _text(one), _text(other))
        print_table(table)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return line(str(value))
    return short(value, 6)
