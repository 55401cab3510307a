"""Makes a table of the runs of a page, for pages whose parts have different runs. The table
replaces the captions of all other tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tailback.report import Block, Facts, Table, Text, Value
from tailback.report.tables import left, right


def table(made: Mapping[str, Facts]) -> Table:
    """List the number of runs of each part, their seeds and their lengths."""
    rows: list[list[Value]] = [
        [name, facts.runs, facts.seeds, facts.duration, facts.warmup or "nothing"]
        for name, facts in made.items()
        if facts.runs
    ]
    columns = [
        *left("part"),
        *right("runs", "seeds per point"),
        *left("duration", "not counted"),
    ]
    return Table("runs", "What was run", columns, rows)


def bare(blocks: Iterable[Block]) -> list[Block]:
    """Return tables and texts without the facts that the table of runs contains."""
    return [
        replace(block, facts=Facts()) if isinstance(block, Table) else block
        for block in blocks
        if isinstance(block, Table | Text)
    ]
