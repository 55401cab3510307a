"""The report: tables in the source's layout, how far off each cell is, and what was run."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.experiments.sce_2019 import points as pts
from tailback.experiments.sce_2019.causes import DECLARED, cause
from tailback.figures import grid
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Column, Facts, Figure, Mark, Report, Section, Table, Text, Value
from tailback.results import Results

TITLE = "SCE one- and two-flow tests (2019), run again: single flows"
SOURCE = (
    "P. Heist, R. Grimes, J. Morton, \u201cSome Congestion Experienced One and Two-Flow "
    "Tests\u201d, draft-heist-tsvwg-sce-one-and-two-flow-tests-00, July 2019, Appendix A"
)
NAMES = {"cubic": "CUBIC", "reno": "Reno", "dctcp": "DCTCP"}
WORDS = {"throughput_mbit": "throughput", "tcp_rtt_ms": "TCP RTT"}
#: Relative errors up to the first count as agreement, beyond the second as misses.
GOOD = {"throughput_mbit": 0.02, "tcp_rtt_ms": 0.08}
BAD = {"throughput_mbit": 0.1, "tcp_rtt_ms": 0.25}
#: Cells further off than this are listed.
LISTED = {"throughput_mbit": 0.05, "tcp_rtt_ms": 0.15}
#: Half of the published values' last digit.
ROUNDING = 0.005


def report(cells: Sequence[pts.OneFlow], results: Results, *, quick: bool) -> Report:
    """The report of a run."""
    facts = _facts(results)
    lead = (
        "CUBIC, Reno and DCTCP, each alone through Cake, on the real Linux kernel in virtual time, "
        "against the numbers of a test bed."
    )
    if quick:
        lead += " A quick run: an eighth of the cells, every rate and every delay once."
    sections = [
        Section("result", "How far off", [_summary(cells, facts)]),
        *(_section(quantity, cells, facts) for quantity in pts.QUANTITIES),
        Section("misses", "The largest differences", _misses(cells, facts)),
        Section("set-up", "Set-up", [_declared(facts)]),
    ]
    return Report(
        name="sce-2019",
        title=TITLE,
        lead=lead,
        meta=[
            ("source", SOURCE),
            ("engine", facts.engine),
            ("runs", f"{len(results)}"),
        ],
        sections=sections,
        cells=pts.as_listed(cells),
    )


def _facts(results: Results) -> Facts:
    durations = sorted({run.summary["duration_s"] for run in results})
    ends = f"{durations[0]:g} to {durations[-1]:g} s simulated" if durations else ""
    return Facts(
        runs=len(results),
        seeds=len({run.seed for run in results}),
        duration=ends,
        engine=f"{results.engine} {results.version}",
        options=("cake flowblind besteffort on both egresses", "no TSO, GSO, GRO"),
        deviations=("today's Linux and its Cake instead of 5.1 with SCE's patches",),
    )


def _summary(cells: Sequence[pts.OneFlow], facts: Facts) -> Table:
    rows: list[list[Value]] = []
    for (quantity, cc), table in pts.TABLES.items():
        chosen = [o for o in cells if (o.quantity, o.cc) == (quantity, cc)]
        errors = [abs(o.relative) for o in chosen if o.relative is not None]
        row: list[Value] = [f"{NAMES[cc]} {WORDS[quantity]}", f"Table {table}", len(errors)]
        if errors:
            far = max(chosen, key=lambda o: abs(o.relative or 0.0))
            where = f"{far.rate_mbit:g} Mbit/s, {far.delay_ms:g} ms"
            row += [_percent(median(errors)), _percent(nearest_rank(errors, 0.9))]
            row += [f"{_signed(far.relative)} at {where}"]
        else:
            row += [None, None, None]
        rows.append(row)
    columns = [
        Column("", align="left"),
        Column("source", align="left"),
        Column("cells"),
        Column("median error"),
        Column("90 % below"),
        Column("largest", align="left"),
    ]
    caption = (
        "Relative errors of the cells that are published in part: the rows of 2 and 25 Mbit/s were "
        "measured too and have nothing to be held against here."
    )
    return Table("summary", "Relative error by table", columns, rows, caption, facts)


def _section(quantity: str, cells: Sequence[pts.OneFlow], facts: Facts) -> Section:
    chosen = [o for o in cells if o.quantity == quantity]
    known = [o for o in chosen if o.relative is not None]
    blocks: list[Text | Figure | Table] = []
    if known:
        frame = pl.DataFrame(
            [
                {
                    "cc": NAMES[o.cc],
                    "rate": o.rate_mbit,
                    "delay": o.delay_ms,
                    "error": o.relative,
                }
                for o in known
            ]
        )
        limit = BAD[quantity]
        chart = grid(
            frame,
            x="delay",
            y="rate",
            value="error",
            facet="cc",
            x_title="delay, ms",
            y_title="rate, Mbit/s",
            value_title="error, %",
            order=[name for name in NAMES.values() if name in frame["cc"].to_list()],
            limit=limit,
        )
        caption = (
            f"Measured {WORDS[quantity]} over published, less one, in percent; the colours end at "
            f"{100 * limit:g} %."
        )
        figure_id = f"error-{quantity.replace('_', '-')}"
        title = f"Error of the {WORDS[quantity]}"
        blocks.append(Figure(figure_id, title, chart, caption, facts))
    for cc in pts.CCS:
        one = [o for o in chosen if o.cc == cc]
        if one:
            blocks.append(_table(quantity, cc, one, facts))
    title = WORDS[quantity]
    return Section(quantity.replace("_", "-"), title[0].upper() + title[1:], blocks)


def _table(quantity: str, cc: str, cells: Sequence[pts.OneFlow], facts: Facts) -> Table:
    number = pts.TABLES[quantity, cc]
    unit = pts.QUANTITIES[quantity][0]
    found = {(o.rate_mbit, o.delay_ms): o for o in cells}
    rows: list[list[Value]] = []
    for rate in pts.RATES:
        if any((rate, delay) in found for delay in pts.DELAYS):
            rows.append(
                [f"{rate:g}", *(_value(quantity, found.get((rate, d))) for d in pts.DELAYS)]
            )
    columns = [Column("Mbit/s"), *(Column(f"{delay:g} ms") for delay in pts.DELAYS)]
    caption = (
        f"{unit}, measured and (published). Green: within {100 * GOOD[quantity]:g} % or the "
        f"rounding of the source; red: more than {100 * BAD[quantity]:g} % off."
    )
    title = f"Table {number}: {NAMES[cc]}, {WORDS[quantity]}"
    return Table(f"table-{number}", title, columns, rows, caption, facts)


def _value(quantity: str, one: pts.OneFlow | None) -> Value:
    if one is None or one.cell.measured is None:
        return None
    text = f"{one.cell.measured:.2f}"
    if one.cell.published is None or one.relative is None or one.cell.error is None:
        return text
    text += f" ({one.cell.published:.2f})"
    if abs(one.relative) <= GOOD[quantity] or abs(one.cell.error) <= ROUNDING:
        return Mark(text, "pass")
    return Mark(text, "miss" if abs(one.relative) > BAD[quantity] else "info")


def _misses(cells: Sequence[pts.OneFlow], facts: Facts) -> list[Text | Figure | Table]:
    blocks: list[Text | Figure | Table] = []
    columns = [
        Column("", align="left"),
        Column("Mbit/s"),
        Column("delay, ms"),
        Column("published"),
        Column("measured"),
        Column("error"),
        Column("cause", align="left"),
    ]
    for quantity in pts.QUANTITIES:
        rows: list[list[Value]] = [
            [
                NAMES[o.cc],
                f"{o.rate_mbit:g}",
                f"{o.delay_ms:g}",
                f"{o.cell.published:.2f}",
                f"{o.cell.measured:.2f}",
                _signed(o.relative),
                cause(quantity, o.cc, o.rate_mbit, o.delay_ms),
            ]
            for o in pts.worst(cells, quantity, LISTED[quantity])
        ]
        word = WORDS[quantity]
        if rows:
            title = f"{word[0].upper()}{word[1:]}: cells more than {100 * LISTED[quantity]:g} % off"
            table_id = f"misses-{quantity.replace('_', '-')}"
            blocks.append(Table(table_id, title, columns, rows, "", facts))
        else:
            blocks.append(Text(f"No {word} is more than {100 * LISTED[quantity]:g} % off."))
    return blocks


def _declared(facts: Facts) -> Table:
    columns = [Column(c, align="left") for c in ("what", "here", "basis")]
    rows: list[list[Value]] = [list(row) for row in DECLARED]
    return Table("declared", "What was run, and where it is from", columns, rows, "", facts)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2g} %"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.1f} %"
