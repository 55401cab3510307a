"""Section: ten flows with ABE compete with ten flows without ABE."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.figures import LinePanel, panel
from tailback.report import Block, Facts, ReportFigure, Table, Value
from tailback.report.tables import right
from tailback_studies.experiments.abe_2017 import groups
from tailback_studies.experiments.abe_2017.sections.words import band, beta_text, betas_of
from tailback_studies.reproduction.shown import with_half


def blocks(points: Sequence[groups.GroupPoint], facts: Facts) -> list[Block]:
    """Show how ten flows with ABE compete with ten flows without ABE."""
    out: list[Block] = []
    frame = pl.DataFrame(
        [
            {"beta": p.beta, "case": p.case, **band("ratio", p.ratio, 1)}
            for p in points
            if p.rtt_ms is None
        ],
        infer_schema_length=None,
    )
    order = list(dict.fromkeys(p.case for p in points))
    chart = panel(
        frame,
        LinePanel.band(
            "ratio",
            "throughput ratio",
            rules=[(limit, f"poster: {limit:g}") for limit in groups.POSTER_RATIO],
            height=260,
        ),
        x="beta",
        x_title="beta after a mark, of the ten flows with ABE",
        series="case",
        series_title="",
        order=order,
        x_ticks=betas_of(points),
    )
    caption = (
        "Mean throughput of ten flows with ABE divided by that of ten flows without, over all "
        "round-trip times. The lines are the range that the poster gives for the average of CUBIC "
        "with ABE against standard TCP at beta 0.7 to 0.85. The poster gives no range for a single "
        "pair or factor."
    )
    out.append(ReportFigure("ten-to-ten", "Ten against ten", chart, caption, facts))
    for case in order:
        subset = [p for p in points if p.case == case]
        rtts: list[float | None] = [
            *sorted({p.rtt_ms for p in subset if p.rtt_ms is not None}),
            None,
        ]
        over = ("all" if rtt is None else f"{rtt:g} ms" for rtt in rtts)
        columns = right("beta", *over, "at equal p")
        known = {(p.beta, p.rtt_ms): p for p in subset}
        rows: list[list[Value]] = []
        for beta in betas_of(subset):
            row: list[Value] = [beta_text(subset[0].abe, beta)]
            for rtt in rtts:
                p = known.get((beta, rtt))
                row.append(None if p is None else with_half(p.ratio, 2))
            predicted = known[beta, None].predicted
            rows.append([*row, None if predicted is None else f"{predicted:.2f}"])
        out.append(
            Table(
                f"ten-to-ten-{subset[0].abe}-{subset[0].standard}",
                case,
                columns,
                rows,
                "Ratio by factor and round-trip time with intervals over seeds. The columns on the "
                "right have the ratio of two flows with the same mark probability.",
                facts,
            )
        )
    return out
