"""Prints the table at the end of `evaluate`: a verdict for each section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tailback.base.numbers import short
from tailback.cli.tables.layout import new_console, print_table
from tailback.evaluate.model import VERDICTS, Evaluation, SectionChange, SectionVerdict
from tailback.evaluate.text import number

STYLES: dict[SectionVerdict, str] = {
    "pass": "green",
    "fail": "bold red",
    "worse": "bold red",
    "no worse": "green",
    "undecided": "yellow",
    "not observable": "dim",
}


def show(
    evaluation: Evaluation, page: Path | None, changes: Sequence[SectionChange] | None = None
) -> None:
    """Print a row for each section. Then print how many sections have each verdict, and which
    verdicts have changed since the earlier evaluation.
    """
    console = new_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("section", "title", "verdict", "measure"):
        table.add_column(title)
    for title in ("value [95 %]", "allowed"):
        table.add_column(title, justify="right")
    for section in evaluation.sections:
        table.add_row(
            section.id,
            section.title,
            Text(section.verdict, STYLES[section.verdict]),
            section.measure or section.note,
            number(section) if section.measure else "",
            section.limit,
        )
    print_table(table)
    console.print()
    counts = {verdict: len(evaluation.of(verdict)) for verdict in VERDICTS}
    console.print(
        ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        or "no sections",
        soft_wrap=True,
    )
    for section in evaluation.of("fail", "worse"):
        console.print(f"{section.id} {section.verdict}: {section.note}", soft_wrap=True)
    for change in changes or ():
        old, new = short(change.value_before, 3), short(change.value, 3)
        text = f"{change.id} was {change.before} ({old}), is {change.now} ({new})"
        console.print(text, soft_wrap=True)
    if changes is not None and not changes:
        console.print("no verdict has changed", soft_wrap=True)
    for note in evaluation.notes:
        console.print(note, soft_wrap=True)
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
