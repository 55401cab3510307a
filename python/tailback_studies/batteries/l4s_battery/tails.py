"""Draws the tails of queue delay distributions. A tail is the share of packets that waited longer
than each delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from tailback.figures.spread import Curve, Drawn, Look, curves
from tailback.report import Facts, ReportFigure
from tailback.report.text import plain
from tailback_studies.batteries.l4s_battery.drawing import CLASSES, STAR, several
from tailback_studies.batteries.l4s_battery.gather import Gathered, View


def tails(gathered: Gathered, parts: Mapping[str, str], facts: Facts) -> list[ReportFigure]:
    """Draw the share of packets that waited longer than each delay, at 120 Mbit/s and 10 ms (the
    report's section A.5)."""
    chosen = {
        title: point
        for part, title in parts.items()
        for point in gathered.of(part)
        if (point.at.link, point.at.l_rtt) == (120.0, 10.0)
    }
    lines = {
        variant.name: [
            Curve(title, variant.name, name, found)
            for title, point in chosen.items()
            for name in CLASSES
            if (found := ccdf(point.views[variant.name], name))
        ]
        for variant in gathered.made.variants
    }
    if not any(lines.values()):
        return []
    longest = max(x for own in lines.values() for line in own for x, _ in line.points)

    def draw(columns: Sequence[str]) -> Drawn:
        return curves(
            [line for column in columns for line in lines[column]],
            Look("packets, %", "queue delay longer than, ms", "log", floor=1e-4, height=170),
            rows=list(chosen),
            columns=columns,
            colours=CLASSES,
            x_domain=(0.0, longest),
        )

    base, *_ = gathered.made.variants
    figures = several(
        gathered,
        draw,
        "a5-delay",
        "Queue delay at 120 Mbit/s, 10 ms",
        "Share of packets that waited longer (CCDF), seeds together",
        facts,
    )
    # Remove the sentence of the caption that explains stars, because curves do not have stars.
    star = f" {STAR.format(base=plain(base.name))}."
    return [
        ReportFigure(f.id, f.title, f.chart, f.caption.removesuffix(star), f.facts) for f in figures
    ]


def ccdf(view: View, name: str, steps: int = 40) -> list[tuple[float, float]]:
    """Return the tail of the delays in a class, with `steps` delays per decade.

    Each pair has a delay (in ms) and the percentage of packets that waited longer.
    """
    frames = [
        run.histogram(f"delay_ns.{name}", link=next(iter(run.summary["queues"])))
        for run in view.runs
    ]
    if not frames:
        return []
    merged = pl.concat(frames).group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
    total = int(merged["count"].sum())
    if not total:
        return []
    out: list[tuple[float, float]] = []
    left, last = total, None
    for lower, width, count in merged.select("lower", "width", "count").iter_rows():
        left -= count
        if left <= 0:
            break
        share = 100 * left / total
        if last is None or share <= last * 10 ** (-1 / steps):
            out.append(((lower + width) / 1e6, share))
            last = share
    return out
