"""Section: completion times of short flows, and window reductions after slow start."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.figures import LinePanel, panels
from tailback.report import Block, Facts, Mark, ReportFigure, Table, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.abe_2017 import layout, short
from tailback_studies.experiments.abe_2017.measured import AbeMeasures
from tailback_studies.experiments.abe_2017.sections.words import beta_text, betas_of
from tailback_studies.reproduction.shown import with_half


def blocks(measurements: AbeMeasures, facts: Facts) -> list[Block]:
    """Show completion times of short flows, and window reductions after slow start."""
    out: list[Block] = []
    for cc, queue in dict.fromkeys((p.cc, p.queue) for p in measurements.sizes):
        subset = [p for p in measurements.sizes if (p.cc, p.queue) == (cc, queue)]
        frame = pl.DataFrame(
            [
                {
                    "size": p.segments,
                    "beta": beta_text(cc, p.beta),
                    "completion": p.completion.mean,
                    "marked": 100 * len(p.unlucky) / max(1, len(p.flows)),
                }
                for p in subset
            ],
            infer_schema_length=None,
        )
        chart = panels(
            frame,
            [
                LinePanel("completion", "completion, s"),
                LinePanel("marked", "flows with a mark, %", height=90),
            ],
            x="size",
            x_title="size, segments",
            series="beta",
            series_title="beta after a mark",
            order=[beta_text(cc, b) for b in betas_of(subset)],
            ordered=True,
            points=False,
        )
        title = f"{layout.NAMES[cc]} on {layout.QUEUES[queue].title}, 80 ms"
        caption = "Mean over seeds; the lower figure has the share of flows with a mark."
        out.append(ReportFigure(f"short-{cc}-{queue}", title, chart, caption, facts))
        out.append(_luck(cc, queue, subset))
    if measurements.steps:
        out.append(_reductions(measurements.steps, facts))
    return out


def _luck(cc: str, queue: str, points: Sequence[short.ShortPoint]) -> Table:
    """For each flow size, show how ABE affects two groups of flows: those that ended before their
    first mark, and those that were marked.
    """
    factors = (beta_text(cc, b) for b in betas_of(points))
    columns = [*left("size, segments"), *right("flows with a mark", *factors)]
    sizes = sorted({p.segments for p in points})
    known = {(p.segments, p.beta): p for p in points}
    standard = layout.STANDARD[cc]
    rows: list[list[Value]] = []
    step = max(1, len(sizes) // 10)
    for size in sizes[::step]:
        base = known[size, standard]
        row: list[Value] = [str(size), f"{len(base.unlucky)} of {len(base.flows)}"]
        for beta in betas_of(points):
            p = known[size, beta]
            lucky, unlucky = _mean(p.lucky), _mean(p.unlucky)
            row.append(" / ".join("\u2013" if v is None else f"{v:.3f}" for v in (lucky, unlucky)))
        rows.append(row)
    return Table(
        f"luck-{cc}-{queue}",
        f"{layout.NAMES[cc]} on {layout.QUEUES[queue].title}: lucky / unlucky",
        columns,
        rows,
        "Mean completion time in seconds of flows without a mark (lucky) and of flows with a mark "
        "(unlucky).",
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _reductions(steps: Sequence[short.Steps], facts: Facts) -> Table:
    columns = [
        *left(""),
        *right(
            "RTT, ms",
            "beta",
            "window over what is held",
            "reductions",
            "most",
            "log_beta(0.5)",
            "runs up to twice that, within",
        ),
    ]
    rows: list[list[Value]] = []
    for s in steps:
        text = f"{s.within} of {s.bounded}"
        rows.append(
            [
                f"{layout.NAMES[s.cc]} on {layout.QUEUES[s.queue].title}",
                f"{s.rtt_ms:g}",
                beta_text(s.cc, s.beta),
                with_half(s.overshoot, 2),
                with_half(s.steps, 1),
                s.most,
                s.bound,
                (Mark(text, "pass" if s.within == s.bounded else "miss") if s.bounded else None),
            ]
        )
    caption = (
        "Number of reductions from the end of slow start until the window is no larger than what "
        "path and target queue hold. The bound log_beta(0.5), rounded up, is for a window of twice "
        "that size. It does not apply if the queue lets the window grow further before it marks."
    )
    return Table("reductions", "Reductions after slow start", columns, rows, caption, facts)
