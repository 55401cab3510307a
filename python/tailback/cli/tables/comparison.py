"""Prints the table at the end of `compare`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from tailback.base.foreign import line
from tailback.cli.tables.layout import MAX_ROWS, new_console, print_table, short_names, width_of
from tailback.comparison.model import Cell, Comparison
from tailback.comparison.text import difference_text, percent, quantity_text, with_spread_of

FLAG = "*"


class ComparisonLayout(NamedTuple):
    """A layout of the tables. Each layout has a different width."""

    points: bool
    """Whether the parameters of a sweep point are columns. If false, each sweep point has its own
    table."""
    full_paths: bool
    """If true, the names of columns are full paths, such as `bottleneck.rate`. If false, the names
    are short, such as `rate`."""
    one_line: bool
    """Whether an interval is printed on the same line as its number, instead of below the
    number."""
    side_by_side: bool
    """Whether variants are columns instead of rows."""


LAYOUTS = (
    ComparisonLayout(True, True, True, True),
    ComparisonLayout(True, False, True, True),
    ComparisonLayout(False, True, True, True),
    ComparisonLayout(False, True, False, True),
    ComparisonLayout(False, True, True, False),
)


def show(comparison: Comparison, page: Path | None) -> None:
    """For each sweep point, print a row for each quantity of each flow or link. Use the layout that
    fits the width of the terminal.
    """
    console = new_console()
    console.print(line(comparison.title), soft_wrap=True)
    cells, hidden = _chosen(comparison)
    tables: list[Table] = []
    for layout in LAYOUTS:
        tables = _tables(comparison, cells, layout)
        if all(width_of(table) <= console.width for table in tables):
            break
    for i, table in enumerate(tables):
        if i:
            console.print()
        print_table(table)
    if len(comparison.points()) > 1 or hidden:
        console.print()
        print_table(_summary(comparison))
    for text in _reasons(comparison):
        console.print(text, soft_wrap=True)
    for note in _notes(comparison, hidden, page):
        console.print(note, soft_wrap=True)


def _chosen(comparison: Comparison) -> tuple[list[Cell], int]:
    """Choose the `MAX_ROWS` compared quantities with the clearest differences, and return them in
    their original order. Also return the number of omitted quantities.
    """
    cells = [cell for cell in comparison.cells if not cell.nothing]
    if len(cells) <= MAX_ROWS:
        return cells, 0

    def clearness(cell: Cell) -> float:
        return min((d.q for d in cell.differences.values() if d.q is not None), default=2.0)

    kept = {id(cell) for cell in sorted(cells, key=clearness)[:MAX_ROWS]}
    return [cell for cell in cells if id(cell) in kept], len(cells) - MAX_ROWS


def _tables(comparison: Comparison, cells: Sequence[Cell], layout: ComparisonLayout) -> list[Table]:
    paths = list(dict.fromkeys(path for cell in cells for path in cell.labels))
    if layout.points:
        titles = paths if layout.full_paths else short_names(paths, {"of", "quantity"})
        return [_table(comparison, cells, layout, titles, paths, "")]
    points: dict[str, list[Cell]] = {}
    for cell in cells:
        at = line(", ".join(f"{path} = {label}" for path, label in cell.labels.items()))
        points.setdefault(at, []).append(cell)
    return [_table(comparison, group, layout, [], [], at) for at, group in points.items()]


def _table(
    comparison: Comparison,
    cells: Sequence[Cell],
    layout: ComparisonLayout,
    titles: Sequence[str],
    paths: Sequence[str],
    at: str,
) -> Table:
    table = Table(
        title=at or None,
        title_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=not layout.side_by_side,
    )
    for title in (*titles, "of", "quantity"):
        table.add_column(title, no_wrap=True)
    if layout.side_by_side:
        for variant in comparison.variants:
            table.add_column(line(variant.name), justify="right", no_wrap=True)
        for variant in comparison.others:
            name = f"{line(variant.name)} − {line(comparison.baseline.name)}"
            if not layout.one_line:
                name = f"{line(variant.name)} −\n{line(comparison.baseline.name)}"
            table.add_column(name, justify="right", no_wrap=True)
    else:
        table.add_column("variant", no_wrap=True)
        table.add_column("mean", justify="right", no_wrap=True)
        table.add_column(f"− {comparison.baseline.name}", justify="right", no_wrap=True)

    point: dict[str, str] | None = None
    last: str | None = None
    for cell in cells:
        of = cell.name or cell.kind
        new = cell.labels != point
        # Print the name of a sweep point or a flow only in its first row.
        start = [line(cell.labels.get(path, "")) if new else "" for path in paths]
        start += [of if new or of != last else "", cell.metric.name]
        point, last = cell.labels, of
        means = [
            _lines(with_spread_of(cell.values.get(variant.name)), layout)
            for variant in comparison.variants
        ]
        gaps = [_difference(cell, variant.name, layout) for variant in comparison.others]
        if layout.side_by_side:
            table.add_row(*start, *means, *gaps)
            continue
        for i, variant in enumerate(comparison.variants):
            first = start if i == 0 else [""] * len(start)
            gap = gaps[i - 1] if i else Text("")
            table.add_row(*first, line(variant.name), means[i], gap)
    return table


def _difference(cell: Cell, variant: str, layout: ComparisonLayout) -> Text:
    found = cell.differences.get(variant)
    text = _lines(difference_text(found), layout)
    return Text(f"{FLAG} {text}", "bold") if found and found.flagged else Text(text)


def _lines(text: str, layout: ComparisonLayout) -> str:
    return text if layout.one_line else _BREAK.sub("\n", text)


_BREAK = re.compile(r"(?<=[\d%]) (?=[±−(])")
"""Matches the places where a table cell may have a line break: before the interval, or before the
count of runs."""


def _summary(comparison: Comparison) -> Table:
    table = Table(title="Over all sweep points", title_justify="left", box=None, pad_edge=False)
    several = len(comparison.others) > 1
    table.add_column("quantity", no_wrap=True)
    if several:
        table.add_column("variant", no_wrap=True)
    for title in ("values", "flagged", "median", "90 % within"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in comparison.summary():
        quantity = quantity_text(row["quantity"])
        start = [quantity, row["variant"]] if several else [quantity]
        middle, most = row["median_rel_difference"], row["p90_rel_difference"]
        table.add_row(
            *start,
            str(row["cells"]),
            str(row["flagged"]),
            percent(middle),
            percent(most).replace("+", "±"),
        )
    return table


MOST_REASONS = 8
"""The largest number of reasons to print. The JSON and the report contain all reasons."""


def _reasons(comparison: Comparison) -> list[str]:
    """Return lines that explain the differences between variants.

    These lines say what limited each flow, and what filled each queue.
    """
    several = len(comparison.points()) > 1
    out = []
    for at in comparison.reasons:
        where = ", ".join(f"{path} = {label}" for path, label in at.labels.items())
        start = f"{line(where)}: " if several and where else ""
        out += [f"why: {start}{line(reason.text())}" for reason in at.reasons]
    more = len(out) - MOST_REASONS
    if more > 0:
        out = [*out[:MOST_REASONS], f"and {more} more reasons; --json and the report list all"]
    return out


def _notes(comparison: Comparison, hidden: int, page: Path | None) -> list[str]:
    notes = []
    if comparison.most_runs > 1:
        judged = sum(
            d.q is not None for cell in comparison.cells for d in cell.differences.values()
        )
        notes.append(
            f"mean over {comparison.seeds_text} ± half the 95 % interval (Student's t); "
            f"{FLAG} differs by more than noise: {len(comparison.flagged())} of {judged} "
            "differences, false discovery rate below 5 %"
        )
    notes += comparison.notes()
    nothing = sum(cell.nothing for cell in comparison.cells)
    if hidden:
        notes.append(
            f"{hidden} more rows, whose differences are smaller relative to noise; --json and the "
            "report show all"
        )
    if nothing:
        rows = "1 row that is" if nothing == 1 else f"{nothing} rows that are"
        notes.append(f"left out: {rows} 0 in every variant")
    if page is not None:
        notes.append(f"report: {page}")
    return notes
