"""What the tables of reports are put together from: columns, verdicts, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from tailback.report.model import Block, Column, Facts, Mark, Table

SETUP = "What was run, and where it is from"


def left(*titles: str) -> list[Column]:
    """Columns of texts that are data."""
    return [Column(title, align="left") for title in titles]


def right(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title) for title in titles]


def words(*titles: str) -> list[Column]:
    """Columns of texts of ours."""
    return [Column(title, align="left", words=True) for title in titles]


def labels(table: Table) -> int:
    """How many columns say what a row is about: those at the left, up to the first of numbers."""
    first = (i for i, column in enumerate(table.columns) if column.align == "right")
    return max(1, min(next(first, 1), len(table.columns)))


def mark(holds: bool, no: str = "missed") -> Mark:
    """A verdict."""
    return Mark("holds", "pass") if holds else Mark(no, "miss")


def setup(rows: Iterable[Sequence[str]], facts: Facts, caption: str = "") -> Table:
    """The set-up: what, what it is here, the basis of that."""
    columns = words("what", "here", "basis")
    return Table("declared", SETUP, columns, [list(row) for row in rows], caption, facts)


def present(*blocks: Block | None) -> list[Block]:
    """The blocks that there is something to show in."""
    return [block for block in blocks if block is not None]


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV; numbers with all their digits, nothing for None."""
    out = io.StringIO()
    # The writer takes None for an empty field.
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
