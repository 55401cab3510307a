"""Section on RED's idle clock. This clock determines how fast the average queue falls while the
queue is empty. All runs of other sections use the idle clock that agrees with Table I for two Reno
flows."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.report import Block, Mark, Table, TableCell, Text, Value
from tailback.report.tables import right, words
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.options import CLOCKS, READINGS

TEXT = """
**RED's idle clock, chosen without DCTCP.** Two Reno flows through one RED depend neither on DCTCP,
nor on its thresholds, nor on formula (3). Their values of Table I therefore decide which clock to
use: the one with the smallest mean error, where each error is divided by the tolerance of its
value. The values of Reno and DCTCP are then a prediction with this clock.
"""


def blocks(builder: Builder) -> list[Block]:
    """Compare the errors of the clocks, for two Reno flows and for a Reno flow beside a DCTCP flow.

    Return an empty list unless the results of every clock exist.
    """
    titles = {name: title for name, title, _, _ in READINGS}
    clocks: dict[str, tuple[list[TableCell], list[TableCell]]] = {}
    for name in CLOCKS:
        cells = table1.cells(builder.measured.frames, f"readings/{name}/")
        two = [c for c in cells if c.quantity.startswith("two_reno")]
        rest = [c for c in cells if not c.quantity.startswith("two_reno")]
        if two and rest and all(c.measured is not None for c in two):
            clocks[name] = (two, rest)
    if len(clocks) < len(CLOCKS):
        return []
    chosen = min(clocks, key=lambda name: _mean(clocks[name][0]))
    rows: list[list[Value]] = []
    for name, (two, rest) in clocks.items():
        title = "one step for each 40 B" if name == "taken" else titles[name]
        mark = Mark("chosen", "pass") if name == chosen else None
        rows.append([title, f"{_mean(two):.2f}", _within(two), mark, _within(rest), _text(rest)])
    columns = [
        *words("idle time"),
        *right("two Reno: mean error over tolerance", "within"),
        *words(""),
        *right("Reno and DCTCP: within", "mean error over tolerance"),
    ]
    table = Table("clock", "The idle clock by the values with two Reno flows alone", columns, rows)
    return [Text(TEXT), table]


def _mean(cells: Sequence[TableCell]) -> float:
    errors = [abs(c.error) / c.tolerance for c in cells if c.error is not None and c.tolerance]
    return sum(errors) / len(errors)


def _text(cells: Sequence[TableCell]) -> str | None:
    return None if any(c.error is None for c in cells) else f"{_mean(cells):.2f}"


def _within(cells: Sequence[TableCell]) -> str:
    return f"{sum(c.status == 'pass' for c in cells)} of {len(cells)}"
