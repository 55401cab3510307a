"""Runs one flow through each queue on every kernel, and compares the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailback.comparison.judging import judge
from tailback.comparison.model import Cell, Comparison, VariantResults
from tailback.comparison.points import seeds_by_point
from tailback.comparison.quantities import select
from tailback.comparison.text import quantity_text
from tailback.report import Facts, Section, Table, Text, Value
from tailback.report.tables import left, right, words
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.kernels.causes import CAUSES
from tailback_studies.reproduction.experiment import compared_cells
from tailback_studies.reproduction.sources import scenario

METRICS = (
    "flow.throughput_mbit",
    "flow.rtt_ms.mean",
    "flow.retransmits",
    "link.delay_ms.mean",
    "link.delay_ms.p99",
    "link.drops",
    "link.marks",
)

SHOWN = ("throughput_mbit", "delay_ms.mean", "delay_ms.p99")
"""Columns of the first table."""


def jobs(kernels: Sequence[str], seeds: int) -> list[Job]:
    """Return a job for each kernel. All jobs run the same sweep."""
    made = scenario(__package__, "alone")
    return [Job(made, {"kernel": kernel}, seeds) for kernel in kernels]


def ack_jobs(kernels: Sequence[str], seeds: int) -> list[Job]:
    """Return a job for each kernel. Each job runs the sweep through fq_codel with delayed ACKs
    switched off.
    """
    made = scenario(__package__, "alone")
    own = {"bottleneck.queue": {"aqm": "fq_codel", "ecn": True}, "tcp.delack": False}
    return [Job(made, {"kernel": kernel, **own}, seeds) for kernel in kernels]


def compared(kernels: Sequence[str], results: Sequence[Results]) -> Comparison:
    """Compare each kernel with the first kernel."""
    columns = [
        VariantResults(
            kernel, found.engine, found.version, {}, found, seeds_by_point(found.points), kernel
        )
        for kernel, found in zip(kernels, results, strict=True)
    ]
    return judge(columns, select(METRICS))


def _place(cell: Cell) -> tuple[str, str]:
    """Return the congestion control and the queue of a value."""
    named = str(cell.labels.get("bottleneck.queue", "fq_codel"))
    found = next(name for name in ("fq_codel", "pie", "cake") if name in named)
    return str(cell.params["flows.flow.cc"]), found


def cells(made: Comparison, part: str) -> list[dict[str, Any]]:
    """Return the rows for all-cells.csv."""
    return compared_cells(made.cells, lambda cell: (part, *_place(cell), cell.quantity))


def section(made: Comparison, facts: Facts) -> Section:
    """Show the results of each kernel, the differences beyond noise, and their causes."""
    return Section(
        "alone", "One flow", [_values(made, facts), _differences(made, facts), *_why(made, facts)]
    )


def acks(comparison: Comparison, facts: Facts) -> Section:
    """Show the results of the runs without delayed ACKs."""
    return Section(
        "acks",
        "Without delayed ACKs",
        [
            _values(comparison, facts, "acks-values"),
            _differences(comparison, facts, "acks-differences"),
        ],
    )


def _values(comparison: Comparison, facts: Facts, name: str = "alone-values") -> Table:
    rows: list[list[Value]] = []
    for cell in comparison.cells:
        if cell.quantity not in SHOWN:
            continue
        values = [_text(cell, kernel) for kernel in (v.name for v in comparison.variants)]
        rows.append([*_place(cell), quantity_text(cell.quantity), *values])
    columns = [
        *left("congestion control", "queue", "quantity"),
        *right(*(f"Linux {variant.name}" for variant in comparison.variants)),
    ]
    caption = (
        "Values are means over the seeds. A star marks a value that differs from the value on the "
        "newest kernel by more than noise. The false discovery rate over all differences on this "
        "page is below `5 %`."
    )
    return Table(name, "Throughput and delay of one flow", columns, rows, caption, facts)


def _text(cell: Cell, kernel: str) -> str:
    mean = cell.values[kernel].mean
    if mean is None:
        return ""
    difference = cell.differences.get(kernel)
    star = " *" if difference is not None and difference.flagged else ""
    return f"{mean:.4g}{star}"


def _differences(comparison: Comparison, facts: Facts, name: str = "alone-differences") -> Table:
    rows: list[list[Value]] = []
    for cell in comparison.cells:
        if cell.nothing:
            continue
        for other in comparison.others:
            found = cell.differences.get(other.name)
            if found is None or not found.flagged:
                continue
            relative = "" if found.relative is None else f"{100 * found.relative:+.2g} %"
            here, there = cell.values[comparison.baseline.name].mean, cell.values[other.name].mean
            rows.append(
                [
                    *_place(cell),
                    quantity_text(cell.quantity),
                    f"Linux {other.name}",
                    f"{here:.4g}" if here is not None else "",
                    f"{there:.4g}" if there is not None else "",
                    relative,
                ]
            )
    columns = [
        *left("congestion control", "queue", "quantity", "kernel"),
        *right(f"Linux {comparison.baseline.name}", "other kernel", "difference"),
    ]
    return Table(name, "Every difference beyond noise", columns, rows, "", facts)


def _why(made: Comparison, facts: Facts) -> list[Text | Table]:
    """Count the differences by congestion control and queue, with the causes that were found in the
    source code of the kernels."""
    counts: dict[tuple[str, str, str], int] = {}
    for cell in made.cells:
        for other in made.others:
            difference = cell.differences.get(other.name)
            if difference is not None and difference.flagged:
                key = (*_place(cell), other.name)
                counts[key] = counts.get(key, 0) + 1
    rows: list[list[Value]] = [
        [cc, queue, f"Linux {kernel}", count, CAUSES.get((cc, queue, kernel), "not known")]
        for (cc, queue, kernel), count in counts.items()
    ]
    columns = [
        *left("congestion control", "queue", "kernel"),
        *right("quantities that differ"),
        *words("why, from the sources of both kernels"),
    ]
    return [Table("alone-why", "Why", columns, rows, "", facts)]
