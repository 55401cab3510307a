"""The report: how far off each group of cells is, figures, every row, and what was run."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tailback.experiments.dualpi2_2022 import charts, truth
from tailback.experiments.dualpi2_2022.causes import DECLARED, cause
from tailback.experiments.dualpi2_2022.layout import (
    ARCHIVES,
    MIXED,
    OVERLOAD,
    RATIOS,
    STATISTICS,
    Archive,
    Run,
)
from tailback.experiments.dualpi2_2022.points import Entry
from tailback.report import Column, Facts, Figure, Mark, Report, Section, Table, Text, Value
from tailback.results import Results

TITLE = "DualPI2 (2022), run again"
SOURCE = (
    "O. Albisser and others: result files of \u201cDual Queue Coupled AQM: Deployable Very Low "
    "Queuing Delay for All\u201d, arXiv 2209.01078, 2022"
)
#: Quantities that have a figure: id, title, stem of the columns with the class, axis.
DRAWN: tuple[tuple[str, str, str, str], ...] = (
    ("delay", "Queue delay", "qs", "ms"),
    ("rate", "Rate of a flow", "rpf", "Mbit/s"),
    ("marks", "Marks of the packets forwarded", "marks", "%"),
    ("drops", "Drops of the packets that came", "drops", "%"),
)
#: Percentiles that the source has, as shares beyond.
_BEYOND = {"p1": 99.0, "p25": 75.0, "p75": 25.0, "p99": 1.0}


@dataclass(frozen=True)
class Ran:
    """What a report rests on."""

    facts: Facts
    runs: int
    quick: bool
    #: Tails of queue delays, as `tails` makes them.
    tails: pl.DataFrame | None = None


def ran(runs: Sequence[Run], results: Sequence[Results], *, quick: bool, draw: bool = True) -> Ran:
    """The facts of these results."""
    stored = [run for result in results for run in result]
    engine, version = (results[0].engine, results[0].version) if results else ("", "")
    deviations: tuple[str, ...] = ("every segment is a packet: no TSO, GSO, GRO",)
    if engine == "kernel":
        deviations = ("today's Linux in virtual time instead of 5.10", *deviations)
    if quick:
        deviations = ("50 s of a run count, not 250 s", *deviations)
    lengths = sorted({run.summary["duration_s"] for run in stored})
    facts = Facts(
        runs=len(stored),
        seeds=len({run.seed for run in stored}),
        duration=f"{lengths[0]:g} to {lengths[-1]:g} s simulated" if lengths else "",
        warmup="44 s and 40 times the larger round-trip time",
        engine=f"{engine} {version}",
        deviations=deviations,
    )
    return Ran(facts, len(stored), quick, tails(runs, results) if draw else None)


def report(entries: Sequence[Entry], laws: Sequence[truth.Law], made: Ran, name: str) -> Report:
    """The report of a run."""
    lead = (
        "An L4S flow and a classic one with their own round-trip times through DualPI2, and flows "
        "with ECN and without through PIE and FQ-CoDel; UDP that overloads either class of DualPI2."
    )
    if made.quick:
        lead += " A quick run: the published rows only, one fifth of their time, one seed."
    facts = made.facts
    sections = [
        Section("result", "How far off", _result(entries, laws, facts)),
        *_figures(entries, made),
        Section("misses", "Cells beyond their goal", _misses(entries, facts)),
        Section("set-up", "Set-up", [_declared(facts)]),
        *_tables(entries),
    ]
    return Report(
        name=name,
        title=TITLE,
        lead=lead,
        meta=[
            ("source", SOURCE),
            ("engine", facts.engine),
            ("runs", f"{made.runs}"),
            ("cells", _counted(entries)),
        ],
        sections=[section for section in sections if section.blocks],
        cells=[entry.cell for entry in entries],
        files={"all-cells.csv": _all(entries)},
    )


def _counted(entries: Sequence[Entry]) -> str:
    held = sum(entry.cell.published is not None for entry in entries)
    return (
        f"{len(entries)} measured, of which {held} are held against published ones; the others are "
        "kept out here for a blind check"
    )


# --- how far off -------------------------------------------------------------------------------


def _result(
    entries: Sequence[Entry], laws: Sequence[truth.Law], facts: Facts
) -> list[Text | Figure | Table]:
    out: list[Text | Figure | Table] = [goals(entries, facts)]
    signs = truth.signatures(entries)
    if signs:
        out.append(_signature(signs, facts))
    if laws:
        out.append(_laws(laws, facts))
    return out


def goals(entries: Sequence[Entry], facts: Facts) -> Table:
    """What was hoped for and what came out."""
    columns = [
        Column("", align="left"),
        Column("goal"),
        Column("cells"),
        Column("within"),
        Column("of the others chance"),
        Column("median error"),
        Column("largest"),
        Column("", align="left"),
    ]
    rows: list[list[Value]] = []
    for verdict in truth.verdicts(entries):
        goal = verdict.goal
        rows.append(
            [
                goal.title,
                goal.text,
                verdict.cells,
                verdict.hits,
                verdict.chance,
                _size(verdict.median, goal.kind),
                _size(verdict.worst, goal.kind),
                Mark("holds", "pass") if verdict.holds else Mark("missed", "miss"),
            ]
        )
    caption = (
        "Cells that are published, and how far off they may be. The source ran each case once: "
        "chance are misses within what one more run here would give in 95 % of cases."
    )
    return Table("goals", "Goals", columns, rows, caption, facts)


def _signature(signs: Sequence[truth.Signature], facts: Facts) -> Table:
    columns = [
        Column("UDP, Mbit/s", align="left"),
        Column("TCP flows in each class"),
        Column("published", align="left"),
        Column("measured", align="left"),
        Column("", align="left"),
    ]
    rows: list[list[Value]] = []
    for sign in signs:
        verdict: Value = None
        if sign.agrees is not None:
            verdict = Mark("holds", "pass") if sign.agrees else Mark("missed", "miss")
        rows.append(
            [
                f"{sum(sign.run.udp)} in {'L' if sign.run.udp[0] else 'C'}",
                sign.run.flows,
                sign.published,
                sign.measured,
                verdict,
            ]
        )
    caption = (
        "Which queue has a mean delay within 20 % of the target while that of the other is below "
        "2.5 ms: L where UDP overloads it, C elsewhere."
    )
    return Table("signature", "Which queue is at the target", columns, rows, caption, facts)


def _laws(laws: Sequence[truth.Law], facts: Facts) -> Table:
    columns = [
        Column("run", align="left"),
        Column("coupled marks in L, %"),
        Column("drops in C, %"),
        Column("p_C / (p_L/2)\u00b2"),
        Column("published"),
        Column("p_C / mean of p\u00b2"),
        Column("noise"),
        Column("", align="left"),
    ]
    rows: list[list[Value]] = []
    for law in laws:
        rows.append(
            [
                f"{law.run.archive.title}, {_words(law.run)}",
                f"{100 * law.p_l:.3g}",
                f"{100 * law.p_c:.3g}",
                f"{law.ratio:.3f}",
                None if law.published is None else f"{law.published:.3f}",
                f"{law.p_c / law.square:.3f}" if law.square else None,
                f"\u00b1{100 * law.noise:.1f} %",
                Mark("holds", "pass") if law.holds else Mark("missed", "miss"),
            ]
        )
    caption = (
        "Shares of packets over all seeds, where L is not overloaded; with UDP of the whole class. "
        "The law is of the probability at any moment. With UDP and several flows that is steady, "
        "and p_C is held against (p_L/2)\u00b2. With two flows it varies, and the mean of a "
        "square is more than the square of the mean, in the source as here: p_C is held against "
        "the mean of p\u00b2, sampled every second. Within 6 % or the 95 % noise of the counts and "
        "samples; published is p_C / (p_L/2)\u00b2 with all marks."
    )
    return Table("law", "The coupling: p_C = (p_L/2)\u00b2", columns, rows, caption, facts)


# --- figures -----------------------------------------------------------------------------------


def _figures(entries: Sequence[Entry], made: Ran) -> list[Section]:
    out = []
    for kind, title in ((MIXED, "Mixed round-trip times"), (OVERLOAD, "Overload")):
        own = [e for e in entries if e.run.archive.kind == kind]
        blocks: list[Text | Figure | Table] = []
        for figure_id, what, stem, unit in DRAWN:
            figure = _beside(own, kind, figure_id, what, stem, unit, made.facts)
            if figure is not None:
                blocks.append(figure)
        if kind == MIXED:
            figure = _ratios(own, made.facts)
            if figure is not None:
                blocks.insert(0, figure)
        if made.tails is not None:
            figure = _tails(made.tails.filter(pl.col("kind") == kind), kind, made.facts)
            if figure is not None:
                blocks.append(figure)
        out.append(Section(f"figures-{kind}", title, blocks))
    return out


def _place(run: Run) -> str:
    """Where on the axis of cases a run stands."""
    if run.archive.kind == OVERLOAD:
        return f"{run.title} x{run.flows}" if run.flows != 5 else run.title
    return str(run.title)


def _words(run: Run) -> str:
    if run.archive.kind == OVERLOAD:
        where = "L" if run.udp[0] else "C"
        return f"{sum(run.udp)} Mbit/s of UDP in {where}, {run.flows} flows"
    return f"{run.title} ms"


def _x_title(kind: str) -> str:
    if kind == OVERLOAD:
        return "class with UDP, Mbit/s (x1: one TCP flow in each class, else five)"
    return "round-trip times, ms: with ECN / without"


def _beside(
    entries: Sequence[Entry],
    kind: str,
    figure_id: str,
    title: str,
    stem: str,
    unit: str,
    facts: Facts,
) -> Figure | None:
    sides = {f"{stem}_ecn": "L", f"{stem}_nonecn": "C"}
    found: dict[tuple[str, str, str], dict[str, Entry]] = {}
    for e in entries:
        if e.quantity in sides and e.case.whose != "udp":
            facet = f"{e.run.archive.title}: {_side(e.run, sides[e.quantity])}"
            statistic = e.column.rpartition("_")[2]
            found.setdefault((facet, _place(e.run), e.quantity), {})[statistic] = e
    factor = 8e-6 if stem == "rpf" else 1.0
    rows = []
    for (facet, place, _), cells in found.items():
        for whose in charts.WHOSE:
            numbers = {
                name: _of(cells[name], whose, factor) for name in STATISTICS[:-1] if name in cells
            }
            if numbers.get("mean") is not None:
                rows.append({"facet": facet, "case": place, "whose": whose, **numbers})
    drawn = [row for row in rows if any(row[k] for k in ("mean", "p99"))]
    if not drawn:
        return None
    schema = dict.fromkeys(("facet", "case", "whose"), pl.String()) | dict.fromkeys(
        STATISTICS[:-1], pl.Float64()
    )
    frame = pl.DataFrame(drawn, schema=schema)
    chart = charts.beside(
        frame,
        facet="facet",
        facets=list(dict.fromkeys(frame["facet"].to_list())),
        order=list(dict.fromkeys(frame["case"].to_list())),
        y_title=f"{title.lower()}, {unit}",
        x_title=_x_title(kind),
        columns=1 if kind == OVERLOAD else 2,
        width=760 if kind == OVERLOAD else 440,
    )
    caption = "Mean, P25 to P75 (bar) and P1 to P99 (line), published and measured."
    return Figure(f"{kind}-{figure_id}", title, chart, caption, facts)


def _side(run: Run, name: str) -> str:
    """A class as headings have it."""
    if run.archive.aqm == "dualpi2":
        return name
    return "with ECN" if name == "L" else "without ECN"


def _of(entry: Entry, whose: str, factor: float) -> float | None:
    value = entry.cell.published if whose == "published" else entry.cell.measured
    return None if value is None else value * factor


def _ratios(entries: Sequence[Entry], facts: Facts) -> Figure | None:
    rows = []
    for e in entries:
        if e.column in RATIOS:
            name = "rate" if e.column == "rate_ratio" else "window"
            for whose in charts.WHOSE:
                value = _of(e, whose, 1.0)
                if value is not None:
                    facet = f"{e.run.archive.title}: {name} ratio"
                    rows.append(
                        {"facet": facet, "case": _place(e.run), "whose": whose, "mean": value}
                    )
    if not rows:
        return None
    frame = pl.DataFrame(rows).with_columns(
        pl.lit(None, dtype=pl.Float64).alias(p) for p in ("p1", "p25", "p75", "p99")
    )
    chart = charts.beside(
        frame,
        facet="facet",
        facets=list(dict.fromkeys(frame["facet"].to_list())),
        order=list(dict.fromkeys(frame["case"].to_list())),
        y_title="with ECN / without",
        x_title=_x_title(MIXED),
        log=True,
        columns=2,
        width=440,
        rule=1.0,
    )
    caption = "Mean rate (window) of the flow with ECN over that of the other, published, measured."
    return Figure("mixed-rtt-ratio", "Rate and window ratio", chart, caption, facts)


def tails(runs: Sequence[Run], results: Sequence[Results]) -> pl.DataFrame | None:
    """Percent of packets beyond a delay, by run and class: at most 120 points of each, evenly
    spaced in the logarithm of the percentage."""
    frames = []
    for run, result in zip(runs, results, strict=True):
        for name in ("L", "C"):
            frame = _tail(result, name)
            if frame is not None:
                frames.append(
                    frame.with_columns(
                        pl.lit(run.archive.kind).alias("kind"),
                        pl.lit(f"{run.archive.title}: {_side(run, name)}").alias("facet"),
                        pl.lit(_place(run)).alias("series"),
                        pl.lit(run.stem).alias("stem"),
                        pl.lit(run.archive.name).alias("archive"),
                    )
                )
    return pl.concat(frames) if frames else None


def _tail(result: Results, name: str) -> pl.DataFrame | None:
    parts = []
    for stored in result:
        link = next(iter(stored.summary["queues"]))
        parts.append(stored.histogram(f"delay_ns.{name}", link=link))
    frame = pl.concat(parts) if parts else pl.DataFrame()
    if not frame.height:
        return None
    frame = frame.group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
    total = frame["count"].sum()
    return (
        frame.select(
            ((pl.col("lower") + pl.col("width")) / 1e6).alias("value"),
            (100 * (1 - pl.col("count").cum_sum() / total)).alias("percent"),
        )
        .filter(pl.col("percent") > 0.01)
        .with_columns((pl.col("percent").log10() * 30).round().alias("bin"))
        .group_by("bin", maintain_order=True)
        .agg(pl.col("value").last(), pl.col("percent").last())
        .select("value", "percent")
    )


#: Runs whose tails are drawn: more curves in one panel are not told apart.
_TAILS = {
    MIXED: ((5, 5), (5, 100), (100, 5), (100, 100)),
    OVERLOAD: ((0, 50), (0, 200), (50, 0), (100, 0), (200, 0)),
}


def _tails(frame: pl.DataFrame, kind: str, facts: Facts) -> Figure | None:
    from tailback.experiments.dualpi2_2022.layout import RUNS, published

    wanted = [
        run
        for run in RUNS
        if run.archive.kind == kind
        and ((run.rtt_ecn, run.rtt_nonecn) if kind == MIXED else run.udp) in _TAILS[kind]
        and (kind == MIXED or run.flows == 5)
    ]
    keys = {(run.archive.name, run.stem) for run in wanted}
    rows = frame.filter(
        pl.struct("archive", "stem").map_elements(
            lambda s: (s["archive"], s["stem"]) in keys, return_dtype=pl.Boolean
        )
    )
    if not rows.height:
        return None
    measured = rows.select("facet", "series", "value", "percent").with_columns(
        pl.lit("measured").alias("whose")
    )
    known = published()
    points = []
    facets = list(dict.fromkeys(measured["facet"].to_list()))
    for run in wanted:
        for side, name in (("ecn", "L"), ("nonecn", "C")):
            facet = f"{run.archive.title}: {_side(run, name)}"
            for statistic, percent in _BEYOND.items():
                key = (run.archive.name, run.cases[0].name, f"qs_{side}_{statistic}")
                if facet in facets and key in known:
                    points.append(
                        {
                            "facet": facet,
                            "series": _place(run),
                            "value": known[key],
                            "percent": percent,
                            "whose": "published",
                        }
                    )
    together = pl.concat([measured, pl.DataFrame(points)]) if points else measured
    chart = charts.tail(
        together, facet="facet", facets=facets, x_title="queue delay, ms", columns=2
    )
    caption = (
        "Packets with a longer delay (curves) and the source's percentiles (rings); 30 points in "
        "each factor of ten, down to 0.01 %."
    )
    return Figure(f"{kind}-tail", "Tail of the queue delay", chart, caption, facts)


# --- misses ------------------------------------------------------------------------------------


def _misses(entries: Sequence[Entry], facts: Facts) -> list[Text | Figure | Table]:
    off = [e for e in entries if truth.within(e) is False]
    held = sum(truth.within(e) is not None for e in entries)
    if not off:
        return [Text(f"Of {held} cells with a goal none is beyond it.")] if held else []
    columns = [
        Column("cell", align="left"),
        Column("published"),
        Column("measured"),
        Column("error"),
        Column("goal"),
        Column("cause", align="left", words=True),
    ]
    rows: list[list[Value]] = []
    for e in off:
        goal = truth.goal_of(e)
        if goal is None:
            continue
        rows.append(
            [
                f"{e.run.archive.title}, {_words(e.run)}: {e.column}",
                _number(e.cell.published),
                _number(e.cell.measured),
                _signed(e, goal.kind),
                goal.text,
                cause(e),
            ]
        )
    title = f"{len(off)} of {held} cells are beyond their goal"
    return [Table("misses", title, columns, rows, "", facts)]


# --- tables ------------------------------------------------------------------------------------


def _tables(entries: Sequence[Entry]) -> list[Section]:
    out = []
    for archive in ARCHIVES:
        own = [e for e in entries if e.run.archive == archive]
        if own:
            out.append(Section(f"rows-{archive.name}", archive.title, [_rows(archive, own)]))
    return out


#: Columns of the tables: heading, column of the source, factor.
_SHOWN: tuple[tuple[str, str, float], ...] = (
    ("rate ratio", "rate_ratio", 1.0),
    ("window ratio", "window_ratio", 1.0),
    ("L delay, ms", "qs_ecn_mean", 1.0),
    ("P99", "qs_ecn_p99", 1.0),
    ("C delay, ms", "qs_nonecn_mean", 1.0),
    ("P99", "qs_nonecn_p99", 1.0),
    ("L, Mbit/s", "rpf_ecn_mean", 8e-6),
    ("C, Mbit/s", "rpf_nonecn_mean", 8e-6),
    ("used, %", "util_mean", 1.0),
    ("L marks, %", "marks_ecn_mean", 1.0),
    ("L drops, %", "drops_ecn_mean", 1.0),
    ("C drops, %", "drops_nonecn_mean", 1.0),
)


def _rows(archive: Archive, entries: Sequence[Entry]) -> Table:
    found: dict[str, dict[str, Entry]] = {}
    for e in entries:
        found.setdefault(e.case.name, {})[e.column] = e
    columns = [
        Column("case", align="left"),
        *(Column(title) for title, _, _ in _SHOWN),
    ]
    rows: list[list[Value]] = [
        [name, *(_value(cells.get(column), factor) for _, column, factor in _SHOWN)]
        for name, cells in found.items()
    ]
    caption = (
        "Measured and (published); green and red where there is a goal. L: with ECN, C: without. "
        "all-cells.csv has every column."
    )
    return Table(f"rows-{archive.name}", archive.name, columns, rows, caption)


def _value(entry: Entry | None, factor: float) -> Value:
    if entry is None or entry.cell.measured is None:
        return None
    text = _number(entry.cell.measured * factor) or ""
    if entry.cell.published is None:
        return text
    text += f" ({_number(entry.cell.published * factor)})"
    held = truth.within(entry)
    return text if held is None else Mark(text, "pass" if held else "miss")


def _declared(facts: Facts) -> Table:
    columns = [Column(c, align="left", words=True) for c in ("what", "here", "basis")]
    rows: list[list[Value]] = [list(row) for row in DECLARED]
    return Table("declared", "What was run, and where it is from", columns, rows, "", facts)


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _size(value: float, kind: str) -> str:
    return f"{100 * value:.2g} %" if kind == "relative" else f"{value:.2g}"


def _signed(entry: Entry, kind: str) -> str | None:
    if kind == "relative":
        return None if entry.relative is None else f"{100 * entry.relative:+.1f} %"
    return None if entry.cell.error is None else f"{entry.cell.error:+.3g}"


def _all(entries: Sequence[Entry]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            *("archive", "case", "column", "unit", "published", "measured"),
            *("difference", "relative", "n", "ci95", "tolerance", "within"),
        ]
    )
    for e in entries:
        cell = e.cell
        held = truth.within(e)
        numbers = (cell.published, cell.measured, cell.error, e.relative, cell.n, cell.ci95)
        writer.writerow(
            [e.run.archive.name, e.case.name, e.column, cell.unit]
            + ["" if number is None else number for number in numbers]
            + ["" if cell.tolerance is None else cell.tolerance]
            + ["" if held is None else int(held)]
        )
    return out.getvalue()
