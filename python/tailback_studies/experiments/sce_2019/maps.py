"""Draws heat maps of the errors in the publication's tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.figures import grid
from tailback.report import Block, Facts, ReportFigure, Section
from tailback_studies.experiments.sce_2019.layout import MODES, NAMES, QUANTITIES, WORDS
from tailback_studies.experiments.sce_2019.points import SceEntry

# Error at which the colour scale ends, by quantity.
LIMITS = {"throughput_mbit": 0.1, "tcp_rtt_ms": 0.25}
# Names of modes in headings.
MODE_WORDS = {
    "flowblind": "one queue",
    "flowblind sce-single": "one queue, sce-single",
    "triple-isolate": "a queue for each flow",
}


def sections(entries: Sequence[SceEntry], facts: Facts) -> list[Section]:
    groups: list[tuple[str, str, list[SceEntry]]] = [
        ("one-flow", "One flow", [e for e in entries if e.table.setup.kind == "one-flow"])
    ]
    for mode in MODES:
        cells = [e for e in entries if e.table.setup.mode == mode]
        groups.append((mode.replace(" ", "-"), f"Two flows, {MODE_WORDS[mode]}", cells))
    out = []
    for group, title, cells in groups:
        blocks: list[Block] = []
        for quantity in QUANTITIES:
            chosen = [
                e for e in cells if e.table.quantity == quantity and e.cell.relative is not None
            ]
            if chosen:
                blocks.append(_map(group, quantity, chosen, facts))
        out.append(Section(f"map-{group}", title, blocks))
    return [section for section in out if section.blocks]


def _map(group: str, quantity: str, entries: Sequence[SceEntry], facts: Facts) -> ReportFigure:
    shared = entries[0].table.setup.shared and quantity == "throughput_mbit"
    frame = pl.DataFrame(
        [
            {
                "flow": flow_of(entry),
                "rate": entry.rate_mbit,
                "delay": entry.delay_ms,
                "error": entry.error("capacity" if shared else "relative"),
            }
            for entry in entries
        ]
    )
    limit = LIMITS[quantity]
    single = entries[0].table.setup.kind == "one-flow"
    chart = grid(
        frame,
        x="delay",
        y="rate",
        value="error",
        facet="flow",
        x_title="delay, ms",
        y_title="Mbit/s",
        value_title="error, %",
        order=list(dict.fromkeys(frame["flow"].to_list())),
        limit=limit,
        columns=3 if single else 5,
    )
    over = (
        "the measured value minus the published value, divided by Cake's rate"
        if shared
        else "the measured value divided by the published value, minus one"
    )
    caption = (
        f"Each cell shows a relative error, which is {over}. All errors above {100 * limit:g} % "
        f"have the same colour."
    )
    figure_id = f"error-{group}-{quantity.replace('_', '-')}"
    return ReportFigure(figure_id, f"Error of the {WORDS[quantity]}", chart, caption, facts)


def flow_of(entry: SceEntry) -> str:
    if not entry.peer:
        return NAMES[entry.cc]
    if entry.peer == entry.cc:
        return f"{NAMES[entry.cc]} {entry.position} of 2"
    return f"{NAMES[entry.cc]} by {NAMES[entry.peer]}"
