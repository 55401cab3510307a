"""Lists all published and measured values. A second list has the values whose error exceeds the
limit of a criterion."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.report import Block, Facts, Mark, Section, Table, Text, Value
from tailback.report.tables import csv_text, left, right, words
from tailback_studies.experiments.dualpi2_2022 import truth
from tailback_studies.experiments.dualpi2_2022.causes import cause
from tailback_studies.experiments.dualpi2_2022.layout import ARCHIVES, Archive
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry
from tailback_studies.reproduction.goals import goal_of
from tailback_studies.reproduction.shown import signed


def misses(entries: Sequence[DualPi2Entry], facts: Facts) -> list[Block]:
    off = [e for e in entries if e.within is False]
    held = sum(e.within is not None for e in entries)
    if not off:
        return [Text(f"All {held} values with a goal are within it.")] if held else []
    columns = [*left("value"), *right("published", "measured", "error", "limit"), *words("cause")]
    rows: list[list[Value]] = []
    for e in off:
        goal = goal_of(truth.GOALS, e)
        if goal is None:
            continue
        rows.append(
            [
                f"{e.run.archive.title}, {e.run.words}: {e.column}",
                number(e.cell.published),
                number(e.cell.measured),
                _signed(e, goal.kind),
                goal.text,
                cause(e),
            ]
        )
    return [Table("misses", "Every miss", columns, rows, "", facts)]


def tables(entries: Sequence[DualPi2Entry]) -> list[Section]:
    out = []
    for archive in ARCHIVES:
        own = [e for e in entries if e.run.archive == archive]
        if own:
            out.append(Section(f"rows-{archive.name}", archive.title, [_rows(archive, own)]))
    return out


# Columns of the tables: heading, column of the publication, and factor for the unit.
_SHOWN: tuple[tuple[str, str, float], ...] = (
    ("rate ratio", "rate_ratio", 1.0),
    ("window ratio", "window_ratio", 1.0),
    ("L delay, ms", "qs_ecn_mean", 1.0),
    ("P99", "qs_ecn_p99", 1.0),
    ("C delay, ms", "qs_nonecn_mean", 1.0),
    ("P99", "qs_nonecn_p99", 1.0),
    ("L, Mbit/s", "rpf_ecn_mean", 8e-6),
    ("C, Mbit/s", "rpf_nonecn_mean", 8e-6),
    ("used, %", "util_mean", 1.0),
    ("L marks, %", "marks_ecn_mean", 1.0),
    ("L drops, %", "drops_ecn_mean", 1.0),
    ("C drops, %", "drops_nonecn_mean", 1.0),
)


def _rows(archive: Archive, entries: Sequence[DualPi2Entry]) -> Table:
    by_case: dict[str, dict[str, DualPi2Entry]] = {}
    for e in entries:
        by_case.setdefault(e.case.name, {})[e.column] = e
    columns = [*left("case"), *right(*(title for title, _, _ in _SHOWN))]
    rows: list[list[Value]] = [
        [name, *(_value(cells.get(column), factor) for _, column, factor in _SHOWN)]
        for name, cells in by_case.items()
    ]
    caption = (
        "Measured and (published) values. Values with a limit are green (within) or red (beyond). "
        "L: with ECN, C: without. all-cells.csv has every column."
    )
    return Table(f"rows-{archive.name}", archive.name, columns, rows, caption)


def _value(entry: DualPi2Entry | None, factor: float) -> Value:
    if entry is None or entry.cell.measured is None:
        return None
    text = number(entry.cell.measured * factor) or ""
    if entry.cell.published is None:
        return text
    text += f" ({number(entry.cell.published * factor)})"
    held = entry.within
    return text if held is None else Mark(text, "pass" if held else "miss")


def number(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _signed(entry: DualPi2Entry, kind: str) -> str | None:
    error = entry.error(kind)
    if error is None:
        return None
    return signed(error) if kind == "relative" else f"{error:+.3g}"


def all_cells(entries: Sequence[DualPi2Entry]) -> str:
    """Return all measured values as CSV, including values without a published value."""
    head = ("archive", "case", "column", "unit", "published", "measured")
    rows: list[Sequence[object]] = [
        (*head, "difference", "relative", "n", "ci95", "tolerance", "within", "blind")
    ]
    for e in entries:
        cell = e.cell
        within = None if e.within is None else int(e.within)
        numbers = (cell.published, cell.measured, cell.error, cell.relative, cell.n, cell.ci95)
        place = (e.run.archive.name, e.case.name, e.column, cell.unit)
        blind = "yes" if cell.blind else "no"
        rows.append((*place, *numbers, cell.tolerance, within, blind))
    return csv_text(rows)
