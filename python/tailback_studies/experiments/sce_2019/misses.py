"""Lists the values with large errors, and the causes if they are known."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.report import Block, Facts, Table, Text, Value
from tailback.report.tables import left, right, words
from tailback_studies.experiments.sce_2019.causes import cause
from tailback_studies.experiments.sce_2019.grids import number
from tailback_studies.experiments.sce_2019.layout import QUANTITIES, WORDS
from tailback_studies.experiments.sce_2019.maps import flow_of
from tailback_studies.experiments.sce_2019.points import SceEntry
from tailback_studies.reproduction.shown import signed

# Errors above this value are listed.
LISTED = 0.25


# Errors of Jain's index above this value are listed.
LISTED_JAIN = 0.06


def listed(entries: Sequence[SceEntry]) -> list[SceEntry]:
    """Return the values with errors above 25 %, and Jain's indices with errors above 0.06. Values
    of the same quantity are together, with the largest errors first."""
    off = []
    for quantity in (*QUANTITIES, "jain"):
        kind, limit = ("absolute", LISTED_JAIN) if quantity == "jain" else ("relative", LISTED)
        own = [e for e in entries if e.table.quantity == quantity]
        far = [e for e in own if (e.size(kind) or 0.0) > limit]
        off += sorted(far, key=lambda e: -(e.size(kind) or 0.0))
    return off


def misses(entries: Sequence[SceEntry], facts: Facts) -> list[Block]:
    columns = [
        *left("table", "flow", "mode"),
        *right(
            "Mbit/s", "delay, ms", "published", "measured", "error", "relative to the link's rate"
        ),
        *words("cause"),
    ]
    blocks: list[Block] = []
    off = listed(entries)
    for quantity in (*QUANTITIES, "jain"):
        cells = [e for e in off if e.table.quantity == quantity]
        known = sum(e.table.quantity == quantity and e.cell.error is not None for e in entries)
        if not known:
            continue
        word = WORDS[quantity]
        limit = f"{LISTED_JAIN:g}" if quantity == "jain" else f"{100 * LISTED:g} %"
        if not cells:
            blocks.append(Text(f"Of {known} values of {word} no value is more than {limit} off."))
            continue
        rows: list[list[Value]] = []
        for e in cells:
            shown = f"{e.cell.error:+.3f}" if quantity == "jain" else signed(e.cell.relative)
            rows.append(
                [
                    f"Table {e.table.number}",
                    flow_of(e) if e.position else e.table.setup.title.partition(",")[0],
                    e.table.setup.mode,
                    f"{e.rate_mbit:g}",
                    f"{e.delay_ms:g}",
                    number(e.cell.published, e.table),
                    number(e.cell.measured, e.table),
                    shown,
                    signed(e.error("capacity")),
                    cause(e),
                ]
            )
        title = f"Cells of {word} that are more than {limit} off"
        blocks.append(
            Table(f"misses-{quantity.replace('_', '-')}", title, columns, rows, "", facts)
        )
    return blocks
