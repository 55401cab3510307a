"""Writes each table of the publication to files, with published values, measured values and their
differences.

A table has a row for each rate and a column for each delay. For a pair of flows, a cell contains
both values if the publication states a value for each flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailback.report.tables import csv_text
from tailback_studies.experiments.sce_2019.layout import NAMES, UNITS, TableId
from tailback_studies.experiments.sce_2019.points import Place, SceEntry

# The blocks of rows in a table, each with a function that returns the number to print for a value.
BLOCKS: Mapping[str, Callable[[SceEntry], float | None]] = {
    "published": lambda entry: entry.cell.published,
    "measured": lambda entry: entry.cell.measured,
    "difference": lambda entry: entry.cell.error,
}


def by_table(entries: Sequence[SceEntry]) -> dict[TableId, list[SceEntry]]:
    """Return the values of each table."""
    out: dict[TableId, list[SceEntry]] = {}
    for entry in entries:
        out.setdefault(entry.table, []).append(entry)
    return out


def digits(table: TableId) -> int:
    """Return the number of decimals that the publication prints."""
    return 3 if table.quantity == "jain" else 2


def files(entries: Sequence[SceEntry]) -> dict[str, str]:
    """Return the contents of the files by name: each table as CSV and Markdown, and all values as
    CSV."""
    out = {}
    for table, cells in by_table(entries).items():
        out[f"tables/{table.part}.csv"] = _csv(table, cells)
        out[f"tables/{table.part}.md"] = _markdown(table, cells)
    out["all-cells.csv"] = _all(entries)
    return out


def _grid(
    table: TableId,
    cells: Sequence[SceEntry],
    value: Callable[[SceEntry], float | None],
    *,
    signed: bool,
) -> tuple[list[float], list[list[str]]]:
    """Return the delays, and a row for each rate with the rate and the values as text."""
    by_place: dict[Place, list[SceEntry]] = {}
    for entry in cells:
        by_place.setdefault(entry.place, []).append(entry)
    delays = sorted({delay for _, delay in by_place})
    rows = []
    for rate in sorted({rate for rate, _ in by_place}):
        row = [f"{rate:g}"]
        for delay in delays:
            numbers = [value(entry) for entry in by_place.get((rate, delay), [])]
            plus = "+" if signed else ""
            row.append(" / ".join(f"{n:{plus}.{digits(table)}f}" for n in numbers if n is not None))
        rows.append(row)
    return delays, rows


def _csv(table: TableId, cells: Sequence[SceEntry]) -> str:
    lines: list[Sequence[object]] = []
    for name, value in BLOCKS.items():
        delays, rows = _grid(table, cells, value, signed=name == "difference")
        if not lines:
            lines.append(["what", "Mbit/s", *(f"{delay:g} ms" for delay in delays)])
        lines += [[name, *row] for row in rows]
    return csv_text(lines)


def _markdown(table: TableId, cells: Sequence[SceEntry]) -> str:
    unit = UNITS[table.quantity]
    lines = [f"# {table.title}{f' ({unit})' if unit else ''}", ""]
    if len(table.setup.ccs) == 2 and table.quantity != "jain":
        first, second = (NAMES[cc] for cc in table.setup.ccs)
        lines += [f"Each entry is {first} / {second}.", ""]
    for name, value in BLOCKS.items():
        delays, rows = _grid(table, cells, value, signed=name == "difference")
        lines += [f"**{name.capitalize()}**", ""]
        lines.append("| Mbit/s | " + " | ".join(f"{delay:g} ms" for delay in delays) + " |")
        lines.append("|---:" * (len(delays) + 1) + "|")
        lines += ["| " + " | ".join(text or "\u2014" for text in row) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _all(entries: Sequence[SceEntry]) -> str:
    head = ("table", "kind", "quantity", "mode", "cc", "peer", "position", "rate_mbit", "delay_ms")
    rows: list[Sequence[object]] = [
        (*head, "published", "measured", "difference", "relative", "n", "ci95")
    ]
    for e in entries:
        setup, cell = e.table.setup, e.cell
        place = (e.table.number, setup.kind, e.table.quantity, setup.mode, e.cc, e.peer, e.position)
        numbers = (cell.published, cell.measured, cell.error, cell.relative, cell.n, cell.ci95)
        rows.append((*place, e.rate_mbit, e.delay_ms, *numbers))
    return csv_text(rows)
