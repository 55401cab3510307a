"""Prints the table at the end of `evaluate`: a verdict for each section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text

from tailback.base.numbers import short
from tailback.cli.tables.layout import least_width_of, new_console, print_wrapped
from tailback.evaluate.model import (
    VERDICTS,
    Evaluation,
    SectionChange,
    SectionResult,
    SectionVerdict,
)
from tailback.evaluate.text import number

STYLES: dict[SectionVerdict, str] = {
    "pass": "green",
    "fail": "bold red",
    "worse": "bold red",
    "no worse": "green",
    "undecided": "yellow",
    "not observable": "dim",
}


MIN_TEXT, MIN_STACKED = 30, 18
"""The smallest width, in characters, of a column of sentences. The first number applies if the
table has two such columns, the second if it has one."""


def show(
    evaluation: Evaluation, page: Path | None, changes: Sequence[SectionChange] | None = None
) -> None:
    """Print a row for each section. After the rows, print how many sections have each verdict, and
    which verdicts have changed since the earlier evaluation.
    """
    console = new_console()
    for breaks in (0, 1, 2):
        table = _table(evaluation, breaks)
        if least_width_of(table) <= console.width:
            break
    print_wrapped(table)
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


def _table(evaluation: Evaluation, breaks: int) -> Table:
    """Return the table of verdicts. Only titles and measures wrap.

    `breaks` makes the table narrower. If `breaks` is 1, the measure is below the title, the
    interval is below the value, and verdicts and bounds have two lines. If `breaks` is 2, the
    interval has two lines, too.
    """
    stacked = breaks > 0

    def pair(*lines: str) -> str:
        return ("\n" if stacked else " ").join(lines)

    def value(section: SectionResult) -> str:
        return "\n".join(number(section).split(" ", breaks)) if stacked else number(section)

    rows: list[tuple[str, str, Text, str, str, str]] = [
        (
            section.id,
            section.title,
            Text(pair(*section.verdict.split(" ")), STYLES[section.verdict]),
            section.measure or section.note,
            value(section) if section.measure else "",
            pair(*section.limit.rsplit(" ", 1)),
        )
        for section in evaluation.sections
    ]
    titles = ("section", "title", "verdict", "measure", pair("value", "[95 %]"), "allowed")
    kept = [i for i in range(len(titles)) if not (stacked and i == _MEASURE)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i in kept:
        texts = (titles[i], *(str(row[i]) for row in rows))
        width = max(len(line) for text in texts for line in text.split("\n"))
        if i in (_TITLE, _MEASURE):
            least = MIN_STACKED if stacked else min(MIN_TEXT, width)
            table.add_column(titles[i], min_width=least)
            continue
        # Without a minimum, Rich cuts these columns to make room for the columns that wrap.
        side: Literal["left", "right"] = "right" if i > _MEASURE else "left"
        table.add_column(titles[i], justify=side, no_wrap=True, min_width=width)
    for row in rows:
        cells: list[str | Text] = list(row)
        if stacked and row[_MEASURE]:
            cells[_TITLE] = f"{row[_TITLE]}\n{row[_MEASURE]}"
        table.add_row(*(cells[i] for i in kept))
    return table


_TITLE, _MEASURE = 1, 3
"""Columns of the table that contain sentences."""
