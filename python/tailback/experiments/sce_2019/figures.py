"""The report: how far off each group of cells is, maps of errors, every table, and what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tailback.experiments.sce_2019 import tables, truth
from tailback.experiments.sce_2019.causes import DECLARED, cause
from tailback.experiments.sce_2019.layout import (
    MODES,
    NAMES,
    QUANTITIES,
    UNITS,
    WORDS,
    TableId,
)
from tailback.experiments.sce_2019.points import Entry
from tailback.figures import grid
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Column, Facts, Figure, Mark, Report, Section, Table, Text, Value
from tailback.results import Results

TITLE = "SCE one- and two-flow tests (2019), run again"
SOURCE = (
    "P. Heist, R. Grimes, J. Morton, \u201cSome Congestion Experienced One and Two-Flow "
    "Tests\u201d, draft-heist-tsvwg-sce-one-and-two-flow-tests-00, July 2019, Appendix A"
)
#: Errors up to the first count as agreement, beyond the second as misses.
GOOD = {"throughput_mbit": 0.02, "tcp_rtt_ms": 0.08, "jain": 0.015}
BAD = {"throughput_mbit": 0.1, "tcp_rtt_ms": 0.25, "jain": 0.06}
#: Cells further off than this are listed one by one.
LISTED = 0.25
#: Jain's indices further off than this are listed.
LISTED_JAIN = 0.06
#: Half of the published values' last digit, with room for its binary form.
ROUNDING = {"throughput_mbit": 0.00501, "tcp_rtt_ms": 0.00501, "jain": 0.000501}
#: Modes as headings have them.
MODE_WORDS = {
    "flowblind": "one queue",
    "flowblind sce-single": "one queue, sce-single",
    "triple-isolate": "a queue for each flow",
}


@dataclass(frozen=True)
class Ran:
    """What a report rests on."""

    facts: Facts
    runs: int
    quick: bool
    engine: str


def ran(results: Sequence[Results], *, quick: bool, options: Sequence[str]) -> Ran:
    """The facts of these results."""
    runs = [run for result in results for run in result]
    durations = sorted({run.summary["duration_s"] for run in runs})
    ends = f"{durations[0]:g} to {durations[-1]:g} s simulated" if durations else ""
    engine, version = (results[0].engine, results[0].version) if results else ("", "")
    deviations: tuple[str, ...] = ("every segment is a packet: no TSO, GSO, GRO",)
    if engine == "kernel":
        deviations = ("today's Linux and its Cake instead of 5.1 with SCE's patches", *deviations)
    facts = Facts(
        runs=len(runs),
        seeds=len({run.seed for run in runs}),
        duration=ends,
        engine=f"{engine} {version}",
        options=options,
        deviations=deviations,
    )
    return Ran(facts, len(runs), quick, engine)


def report(entries: Sequence[Entry], made: Ran, name: str) -> Report:
    """The report of a run."""
    lead = (
        "One and two flows through Cake, with and without SCE, against the tables of a test bed "
        "that needed more than fourteen hours for them."
    )
    if made.quick:
        lead += " A quick run: a sample of the cells, chosen without a look at results."
    sections = []
    if entries:
        sections.append(Section("result", "How far off", _result(entries, made.facts)))
    sections += [s for s in _maps(entries, made.facts) if s.blocks]
    if entries:
        sections.append(Section("misses", "Cells beyond 25 %", _misses(entries, made.facts)))
    sections.append(Section("set-up", "Set-up", [_declared(made.facts)]))
    sections += [s for s in _tables(entries) if s.blocks]
    return Report(
        name=name,
        title=TITLE,
        lead=lead,
        meta=[
            ("source", SOURCE),
            ("engine", made.facts.engine),
            ("runs", f"{made.runs}"),
            ("cells", _counted(entries)),
        ],
        sections=sections,
        cells=[entry.cell for entry in entries],
        files=tables.files(entries),
    )


def _counted(entries: Sequence[Entry]) -> str:
    held = sum(entry.cell.published is not None for entry in entries)
    return (
        f"{len(entries)} measured, of which {held} are held against published ones; the others are "
        "kept out here for a blind check"
    )


# --- how far off -------------------------------------------------------------------------------


def _result(entries: Sequence[Entry], facts: Facts) -> list[Text | Figure | Table]:
    return [_goals(entries, facts), *_noise(entries), _by_group(entries, facts)]


def _goals(entries: Sequence[Entry], facts: Facts) -> Table:
    columns = [
        Column("", align="left"),
        Column("cells"),
        Column("error", align="left"),
        Column("median"),
        Column("goal"),
        Column("90 % below"),
        Column("goal"),
        Column("", align="left"),
    ]
    rows: list[list[Value]] = []
    for verdict in truth.verdicts(entries):
        goal = verdict.goal
        rows.append(
            [
                goal.title,
                verdict.cells,
                truth.KINDS[goal.kind],
                _share(verdict.median, goal.kind),
                _share(goal.median, goal.kind),
                _share(verdict.p90, goal.kind),
                _share(goal.p90, goal.kind),
                Mark("holds", "pass") if verdict.holds else Mark("missed", "miss"),
            ]
        )
    caption = "Errors of the cells that are published, and what was hoped for."
    return Table("goals", "Errors by group", columns, rows, caption, facts)


def _noise(entries: Sequence[Entry]) -> list[Text]:
    if not any(entry.table.setup.shared for entry in entries):
        return []
    lines = []
    for quantity, kind in (
        ("throughput_mbit", "relative"),
        ("throughput_mbit", "capacity"),
        ("tcp_rtt_ms", "relative"),
    ):
        own = truth.noise(quantity, kind)
        lines.append(
            f"{WORDS[quantity]} {_share(own['median'], kind)} in the median, "
            f"{_share(own['p90'], kind)} at the 90th percentile, {_share(own['max'], kind)} at "
            f"most ({truth.KINDS[kind]})"
        )
    return [
        Text(
            "**How far the source is from itself.** Pairs of CUBIC and Reno do not notice SCE, so "
            "that the two modes with one queue are the same experiment, done twice. They differ "
            f"by: {'; '.join(lines)}. A model without any error, run once, would be as far off "
            "in those cells."
        )
    ]


def _by_group(entries: Sequence[Entry], facts: Facts) -> Table:
    columns = [
        Column("", align="left"),
        Column("source", align="left"),
        Column("cells"),
        Column("median"),
        Column("90 % below"),
        Column("of the rate, median"),
        Column("90 % below"),
        Column("furthest", align="left"),
    ]
    rows: list[list[Value]] = []
    for table, cells in tables.by_table(entries).items():
        jain = table.quantity == "jain"
        kind = "absolute" if jain else "relative"
        errors = truth.sizes(cells, kind)
        row: list[Value] = [
            f"{table.setup.title}, {WORDS[table.quantity]}",
            f"Table {table.number}",
            len(errors),
        ]
        if not errors:
            rows.append([*row, None, None, None, None, None])
            continue
        row += [_share(median(errors), kind), _share(nearest_rank(errors, 0.9), kind)]
        capacity = truth.sizes(cells, "capacity")
        row += [_share(median(capacity), ""), _share(nearest_rank(capacity, 0.9), "")]
        far = max(cells, key=lambda e: truth.size(e, kind) or 0.0)
        sign = far.cell.error if jain else far.relative
        shown = f"{sign:+.3f}" if jain and sign is not None else _signed(sign)
        who = f"{NAMES[far.cc]}, " if far.position and far.peer else ""
        rows.append([*row, f"{shown}: {who}{far.rate_mbit:g} Mbit/s, {far.delay_ms:g} ms"])
    caption = (
        "Errors relative to the published value, and of throughputs over Cake's rate too. Tables "
        "without an error are kept out of the published data here: measured, and held against "
        "nothing."
    )
    return Table("by-table", "Errors by table", columns, rows, caption, facts)


# --- maps --------------------------------------------------------------------------------------


def _maps(entries: Sequence[Entry], facts: Facts) -> list[Section]:
    groups: list[tuple[str, str, list[Entry]]] = [
        ("one-flow", "One flow", [e for e in entries if e.table.setup.kind == "one-flow"])
    ]
    for mode in MODES:
        own = [e for e in entries if e.table.setup.mode == mode]
        groups.append((mode.replace(" ", "-"), f"Two flows, {MODE_WORDS[mode]}", own))
    out = []
    for group, title, own in groups:
        blocks: list[Text | Figure | Table] = []
        for quantity in QUANTITIES:
            chosen = [e for e in own if e.table.quantity == quantity and e.relative is not None]
            if chosen:
                blocks.append(_map(group, quantity, chosen, facts))
        out.append(Section(f"map-{group}", title, blocks))
    return out


def _map(group: str, quantity: str, entries: Sequence[Entry], facts: Facts) -> Figure:
    shared = entries[0].table.setup.shared and quantity == "throughput_mbit"
    frame = pl.DataFrame(
        [
            {
                "flow": _flow(entry),
                "rate": entry.rate_mbit,
                "delay": entry.delay_ms,
                "error": entry.of_capacity if shared else entry.relative,
            }
            for entry in entries
        ]
    )
    limit = BAD[quantity]
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
        "Measured less published, over Cake's rate"
        if shared
        else "Measured over published, less one"
    )
    caption = f"{over}, in percent; the colours end at {100 * limit:g} %."
    figure_id = f"error-{group}-{quantity.replace('_', '-')}"
    return Figure(figure_id, f"Error of the {WORDS[quantity]}", chart, caption, facts)


def _flow(entry: Entry) -> str:
    if not entry.peer:
        return NAMES[entry.cc]
    if entry.peer == entry.cc:
        return f"{NAMES[entry.cc]} {entry.position} of 2"
    return f"{NAMES[entry.cc]} by {NAMES[entry.peer]}"


# --- misses ------------------------------------------------------------------------------------


def listed(entries: Sequence[Entry]) -> list[Entry]:
    """Cells beyond 25 %, and Jain's indices beyond 0.06, the furthest of each quantity first."""
    off = []
    for quantity in (*QUANTITIES, "jain"):
        kind, limit = ("absolute", LISTED_JAIN) if quantity == "jain" else ("relative", LISTED)
        own = [e for e in entries if e.table.quantity == quantity]
        far = [e for e in own if (truth.size(e, kind) or 0.0) > limit]
        off += sorted(far, key=lambda e: -(truth.size(e, kind) or 0.0))
    return off


