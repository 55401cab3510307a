"""Draws the errors of all scenarios, grouped by kind of queue. Also draws the windows and queues of
both engines over time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.figures.theme import INK, Chart
from tailback.figures.time_series import thin, time_series
from tailback.report.model import ReportFigure, Table, Value
from tailback.report.tables import left
from tailback.store import layout
from tailback.store.run_folder import StoredRun
from tailback_studies.validation import Validation
from tailback_studies.validation.cells import Cell
from tailback_studies.validation.grid import FAMILIES, QUEUES
from tailback_studies.validation.tables import FAMILY
from tailback_studies.validation.verdicts import LIMITS

TRACED = 3
"""Number of scenarios whose traces are drawn because their errors are the largest."""

REPRESENTATIVE = (
    ("codel-ecn", ("cubic",), 50e6, 0.04),
    ("fifo", ("reno",), 10e6, 0.04),
    ("red-ecn", ("dctcp",), 50e6, 0.01),
    ("pie", ("cubic",), 10e6, 0.1),
    ("codel-ecn", ("cubic", "dctcp"), 50e6, 0.04),
)
"""Scenarios whose traces are always drawn. Each item is a queue, flows, a rate and a round-trip
time."""

MOST_TRACES = 4
"""Largest number of flows of a scenario whose windows are drawn."""

FIXED = {queue.name for queue in QUEUES if queue.fixed}

SAMPLES = 1600
"""Largest number of rows of a panel of traces."""

TITLES = {
    "throughput": "throughput",
    "order": "in order",
    "delay": "queue delay",
    "signals": "marks, drops",
    "ratio": "ratio",
    "completion": "completion",
    "retransmits": "retransmits",
}
"""Titles of panels, by quantity."""

STEP = 38
"""Width of a column of a heat map, in pixels."""

COLUMNS = 3
"""Number of heat maps side by side. With more heat maps in a row, the numbers in them would become
too small to read."""


def heats(made: Validation) -> Iterator[ReportFigure]:
    """Draw the errors of all scenarios, with a panel for each quantity.

    Each group of queues has a figure, or several if its queues differ in rates and round-trip
    times."""
    for family in FAMILIES:
        groups = _groups([cell for cell in made.cells if FAMILY[cell.queue] == family])
        for cells in groups:
            queues = list(dict.fromkeys(cell.queue for cell in cells))
            name, title = family.lower().replace(" ", "-"), family
            if len(groups) > 1:
                name, title = f"{name}-{queues[0]}", f"{family}, {', '.join(queues)}"
            chart = _panels(_rows(cells), cells)
            yield ReportFigure(f"errors-{name}", f"{title}: errors in percent", chart, _HEAT)


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Group the scenarios by queue.

    Two queues are in one group if one of them was run at all rates and RTTs of the
    other. Two queues are also in one group if each of them was run at only one rate and RTT.
    """
    groups: list[list[Cell]] = []
    for queue in dict.fromkeys(cell.queue for cell in cells):
        members = [cell for cell in cells if cell.queue == queue]
        for group in groups:
            here, there = ({_at(c) for c in side} for side in (members, group))
            if here <= there or there <= here:
                group += members
                break
        else:
            groups.append(members)
    return groups


_HEAT = (
    "The figure shows the simulator's errors relative to Linux, in percent. For throughput, the "
    "figure shows the flow with the largest error relative to its fair share. The panel *in order* "
    "sorts identical flows by throughput, and compares the mean of each quarter. Colours show the "
    "error divided by its limit. Frames mark errors that exceed the limit by more than noise."
)


