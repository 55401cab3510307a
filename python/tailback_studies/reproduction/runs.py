"""Makes a table that describes the runs of each part of an experiment.

A page shows this table if the parts differ in seeds or duration. The other tables of the page then
need no captions about their runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tailback.report import Block, Facts, Table, Text, Value
from tailback.report.tables import left, right


def table(made: Mapping[str, Facts]) -> Table:
    """List the number, seeds and length of the runs of each part of the experiment."""
    rows: list[list[Value]] = [
        [name, facts.runs, facts.seeds, facts.duration, facts.warmup or "nothing"]
        for name, facts in made.items()
        if facts.runs
    ]
    columns = [
        *left("part"),
        *right("runs", "seeds per scenario"),
        *left("duration", "not counted"),
    ]
    return Table("runs", "What was run", columns, rows)


def bare(blocks: Iterable[Block]) -> list[Block]:
    """Return the texts and the tables, but remove the captions that describe the runs of a
    table."""
    return [
        replace(block, facts=Facts()) if isinstance(block, Table) else block
        for block in blocks
        if isinstance(block, Table | Text)
    ]
