"""Section: the utilisation that the formula of the ABE paper predicts, compared with
measurements."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from tailback.figures.theme import colour_scale
from tailback.report import Facts, ReportFigure, Section, Table, Text
from tailback.report.tables import left, right
from tailback_studies.experiments.abe_2017 import layout, single, truth


def section(points: Sequence[single.SinglePoint], facts: Facts) -> Section:
    """Compare the formula's predictions with measurements, and show where the formula does not
    apply."""
    judged = truth.predicted(points)
    order = ["hold", "short path", "unequal cycles", "Reno-friendly", "fast convergence"]
    gaps: dict[tuple[str, str], list[tuple[float, float]]] = {}
    rows = []
    for p in judged:
        assumptions = p.doubt or "hold"
        one, each = 100 * truth.gap(p), 100 * truth.cycle_gap(p)
        gaps.setdefault((p.setup.cc, assumptions), []).append((one, each))
        measured = 100 * min(1.0, p.utilisation.mean or 0.0)
        for how, by in (("one cycle, the mean", one), ("cycle by cycle", each)):
            rows.append(
                {
                    "how": how,
                    "predicted": measured - by,
                    "measured": measured,
                    "assumptions": assumptions,
                    "what": truth.where(p),
                }
            )
    frame = pl.DataFrame(rows)
    low = 5 * (float(min(frame["predicted"].min(), frame["measured"].min())) // 5)  # type: ignore[type-var, arg-type]
    scale = alt.Scale(domain=[low, 100], nice=False)
    line = (
        alt.Chart(pl.DataFrame({"x": [low, 100.0], "y": [low, 100.0]}))
        .mark_line(color="#52606d", strokeDash=[5, 4], strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
    )
    dots = (
        alt.Chart(frame)
        .mark_point(filled=True, size=40)
        .encode(
            x=alt.X("predicted:Q", title="utilisation by the formula, %", scale=scale),
            y=alt.Y("measured:Q", title="measured, %", scale=scale),
            color=alt.Color("assumptions:N", scale=colour_scale(order)),
            tooltip=["what:N", "predicted:Q", "measured:Q"],
        )
    )
    charts = [
        alt.layer(line, dots.transform_filter(alt.datum.how == how)).properties(
            width=290, height=290, title=how
        )
        for how in ("one cycle, the mean", "cycle by cycle")
    ]
    chart = alt.hconcat(*charts, spacing=20)
    figure = ReportFigure(
        "formula",
        "Utilisation: measured against the formula",
        chart,
        "Each point is a factor at a round-trip time. Left: the formula of the section below, with "
        "the mean window at reductions. Right: the formula for each cycle with its own windows.",
        facts,
    )
    table = Table(
        "formula-gaps",
        "Where its assumptions hold",
        [
            *left("", "assumptions"),
            *right(
                "values",
                "mean gap, points",
                "largest",
                "within 2",
                "cycle by cycle: largest",
                "within 2",
            ),
        ],
        [
            [
                layout.NAMES[cc],
                name,
                len(gaps[cc, name]),
                f"{sum(g for g, _ in gaps[cc, name]) / len(gaps[cc, name]):+.2f}",
                f"{max((g for g, _ in gaps[cc, name]), key=abs):+.2f}",
                sum(abs(g) <= 2 for g, _ in gaps[cc, name]),
                f"{max((e for _, e in gaps[cc, name]), key=abs):+.2f}",
                sum(abs(e) <= 2 for _, e in gaps[cc, name]),
            ]
            for cc in ("reno", "cubic")
            for name in order
            if (cc, name) in gaps
        ],
        "Gap: measured minus predicted utilisation. Every value counts. A path is short if it "
        f"holds fewer than {single.LEAST_PATH:g} segments; cycles are unequal if the windows at "
        f"reductions have a standard deviation of more than {100 * single.EQUAL_CYCLES:g} % of "
        "their mean. These limits were set after the values were known.",
    )
    return Section("formula", "The formula", [Text(FORMULA), figure, table])


FORMULA = """
The formula assumes that the window is a sawtooth from beta x to x, where x is the window at a
reduction divided by the bandwidth-delay product. For AIMD the utilisation is u = [(1 -
beta\u00b2x\u00b2)/2 + (x\u00b2 - 1)/2] / [(1 - beta x) + (x\u00b2 - 1)/2]. For CUBIC it follows
from the cubic curve: (3 + beta)/4 for x = 1. x is measured after the warm-up, as ssthresh divided
by beta.

The formula ignores the round trip of the reduction, in which the window does not grow, and ACKs for
two segments. Together they cost about two segments of window, which matters on short paths (**short
path**). The formula also assumes equal cycles. But PIE draws its marks at random, and CoDel marks a
second time if a gentle backoff does not empty the queue within an interval (**unequal cycles**).

If Reno's growth reaches the old window first, CUBIC grows like Reno and not by its curve
(**Reno-friendly**). Alone on CoDel, CUBIC gets the mark on its plateau, a little below the last
maximum, so **fast convergence** makes every other cycle longer and lower. Without fast convergence
(last set-up of experiment 4) the effect of whole segments remains: the last segment below the
plateau takes `cbrt(1/C)` seconds, while the curve of the formula is already at the top.

**Cycle by cycle** applies the same formula from each reduction to the next, including these
effects. Values with larger errors have several reductions between two samples of ssthresh.
"""
