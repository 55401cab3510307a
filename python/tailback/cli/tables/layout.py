"""Computes the widths of tables. Cells are never cut."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.measure import Measurement
from rich.table import Table

from tailback.base.console import PlainConsole

MAX_ROWS = 60


UNLIMITED = 10_000
"""The width, in columns, that a table may have if stdout is a pipe or a file."""


def width_of(table: Table) -> int:
    """Return how many terminal columns a table needs so that no cell is cut."""
    wide = PlainConsole(width=UNLIMITED)
    return Measurement.get(wide, wide.options, table).maximum


def least_width_of(table: Table) -> int:
    """Return how many terminal columns a table needs at least. In a table of this width, columns
    that may wrap are as narrow as possible, and no word is cut.
    """
    wide = PlainConsole(width=UNLIMITED)
    return Measurement.get(wide, wide.options, table).minimum


def print_table(table: Table) -> None:
    """Print a table without cutting it, even if its lines are longer than the terminal's width."""
    console = new_console()
    new_console(max(console.width, width_of(table))).print(table, crop=False)


def print_wrapped(table: Table) -> None:
    """Print a table, and wrap the text in its columns to fit the terminal's width if possible."""
    width = max(new_console().width, least_width_of(table))
    new_console(width).print(table, crop=False)


def new_console(width: int | None = None) -> PlainConsole:
    """Make a console for stdout, which may be a terminal, a pipe or a file.

    `width` overrides the width of the terminal.
    """
    # A table that is printed to a pipe or a file must not be cut to 80 columns.
    if width is None and not sys.stdout.isatty():
        width = UNLIMITED
    # Set a height, because without it Rich assumes 80 columns for a dumb terminal.
    return PlainConsole(width=width, height=None if width is None else 25)


def short_names(paths: Sequence[str], taken: set[str]) -> list[str]:
    """Shorten each path to its last components.

    Keep as many components as are needed to distinguish the path from the others.
    """
    split = [path.split(".") for path in paths]
    names = list(paths)
    for i, parts in enumerate(split):
        for count in range(1, len(parts)):
            end = parts[-count:]
            others = (other for j, other in enumerate(split) if j != i)
            if ".".join(end) not in taken and all(other[-count:] != end for other in others):
                names[i] = ".".join(end)
                break
    return names
