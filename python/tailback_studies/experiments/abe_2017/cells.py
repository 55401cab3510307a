"""Lists the numbers of all parts of the experiment as rows for cells.csv and `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.report import TableCell
from tailback.report.tables import csv_text
from tailback_studies.experiments.abe_2017 import (
    enter,
    equal,
    groups,
    layout,
    short,
    single,
    tradeoff,
)
from tailback_studies.experiments.abe_2017.measured import AbeMeasures

# A measured value, and the value that the theory predicts.
Predicted = tuple[TableCell, float | None]


def cells(measurements: AbeMeasures) -> list[Predicted]:
    """Return all numbers of these parts of the experiment as rows."""
    return [
        *_single(measurements.single),
        *_equal(measurements.equal),
        *_enter(measurements.enter),
        *_groups(measurements.groups),
        *_short(measurements.sizes, measurements.steps),
        *_tradeoff(measurements.tradeoff),
    ]


def _one(name: str, quantity: str, unit: str, value: float | None) -> TableCell:
    return TableCell(name, quantity, unit, None, value, 0 if value is None else 1, None)


def part_title(part: str) -> str:
    """Return the poster's name for a part of the experiment, such as "Experiment 1"."""
    return part.replace("-", " ").capitalize()


def _single(points: Sequence[single.SinglePoint]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        s = p.setup
        cc = s.cc if s.fast_convergence else f"{s.cc} without fast convergence"
        name = (
            f"{part_title(s.part)}/{cc}/{s.queue}/{s.rate_mbit:g}Mbit/{p.rtt_ms:g}ms/"
            f"beta {p.beta:g}"
        )
        predicted = None if p.doubt else p.predicted
        out.append((TableCell.of(name, "utilisation", "", None, p.utilisation), predicted))
        if not p.standard:
            out.append((TableCell.of(name, "throughput_gain", "", None, p.gain), None))
        for percentile in ("p50", "p99"):
            value = p.delay[percentile]
            out.append((_one(name, f"queue_delay_{percentile}", "ms", value), None))
    return out


def _equal(points: Sequence[equal.EqualPoint]) -> list[Predicted]:
    return [
        (
            TableCell.of(
                f"Equal probability/{p.cc}/{p.marks} marks/beta {p.beta:g}",
                "rate_ratio_equal_p",
                "",
                None,
                p.ratio,
            ),
            p.table,
        )
        for p in points
        if p.beta != layout.STANDARD[p.cc]
    ]


def _enter(points: Sequence[enter.EnterPoint]) -> list[Predicted]:
    return [
        (
            TableCell.of(
                f"Experiment 5/{p.cc}/{p.queue}/{p.rtt_ms:g}ms/beta {p.beta:g}",
                "convergence",
                "s",
                None,
                p.seconds,
            ),
            None,
        )
        for p in points
    ]


def _groups(points: Sequence[groups.GroupPoint]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        rtt = "all RTTs" if p.rtt_ms is None else f"{p.rtt_ms:g}ms"
        name = f"Experiment 6/{p.abe} against {p.standard}/{p.queue}/{rtt}/beta {p.beta:g}"
        # For these ratios, the poster gives only a range of averages. The poster does not give a
        # ratio for each backoff factor.
        out.append((TableCell.of(name, "throughput_ratio", "", None, p.ratio), p.predicted))
    return out


def _short(sizes: Sequence[short.ShortPoint], steps: Sequence[short.Steps]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in sizes:
        name = f"Experiment 7/{p.cc}/{p.queue}/{p.segments} segments/beta {p.beta:g}"
        out.append((TableCell.of(name, "completion", "s", None, p.completion), None))
    for s in steps:
        name = f"Experiment 7/{s.cc}/{s.queue}/{s.rtt_ms:g}ms/beta {s.beta:g}"
        out.append((TableCell.of(name, "reduction_steps", "", None, s.steps), float(s.bound)))
    return out


def _tradeoff(points: Sequence[tradeoff.TradeoffPoint]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        name = f"Trade-off/{p.cc}/{p.queue}/beta {p.beta:g}"
        for quantity, unit, value in (
            ("gain_alone", "", p.gain),
            ("competitor_loss", "", p.loss),
            ("queue_delay_mean", "ms", p.delay_ms),
        ):
            out.append((_one(name, quantity, unit, value), None))
        out.append((TableCell.of(name, "convergence", "s", None, p.convergence_s), None))
    return out


def predicted(numbers: Sequence[Predicted]) -> str:
    """Return measured and predicted values as CSV, for values with a prediction."""

    def short_form(number: float) -> str:
        return f"{number:.6g}"

    rows: list[Sequence[object]] = [("id", "quantity", "predicted", "measured", "n", "ci95")]
    for cell, value in numbers:
        if value is not None and cell.measured is not None:
            half = None if cell.ci95 is None else short_form(cell.ci95)
            numbers_of = (short_form(value), short_form(cell.measured), cell.n, half)
            rows.append((cell.id, cell.quantity, *numbers_of))
    return csv_text(rows)
