"""Section: the gains and the costs of each backoff factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import Chart, colour_scale
from tailback.report import Block, Facts, ReportFigure, Table, Text, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.abe_2017 import layout
from tailback_studies.experiments.abe_2017.sections.words import beta_text
from tailback_studies.experiments.abe_2017.tradeoff import TradeoffPoint as Choice
from tailback_studies.reproduction.shown import with_half

# Columns of the table. Each column has a field, a title, and a function that returns the value for
# a point.
COSTS: Sequence[tuple[str, str, Callable[[Choice], float | None]]] = (
    ("loss", "loss of a competitor, %", lambda p: 100 * p.loss),
    ("delay", "mean queue delay, ms", lambda p: p.delay_ms),
    ("convergence", "time to a fair share, s", lambda p: p.convergence_s.mean),
)


def blocks(points: Sequence[Choice], facts: Facts) -> list[Block]:
    """Show all gains and costs of the factors in one table."""
    out: list[Block] = [Text(TRADE_OFF)]
    for cc in dict.fromkeys(p.cc for p in points):
        own = [p for p in points if p.cc == cc]
        out += [_choice_chart(cc, own, facts), _choice_table(cc, own, facts)]
    return out


def _choice_chart(cc: str, points: Sequence[Choice], facts: Facts) -> ReportFigure:
    queues = [layout.QUEUES[q].title for q in dict.fromkeys(p.queue for p in points)]
    frame = pl.DataFrame(
        [
            {
                "queue": layout.QUEUES[p.queue].title,
                "beta": p.beta,
                "gain": 100 * p.gain,
                **{name: value(p) for name, _, value in COSTS},
                "front": "on it" if p.best else "off it",
                "label": f"{p.beta:g}" if p.beta in (layout.STANDARD[cc], 0.8, 0.9) else "",
            }
            for p in points
        ]
    )
    colour = alt.Color("queue:N", scale=colour_scale(queues), legend=alt.Legend(title=None))
    charts: list[Chart] = []
    for name, title, _ in COSTS:
        x = alt.X(f"{name}:Q", title=title, scale=alt.Scale(zero=False))
        y = alt.Y("gain:Q", title="gain alone, %" if not charts else None)
        base = alt.Chart(frame).encode(x=x, y=y)
        line = base.mark_line(strokeWidth=1, opacity=0.6).encode(color=colour, order="beta:Q")
        dots = base.mark_point(filled=False, size=45, opacity=1, strokeWidth=1.5).encode(
            color=colour,
            fill=alt.Fill("queue:N", scale=colour_scale(queues), legend=None),
            fillOpacity=alt.condition("datum.front == 'on it'", alt.value(1), alt.value(0)),
            tooltip=["queue:N", "beta:Q", "gain:Q", *(f"{n}:Q" for n, _, _ in COSTS), "front:N"],
        )
        text = base.mark_text(dy=-8, fontSize=9).encode(text="label:N", color=colour)
        charts.append(alt.layer(line, dots, text).properties(width=215, height=260))
    chart = alt.hconcat(*charts, spacing=14)
    title = f"{layout.NAMES[cc]}: gain against each cost"
    caption = (
        f"A line for each queue, from beta {layout.STANDARD[cc]:g} (gain 0) up; some points "
        "are labelled with their factor. A filled point is on the Pareto front of gain, loss, "
        "delay and convergence in its queue. For a hollow point another factor is as good in all "
        "of these and better in one. Differences below 1 point of gain, 2 of loss, 1 ms and 1 s "
        "are ignored."
    )
    return ReportFigure(f"trade-off-{cc}", title, chart, caption, facts)


def _choice_table(cc: str, points: Sequence[Choice], facts: Facts) -> Table:
    columns = [
        *left("queue"),
        *right(
            "beta",
            "gain",
            "competitor's loss",
            "queue delay, ms",
            "99th percentile",
            "convergence, s",
        ),
        *left("Pareto front"),
    ]
    rows: list[list[Value]] = [
        [
            layout.QUEUES[p.queue].title,
            beta_text(cc, p.beta),
            f"{100 * p.gain:+.1f} %",
            f"{100 * p.loss:+.1f} %",
            f"{p.delay_ms:.2f}",
            f"{p.delay_p99_ms:.1f}",
            with_half(p.convergence_s, 1),
            "on it" if p.best else "",
        ]
        for p in points
    ]
    return Table(f"trade-off-table-{cc}", layout.NAMES[cc], columns, rows, "", facts)


TRADE_OFF = """
All runs have a rate of 10 Mbit/s and a round-trip time of 80 ms. **Gain** is the increase of the
throughput of a single flow with ABE over the standard backoff; **queue delay** is that of the same
flow. **Loss** is the throughput that a flow loses if its competitor has ABE instead of the standard
backoff. **Convergence** is the time of experiment 5 with the factor in both flows. In a queue of
its own (FQ-CoDel, Cake) a competitor loses only capacity that the other flow left unused with the
standard backoff. Through DualPI2 all these flows pass the classic queue.
"""
