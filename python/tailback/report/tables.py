"""Builds tables of reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from tailback.report.model import Block, Column, Facts, Mark, Table

SETUP = "Set-up, and the source of each part"


def left(*titles: str) -> list[Column]:
    """Return left-aligned columns of untrusted texts."""
    return [Column(title, align="left") for title in titles]


def right(*titles: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(title) for title in titles]


def words(*titles: str) -> list[Column]:
    """Return columns of trusted texts."""
    return [Column(title, align="left", words=True) for title in titles]


def labels(table: Table) -> int:
    """Return how many columns describe the row rather than give numbers. These columns come before
    the first column of numbers.
    """
    first = (i for i, column in enumerate(table.columns) if column.align == "right")
    return max(1, min(next(first, 1), len(table.columns)))


def mark(holds: bool, no: str = "missed") -> Mark:
    """Return a table cell that shows a verdict."""
    return Mark("holds", "pass") if holds else Mark(no, "miss")


def setup(rows: Iterable[Sequence[str]], facts: Facts, caption: str = "") -> Table:
    """Return the table that describes the set-up. Each row has an item, its value in these runs,
    and the basis of the value."""
    columns = words("what", "here", "basis")
    return Table("declared", SETUP, columns, [list(row) for row in rows], caption, facts)


def present(*blocks: Block | None) -> list[Block]:
    return [block for block in blocks if block is not None]


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV. Numbers are not rounded."""
    out = io.StringIO()
    # None becomes an empty field.
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
