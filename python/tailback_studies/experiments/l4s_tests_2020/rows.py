"""Makes tables of every published row, and of the values whose errors exceed the limit of their
goal."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Column, Facts, Mark, Section, Table, Text, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.l4s_tests_2020 import truth
from tailback_studies.experiments.l4s_tests_2020.layout import DEFECTS, L4sRow
from tailback_studies.experiments.l4s_tests_2020.points import L4sEntry
from tailback_studies.reproduction.entries import sizes
from tailback_studies.reproduction.shown import signed, size

PLACES = {"s1": "S1: fairness by round-trip time", "s6": "S6: two flows in one RFC 3168 queue"}


def by_queue(entries: Sequence[L4sEntry], facts: Facts) -> Table:
    """For each queue, show the errors of S1's rates. Also show how much published rates differ
    between repetitions of the same experiment.
    """
    pairs = truth.twins()
    rows: list[list[Value]] = []
    own = truth.S1_GOAL.own(entries)
    for queue in dict.fromkeys(e.row.queue for e in own):
        errors = sizes([e for e in own if e.row.queue == queue], "capacity")
        noise = truth.noise(pairs, queue)
        rows.append(
            [
                queue,
                len(errors),
                *_both(median(errors), nearest_rank(errors, 0.9)),
                size(max(errors, default=None), ""),
                noise.cells if noise else 0,
                *_both(noise.median if noise else None, noise.p90 if noise else None),
            ]
        )
    caption = (
        "Errors of flows with published rates, divided by the link's rate. *Twins in the "
        "publication* are flows with equal round-trip times whose row is repeated, in either "
        "order, or whose competitor has the same congestion control. Even a perfect model, run "
        "once, would have errors as large as the difference between twins."
    )
    columns = [
        *left("queue"),
        *right("values", "median", "90th percentile", "largest"),
        *right("twins in the publication", "their median", "90th percentile"),
    ]
    return Table("by-queue", "S1 by queue", columns, rows, caption, facts)


def _both(*values: float | None) -> list[str | None]:
    return [size(value, "") for value in values]


def misses(entries: Sequence[L4sEntry], facts: Facts) -> list[Block]:
    """List each value whose error exceeds the limit."""
    off = truth.missed(entries)
    held = [e for e in entries if truth.S1_GOAL.belongs(e) or truth.S6_GOAL.belongs(e)]
    known = sum(e.cell.published is not None for e in held)
    if not off:
        return [Text(f"All {known} values with a goal are within it.")] if known else []
    rows: list[list[Value]] = [
        [
            e.row.table.upper(),
            e.row.name,
            e.column,
            _number(e.cell.published),
            _number(e.cell.measured),
            signed(e.cell.relative),
            signed(e.error("capacity")) if truth.S1_GOAL.belongs(e) else None,
            "yes" if e.chance else "no",
        ]
        for e in off
    ]
    columns = [
        *left("", "row", "column"),
        *right("published", "measured", "error", "error relative to the link's rate"),
        *left("chance can explain it"),
    ]
    caption = (
        f"S1: rates more than {size(truth.S1_P90, '')} of the link's rate off; S6: ratios beyond "
        f"{size(truth.S6_LIMIT, '')}. D1 and D2 are the flows in the order of the name."
    )
    return [Table("misses", "One by one", columns, rows, caption, facts)]


def defects(facts: Facts) -> Table:
    """List the rows that are wrong in the publication."""
    rows: list[list[Value]] = [[row.table.upper(), row.name, why] for row, why in DEFECTS.items()]
    columns = left("", "row", "what is wrong")
    return Table("defects", "Wrong in the publication", columns, rows, "Not judged.", facts)


def tables(entries: Sequence[L4sEntry]) -> list[Section]:
    """Show every published row by table and queue."""
    out = []
    for table, title in PLACES.items():
        cells = [e for e in entries if e.row.table == table]
        if cells:
            queues = dict.fromkeys((e.row.queue, e.row.rate_mbit) for e in cells)
            blocks: list[Block] = [
                _rows(
                    queue,
                    rate,
                    [e for e in cells if (e.row.queue, e.row.rate_mbit) == (queue, rate)],
                )
                for queue, rate in queues
            ]
            out.append(Section(f"rows-{table}", title, blocks))
    return out


def _rows(queue: str, rate: int, entries: Sequence[L4sEntry]) -> Table:
    by_row: dict[L4sRow, dict[str, L4sEntry]] = {}
    for e in entries:
        by_row.setdefault(e.row, {})[e.column] = e
    table = entries[0].row.table
    last = "Jain's index" if table == "s1" else "ratio"
    columns = [Column("row", align="left"), *right("first, Mbit/s", "second, Mbit/s", last)]
    rows: list[list[Value]] = [
        [_title(row), *(_value(cell) for cell in cells.values())] for row, cells in by_row.items()
    ]
    caption = "Measured and (published) values. Red: beyond the limit."
    name = f"{table}-{rate}-{''.join(c if c.isalnum() else '-' for c in queue)}"
    return Table(name, f"{queue} at {rate} Mbit/s", columns, rows, caption)


def _title(row: L4sRow) -> str:
    first, second = row.flows
    if row.table == "s6":
        return f"{first.cc}, {second.cc}{' without ECN' if second.bleached else ''}"
    return f"{first.cc} {first.rtt_ms} ms, {second.cc} {second.rtt_ms} ms"


def _value(entry: L4sEntry) -> Value:
    if entry.cell.measured is None:
        return None
    text = _number(entry.cell.measured) or ""
    if entry.cell.published is None:
        return text
    text += f" ({_number(entry.cell.published)})"
    if entry.row in DEFECTS:
        return text
    return Mark(text, "miss") if truth.missed([entry]) else text


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}"