def _rows(cells: Sequence[Cell]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for cell in cells:
        for limit in LIMITS:
            found = cell.worst(limit.quantity)
            if found is None:
                continue
            error = 100 * found.error
            near = limit.within(found)
            over = max(-9.0, min(9.0, error / (100 * limit.relative)))
            rows.append(
                {
                    "of": f"{cell.queue}: {cell.flows}",
                    "at": _place(*_at(cell)),
                    "quantity": limit.quantity,
                    "error": max(-999.0, min(999.0, error)),
                    # Do not colour a scenario as bad if its error is within the absolute limit,
                    # even if the relative error is large.
                    "over": max(-1.0, min(1.0, over)) if near else over,
                    "text": _short(error),
                    "missed": limit.missed(cell),
                }
            )
    return pl.DataFrame(rows)


def _at(cell: Cell) -> tuple[float, float]:
    """Return the rate and the round-trip time of a scenario for the figure's axes. If the queue has
    only one rate and one round-trip time, return 0 for the rate and for the round-trip time.
    """
    return (0.0, 0.0) if cell.queue in FIXED else (cell.rate_bit, cell.rtt_s)


def _place(rate_bit: float, rtt_s: float) -> str:
    if not rate_bit:
        return "unchanged"
    return f"{rate_bit / 1e6:g} Mbit/s, {rtt_s * 1e3:g} ms"


def _panels(frame: pl.DataFrame, cells: Sequence[Cell]) -> Chart:
    order = list(dict.fromkeys(f"{cell.queue}: {cell.flows}" for cell in cells))
    at = [_place(*where) for where in sorted(set(map(_at, cells)))]
    charts: list[Chart] = []
    for quantity, title in TITLES.items():
        rows = frame.filter(pl.col("quantity") == quantity)
        if rows.is_empty():
            continue
        first = len(charts) % COLUMNS == 0
        x = alt.X(
            "at:N",
            sort=at,
            title=None,
            scale=alt.Scale(domain=at),
            axis=alt.Axis(labelAngle=-60, labelLimit=140),
        )
        y = alt.Y(
            "of:N",
            sort=order,
            title=None,
            scale=alt.Scale(domain=order),
            axis=alt.Axis(labels=first, ticks=first, labelLimit=260),
        )
        base = alt.Chart(rows)
        boxes = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
            x=x,
            y=y,
            color=alt.Color(
                "over:Q",
                title="error / limit",
                scale=alt.Scale(scheme="purpleorange", domain=[-2, 2], clamp=True, reverse=True),
                legend=alt.Legend(orient="bottom", gradientLength=220, titleLimit=240),
            ),
            tooltip=["of:N", "at:N", alt.Tooltip("error:Q", format="+.2f")],
        )
        frames = (
            base.transform_filter("datum.missed")
            .mark_rect(fill=None, stroke=INK, strokeWidth=1.6)
            .encode(x=x, y=y)
        )
        dark = alt.condition("abs(datum.over) > 1.4", alt.value("white"), alt.value(INK))
        texts = base.mark_text(fontSize=9).encode(x=x, y=y, text="text:N", color=dark)
        charts.append(
            alt.layer(boxes, frames, texts).properties(
                title=title, width=max(STEP * len(at), 90), height=17 * len(order)
            )
        )
    return alt.concat(*charts, columns=COLUMNS, spacing=14)


def _short(error: float) -> str:
    if not math.isfinite(error) or abs(error) >= 1000:
        return "\u221e" if error > 0 else "\u2212\u221e"
    return f"{error:+.0f}" if abs(error) >= 9.95 else f"{error:+.1f}"


def traced(made: Validation) -> list[tuple[Cell, str]]:
    """Return the scenarios to draw over time, and for each the reason why it was chosen."""
    by_key = {(c.queue, c.mix, c.rate_bit, round(c.rtt_s, 9)): c for c in made.cells}
    chosen = {by_key[key].id: (by_key[key], "always") for key in REPRESENTATIVE if key in by_key}
    told = {miss.cell.id: miss.cell for miss in made.misses if not miss.inside_noise}
    for cell in list(told.values())[:TRACED]:
        chosen.setdefault(cell.id, (cell, "beyond a limit by more than noise, one of the worst"))
    return list(chosen.values())


def of_traces(made: Validation) -> Table:
    """List the scenarios that are drawn over time."""
    rows: list[list[Value]] = [[cell.id, why] for cell, why in traced(made)]
    return Table("traced", "Scenarios that are drawn", left("scenario", "why"), rows)


def traces(made: Validation) -> Iterator[ReportFigure]:
    """Draw the windows and the queue of some scenarios."""
    for cell, _ in traced(made):
        chart, rules = _trace(made, cell)
        name = cell.id.replace("/", "").replace(" ", "-").replace("+", "-").lower()
        caption = f"Congestion windows and queue of both engines, first seed{rules}."
        yield ReportFigure(f"trace-{name}", cell.id, chart, caption)


def _trace(made: Validation, cell: Cell) -> tuple[Chart, str]:
    series = {
        engine: StoredRun(layout.run_path(made.ran.root, ids[0])).series()
        for engine, ids in cell.runs.items()
    }
    names = {
        engine: list(frame.filter(pl.col("quantity") == "cwnd")["flow"].unique().sort())
        for engine, frame in series.items()
    }
    shown = range(min(len(cell.mix), MOST_TRACES))
    panels = [("cwnd", i, "cwnd, segments", 1.0) for i in shown]
    panels.append(("backlog_bytes", -1, "backlog, kB", 1e-3))
    charts, rules = [], set()
    for quantity, i, title, scale in panels:
        parts = []
        for engine, frame in series.items():
            rows = frame.filter(pl.col("quantity") == quantity)
            if i >= 0:
                rows = rows.filter(pl.col("flow") == names[engine][i])
            parts.append(
                rows.select(
                    (pl.col("time_ns") / 1e9).alias("time_s"),
                    pl.lit(engine).alias("engine"),
                    pl.col("value") * scale,
                )
            )
        drawn, rule = thin(pl.concat(parts), by=["engine"], limit=SAMPLES)
        rules |= {rule} if rule else set()
        chart = time_series(
            drawn,
            y_title=title,
            order=["sim", "kernel"],
            series="engine",
            series_title="engine",
            height=120,
        )
        charts.append(chart.properties(title=names["sim"][i] if i >= 0 else "queue"))
    made_of = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", color="shared")
    return made_of, "".join(f"; {rule}" for rule in sorted(rules))
