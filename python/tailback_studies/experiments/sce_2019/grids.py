"""Draws each table of the publication with the measured and the published value in each entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.report import Block, Mark, Section, Table, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.sce_2019 import tables
from tailback_studies.experiments.sce_2019.layout import (
    MODES,
    NAMES,
    QUANTITIES,
    UNITS,
    WORDS,
    TableId,
)
from tailback_studies.experiments.sce_2019.maps import MODE_WORDS
from tailback_studies.experiments.sce_2019.points import SceEntry

# Errors up to `GOOD` are green, and errors beyond `BAD` are red.
GOOD = {"throughput_mbit": 0.02, "tcp_rtt_ms": 0.08, "jain": 0.015}


BAD = {"throughput_mbit": 0.1, "tcp_rtt_ms": 0.25, "jain": 0.06}


# Rounding error of published values: half of their last digit, slightly enlarged for binary
# rounding.
ROUNDING = {"throughput_mbit": 0.00501, "tcp_rtt_ms": 0.00501, "jain": 0.000501}


def sections(entries: Sequence[SceEntry]) -> list[Section]:
    groups: Mapping[str, tuple[str, list[Block]]] = {
        "one-flow": ("Tables of one flow", []),
        **{mode: (f"Tables of two flows, {MODE_WORDS[mode]}", []) for mode in MODES},
        "jain": ("Tables of Jain's index", []),
    }
    for table, cells in tables.by_table(entries).items():
        group = "jain" if table.quantity == "jain" else table.setup.mode or "one-flow"
        groups[group][1].append(_table(table, cells))
    return [
        Section(f"tables-{group.replace(' ', '-')}", title, blocks)
        for group, (title, blocks) in groups.items()
        if blocks
    ]


def _table(table: TableId, cells: Sequence[SceEntry]) -> Table:
    by_place = {(e.rate_mbit, e.delay_ms, e.position): e for e in cells}
    delays = sorted({e.delay_ms for e in cells})
    pairs = bool(cells[0].peer)
    rows: list[list[Value]] = []
    for rate in sorted({e.rate_mbit for e in cells}):
        for position in sorted({e.position for e in cells}):
            row: list[Value] = [f"{rate:g}"]
            if pairs:
                row.append(NAMES[table.setup.ccs[position - 1]])
            rows.append([*row, *(_value(by_place.get((rate, d, position))) for d in delays)])
    columns = right("Mbit/s") + (left("flow") if pairs else [])
    columns += right(*(f"{delay:g} ms" for delay in delays))
    unit = UNITS[table.quantity]
    caption = f"{unit or 'Index'}, measured and (published)."
    return Table(table.part, table.title, columns, rows, caption)


def _value(entry: SceEntry | None) -> Value:
    if entry is None or entry.cell.measured is None:
        return None
    quantity = entry.table.quantity
    text = number(entry.cell.measured, entry.table)
    if entry.cell.ci95:
        text += f" \u00b1{number(entry.cell.ci95, entry.table)}"
    if entry.cell.published is None or entry.cell.error is None:
        return text
    text += f" ({number(entry.cell.published, entry.table)})"
    error = entry.size("absolute" if quantity == "jain" else "relative")
    if error is None:
        return text
    if error <= GOOD[quantity] or abs(entry.cell.error) <= ROUNDING[quantity]:
        return Mark(text, "pass")
    return Mark(text, "miss" if error > BAD[quantity] else "info")


def number(value: float | None, table: TableId) -> str:
    return "" if value is None else f"{value:.{tables.digits(table)}f}"


def colours() -> str:
    """Explain the colours green and red."""
    good, bad = (
        ", ".join(f"{100 * limits[q]:g} % of a {WORDS[q]}" for q in QUANTITIES)
        + f", {limits['jain']:g} of Jain's index"
        for limits in (GOOD, BAD)
    )
    return (
        f"In the tables below green is within {good} or the rounding of the publication; red is "
        f"beyond {bad}."
    )
