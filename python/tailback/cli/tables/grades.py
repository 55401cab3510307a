"""Prints the table of `tailback grade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tailback.base import terminal
from tailback.base.foreign import line
from tailback.base.numbers import short
from tailback.cli.tables.layout import print_table
from tailback.teaching.grading import words

if TYPE_CHECKING:
    from tailback.teaching.grading import Grades


def show(grades: Grades) -> None:
    columns = grades.columns()
    seeds = f"mean of {grades.seeds} seeds" if grades.seeds > 1 else "one seed"
    terminal.out(f"{line(grades.title) or 'task'}: {seeds}; a value in brackets does not hold")
    table = Table(box=None, pad_edge=False)
    table.add_column("submission")
    table.add_column("held", justify="right")
    for column in columns:
        table.add_column(line(column), justify="right")
    for grade in grades.grades:
        if grade.status != "graded":
            table.add_row(line(grade.name), grade.status, *[""] * len(columns))
            continue
        by_words = {words(verdict): verdict for verdict in grade.verdicts}
        cells = []
        for column in columns:
            verdict = by_words.get(column)
            text = "" if verdict is None else _value(verdict.value)
            held = verdict is None or verdict.held
            cells.append(Text(text if held else f"({text})", style="" if held else "bold"))
        table.add_row(line(grade.name), f"{grade.held} of {grades.of}", *cells)
    print_table(table)
    wrong = len(grades.wrong)
    if wrong:
        terminal.out(f"{wrong} of {len(grades.grades)} submissions have no grade; stderr says why")


def _value(value: float | None) -> str:
    return "not available" if value is None else short(value, 4)