def _misses(entries: Sequence[Entry], facts: Facts) -> list[Text | Figure | Table]:
    columns = [
        Column("table", align="left"),
        Column("flow", align="left"),
        Column("mode", align="left"),
        Column("Mbit/s"),
        Column("delay, ms"),
        Column("published"),
        Column("measured"),
        Column("error"),
        Column("of the rate"),
        Column("cause", align="left", words=True),
    ]
    blocks: list[Text | Figure | Table] = []
    off = listed(entries)
    for quantity in (*QUANTITIES, "jain"):
        own = [e for e in off if e.table.quantity == quantity]
        known = sum(e.table.quantity == quantity and e.cell.error is not None for e in entries)
        if not known:
            continue
        word = WORDS[quantity]
        limit = f"{LISTED_JAIN:g}" if quantity == "jain" else f"{100 * LISTED:g} %"
        if not own:
            blocks.append(Text(f"Of {known} cells of {word} none is more than {limit} off."))
            continue
        rows: list[list[Value]] = []
        for e in own:
            shown = f"{e.cell.error:+.3f}" if quantity == "jain" else _signed(e.relative)
            rows.append(
                [
                    f"Table {e.table.number}",
                    _flow(e) if e.position else e.table.setup.title.partition(",")[0],
                    e.table.setup.mode,
                    f"{e.rate_mbit:g}",
                    f"{e.delay_ms:g}",
                    _number(e.cell.published, e.table),
                    _number(e.cell.measured, e.table),
                    shown,
                    _signed(e.of_capacity),
                    cause(e),
                ]
            )
        title = f"{len(own)} of {known} cells of {word} are more than {limit} off"
        blocks.append(
            Table(f"misses-{quantity.replace('_', '-')}", title, columns, rows, "", facts)
        )
    return blocks


