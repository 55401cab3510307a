"""The numbers of every part as rows of cells.csv and of `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tailback.experiments.abe_2017 import (
    enter,
    equal,
    groups,
    layout,
    short,
    single,
    tradeoff,
    truth,
)
from tailback.metrics.statistics import Estimate
from tailback.report import Cell


@dataclass(frozen=True)
class Measured(truth.Found):
    """Everything that was measured, by part."""

    enter: Sequence[enter.Point] = field(default_factory=tuple)
    tradeoff: Sequence[tradeoff.Point] = field(default_factory=tuple)


#: A cell, and what theory says of it.
Predicted = tuple[Cell, float | None]


def cells(found: Measured) -> list[Predicted]:
    """Every number."""
    return [
        *_single(found.single),
        *_equal(found.equal),
        *_enter(found.enter),
        *_groups(found.groups),
        *_short(found.sizes, found.steps),
        *_tradeoff(found.tradeoff),
    ]


def _cell(
    name: str, quantity: str, unit: str, value: Estimate, published: float | None = None
) -> Cell:
    return Cell(name, quantity, unit, published, value.mean, value.n, value.half_width)


def _one(name: str, quantity: str, unit: str, value: float | None) -> Cell:
    return Cell(name, quantity, unit, None, value, 0 if value is None else 1, None)


def part_title(part: str) -> str:
    """As the source numbers it."""
    return part.replace("-", " ").capitalize()


def _single(points: Sequence[single.Point]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        s = p.setup
        cc = s.cc if s.fast_convergence else f"{s.cc} without fast convergence"
        name = (
            f"{part_title(s.part)}/{cc}/{s.queue}/{s.rate_mbit:g}Mbit/{p.rtt_ms:g}ms/"
            f"beta {p.beta:g}"
        )
        predicted = None if p.doubt else p.predicted
        out.append((_cell(name, "utilisation", "", p.utilisation), predicted))
        if not p.standard:
            out.append((_cell(name, "throughput_gain", "", p.gain), None))
        for percentile in ("p50", "p99"):
            value = p.delay[percentile]
            out.append((_one(name, f"queue_delay_{percentile}", "ms", value), None))
    return out


def _equal(points: Sequence[equal.Point]) -> list[Predicted]:
    return [
        (
            _cell(
                f"Equal probability/{p.cc}/{p.marks} marks/beta {p.beta:g}",
                "rate_ratio_equal_p",
                "",
                p.ratio,
            ),
            p.table,
        )
        for p in points
        if p.beta != layout.STANDARD[p.cc]
    ]


def _enter(points: Sequence[enter.Point]) -> list[Predicted]:
    return [
        (
            _cell(
                f"Experiment 5/{p.cc}/{p.queue}/{p.rtt_ms:g}ms/beta {p.beta:g}",
                "convergence",
                "s",
                p.seconds,
            ),
            None,
        )
        for p in points
    ]


def _groups(points: Sequence[groups.Point]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        rtt = "all RTTs" if p.rtt_ms is None else f"{p.rtt_ms:g}ms"
        # The poster says of CUBIC with ABE against "standard TCP" that the average is between.
        published = groups.PUBLISHED.get(p.beta) if p.rtt_ms is None else None
        name = f"Experiment 6/{p.abe} against {p.standard}/{p.queue}/{rtt}/beta {p.beta:g}"
        out.append((_cell(name, "throughput_ratio", "", p.ratio, published), p.predicted))
    return out


def _short(sizes: Sequence[short.Point], steps: Sequence[short.Steps]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in sizes:
        name = f"Experiment 7/{p.cc}/{p.queue}/{p.segments} segments/beta {p.beta:g}"
        out.append((_cell(name, "completion", "s", p.completion), None))
    for s in steps:
        name = f"Experiment 7/{s.cc}/{s.queue}/{s.rtt_ms:g}ms/beta {s.beta:g}"
        out.append((_cell(name, "reduction_steps", "", s.steps), float(s.bound)))
    return out


def _tradeoff(points: Sequence[tradeoff.Point]) -> list[Predicted]:
    out: list[Predicted] = []
    for p in points:
        name = f"Trade-off/{p.cc}/{p.queue}/beta {p.beta:g}"
        for quantity, unit, value in (
            ("gain_alone", "", p.gain),
            ("competitor_loss", "", p.loss),
            ("queue_delay_mean", "ms", p.delay_ms),
        ):
            out.append((_one(name, quantity, unit, value), None))
        out.append((_cell(name, "convergence", "s", p.convergence_s), None))
    return out