# --- tables ------------------------------------------------------------------------------------


def _tables(entries: Sequence[Entry]) -> list[Section]:
    groups: Mapping[str, tuple[str, list[Table | Text | Figure]]] = {
        "one-flow": ("Tables of one flow", []),
        **{mode: (f"Tables of two flows, {MODE_WORDS[mode]}", []) for mode in MODES},
        "jain": ("Tables of Jain's index", []),
    }
    for table, cells in tables.by_table(entries).items():
        group = "jain" if table.quantity == "jain" else table.setup.mode or "one-flow"
        groups[group][1].append(_table(table, cells))
    return [
        Section(f"tables-{group.replace(' ', '-')}", title, blocks)
        for group, (title, blocks) in groups.items()
    ]


def _table(table: TableId, cells: Sequence[Entry]) -> Table:
    found = {(e.rate_mbit, e.delay_ms, e.position): e for e in cells}
    delays = sorted({e.delay_ms for e in cells})
    pairs = bool(cells[0].peer)
    rows: list[list[Value]] = []
    for rate in sorted({e.rate_mbit for e in cells}):
        for position in sorted({e.position for e in cells}):
            row: list[Value] = [f"{rate:g}"]
            if pairs:
                row.append(NAMES[table.setup.ccs[position - 1]])
            rows.append([*row, *(_value(found.get((rate, d, position))) for d in delays)])
    columns = [Column("Mbit/s")]
    if pairs:
        columns.append(Column("flow", align="left"))
    columns += [Column(f"{delay:g} ms") for delay in delays]
    unit = UNITS[table.quantity]
    caption = f"{unit or 'Index'}, measured and (published)."
    return Table(table.part, table.title, columns, rows, caption)


def _value(entry: Entry | None) -> Value:
    if entry is None or entry.cell.measured is None:
        return None
    quantity = entry.table.quantity
    text = _number(entry.cell.measured, entry.table)
    if entry.cell.ci95:
        text += f" \u00b1{_number(entry.cell.ci95, entry.table)}"
    if entry.cell.published is None or entry.cell.error is None:
        return text
    text += f" ({_number(entry.cell.published, entry.table)})"
    error = truth.size(entry, "absolute" if quantity == "jain" else "relative")
    if error is None:
        return text
    if error <= GOOD[quantity] or abs(entry.cell.error) <= ROUNDING[quantity]:
        return Mark(text, "pass")
    return Mark(text, "miss" if error > BAD[quantity] else "info")


def _declared(facts: Facts) -> Table:
    columns = [Column(c, align="left", words=True) for c in ("what", "here", "basis")]
    rows: list[list[Value]] = [list(row) for row in DECLARED]
    good, bad = (
        ", ".join(f"{100 * limits[q]:g} % of a {WORDS[q]}" for q in QUANTITIES)
        + f", {limits['jain']:g} of Jain's index"
        for limits in (GOOD, BAD)
    )
    caption = (
        f"In the tables below green is within {good} or the rounding of the source; red is beyond "
        f"{bad}."
    )
    return Table("declared", "What was run, and where it is from", columns, rows, caption, facts)


def _number(value: float | None, table: TableId) -> str:
    return "" if value is None else f"{value:.{tables.digits(table)}f}"


def _share(value: float | None, kind: str) -> str | None:
    if value is None:
        return None
    return f"{value:.3f}" if kind == "absolute" else f"{100 * value:.2g} %"


def _signed(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:+.1f} %"
