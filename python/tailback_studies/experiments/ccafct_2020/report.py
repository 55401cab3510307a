"""Makes the report and the documentation page. The report and the page show errors by group of
values, every published row, and the set-up."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.report import Block, Facts, Mark, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right, setup, words
from tailback.store.results import Results
from tailback_studies.experiments.ccafct_2020 import truth
from tailback_studies.experiments.ccafct_2020.causes import CHANGED, DECLARED, QUESTIONS
from tailback_studies.experiments.ccafct_2020.layout import (
    STATISTICS,
    WORDS,
    CcafctRow,
    on_linux,
)
from tailback_studies.experiments.ccafct_2020.points import CcafctEntry
from tailback_studies.experiments.l4s_tests_2020 import charts
from tailback_studies.reproduction.goals import goal_of
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import facts, goals_table, head, signed

TITLE = "Completion times beside a competitor (2020), run again"
SOURCE = "Heist, heistp/ccafct, 2020"
LEAD = (
    "Web requests over CUBIC share a CoDel queue with a long flow of CUBIC or Prague, or use the "
    "queue alone. This page shows how long the requests take, and how much the long flow delays "
    "the requests."
)
BLIND = (
    "The set-up was written from the publication's programs before any comparison. Later changes "
    "are in **Changed after the comparison**; since then no value counts as held out."
)
QUICK = " A quick run: published round-trip times only, 300 requests, one seed."
NAMES = {"geomean": "geometric mean", "median": "median", "p95": "P95"}


def ran(results: Sequence[Results], *, quick: bool) -> Facts:
    """Return facts about the runs: seeds, duration, engine, deviations."""
    deviations = []
    if results and results[0].engine == "kernel":
        deviations = ["today's Linux instead of the tree of 2020"]
    if quick:
        deviations.insert(0, "300 requests, not 900")
    return facts(results, deviations=tuple(deviations))


def sections(entries: Sequence[CcafctEntry], run_facts: Facts) -> list[Section]:
    """Return the sections with the goals, the rows, and the errors that exceed a goal's limit."""
    out = [
        Section("result", "How far off", [goals_table(truth.judges(entries), run_facts)]),
        Section("spread", "Side by side", _spread(entries, run_facts)),
        Section("rows", "Every row", [_rows(entries, run_facts), *_figure(entries, run_facts)]),
        Section("misses", "Errors beyond their limit", _misses(entries, run_facts)),
    ]
    return [section for section in out if section.blocks]


def basis(run_facts: Facts) -> list[Section]:
    """Return the sections on the set-up, its changes, and open questions."""
    changed: Block = Text("Nothing.")
    if CHANGED:
        changed = _listed(
            "changed",
            "Changed after looking",
            ("what", "before", "after", "why"),
            CHANGED,
            run_facts,
        )
    out = [
        Section("set-up", "Set-up", [setup(DECLARED, run_facts)]),
        Section("changed", "Changed after the comparison", [changed]),
    ]
    if QUESTIONS:
        columns = ("question", "tried", "came out", "verdict")
        table = _listed("questions", "Open questions", columns, QUESTIONS, run_facts)
        out.append(Section("open", "Open questions", [table]))
    return out


def _listed(
    name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], made: Facts
) -> Table:
    return Table(name, title, words(*columns), [list(row) for row in rows], "", made)


def report(entries: Sequence[CcafctEntry], run_facts: Facts, *, quick: bool) -> Report:
    """Return the report."""
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=head(SOURCE, run_facts, entries),
        sections=[*sections(entries, run_facts), *basis(run_facts)],
        cells=[entry.cell for entry in entries],
    )


def page(entries: Sequence[CcafctEntry], made: Facts) -> Page:
    """Return the documentation page."""
    lead = f"tailback repeats experiments of {SOURCE}. {LEAD}\n\n{BLIND}"
    return Page(TITLE, lead, [*sections(entries, made), *basis(made)], made)


def _rows(entries: Sequence[CcafctEntry], run_facts: Facts) -> Table:
    found: dict[CcafctRow, dict[str, CcafctEntry]] = {}
    for e in entries:
        found.setdefault(e.row, {})[e.column] = e
    rows: list[list[Value]] = []
    for row, cells in found.items():
        line: list[Value] = [row.rtt_ms, WORDS[row.competitor]]
        for name in STATISTICS:
            line.append(_value(cells.get(f"{name}_ms"), ".1f"))
            line.append(_value(cells.get(f"{name}_harm"), ".3f"))
        rows.append(line)
    titles = [title for name in STATISTICS for title in (f"{NAMES[name]}, ms", "harm")]
    columns = [*right("RTT, ms"), *left(""), *right(*titles)]
    caption = "Measured and (published) values. Red: beyond the limit."
    return Table("rows", "Completion times and harm", columns, rows, caption, run_facts)


def _value(entry: CcafctEntry | None, digits: str) -> Value:
    if entry is None or entry.cell.measured is None:
        return None
    text = f"{entry.cell.measured:{digits}}"
    if entry.cell.published is None:
        return text
    text += f" ({entry.cell.published:{digits}})"
    return text if entry.within is not False else Mark(text, "miss")


def _misses(entries: Sequence[CcafctEntry], run_facts: Facts) -> list[Block]:
    off = truth.missed(entries)
    held = sum(e.within is not None for e in entries)
    if not off:
        return [Text(f"All {held} values with a goal are within it.")] if held else []
    rows: list[list[Value]] = []
    for e in off:
        goal = goal_of(truth.GOALS, e)
        digits = ".3f" if e.is_harm else ".1f"
        rows.append(
            [
                e.row.rtt_ms,
                WORDS[e.row.competitor],
                e.column,
                f"{e.cell.published:{digits}}",
                f"{e.cell.measured:{digits}}",
                signed(e.cell.relative),
                goal.text if goal else None,
                "yes" if e.chance else "no",
            ]
        )
    columns = [
        *right("RTT, ms"),
        *left("requests", "column"),
        *right("published", "measured", "error", "limit"),
        *left("chance can explain it"),
    ]
    return [Table("misses", "One by one", columns, rows, "", run_facts)]


def _spread(entries: Sequence[CcafctEntry], run_facts: Facts) -> list[Block]:
    """Return two tables of the rows with a published value.

    The first table shows the geometric means without a competitor. The second table shows the harm
    that competitors cause to these means, and the interval of the harm. A report on runs of the
    simulator also shows the results on Linux.
    """
    linux = {} if run_facts.engine.startswith("kernel") else on_linux()
    times: list[list[Value]] = []
    harms: list[list[Value]] = []
    for e in entries:
        if e.cell.measured is None or e.cell.published is None:
            continue
        there = linux.get(e.row)
        if e.column == "geomean_ms" and not e.row.competitor:
            line: list[Value] = [e.row.rtt_ms, _number(e.cell.published, ".1f")]
            line += [_number(e.cell.measured, ".1f")]
            times.append([*line, *([_number(there.geomean_ms, ".1f")] if there else [])])
        elif e.column == "geomean_harm" and e.spread is not None:
            line = [e.row.rtt_ms, WORDS[e.row.competitor], _number(e.cell.published, ".3f")]
            line += [_harm(e.cell.measured, e.spread, e.cell.published)]
            if linux:
                harm, spread = (there.harm, there.spread) if there else (None, None)
                line.append(_harm(harm, spread, e.cell.published))
            harms.append(line)
    measured = right("measured", *(["Linux"] if linux else []))
    columns = [*right("RTT, ms", "published, ms"), *measured]
    title = "Geometric mean of the completion times of requests without a competitor, in ms"
    out: list[Block] = []
    if times:
        out.append(Table("alone", title, columns, times, "", run_facts))
    if harms:
        title = "Harm to the geometric mean of the completion times, with its 95 % interval"
        columns = [*right("RTT, ms"), *left("requests"), *right("published"), *measured]
        caption = (
            "Harm is the time that the competitor adds to a request, divided by the completion "
            "time beside the competitor. The word “outside” marks intervals that do not contain "
            "the published value. The published times without a competitor agree with runs in "
            "which hosts do not store the ssthresh of earlier connections. The published times "
            "beside CUBIC agree with runs in which hosts store this ssthresh. Which ssthresh a "
            "host stores depends on the order in which the server closed connections. This order "
            "is unknown."
        )
        out.append(Table("spread", title, columns, harms, caption, run_facts))
    return out


def _number(value: float | None, digits: str) -> Value:
    return None if value is None else f"{value:{digits}}"


def _harm(value: float | None, spread: tuple[float, float] | None, known: float | None) -> Value:
    if value is None or spread is None:
        return None
    text = "{:.3f} ({:.3f} to {:.3f})".format(value, *spread)
    inside = known is None or spread[0] <= known <= spread[1]
    return text if inside else Mark(f"{text}, outside", "miss")


WHOSE = ("published", "measured", "measured, not published to us")


def _figure(entries: Sequence[CcafctEntry], run_facts: Facts) -> list[Block]:
    rows = []
    for e in entries:
        if e.is_harm:
            continue
        statistic = NAMES[e.column.removesuffix("_ms")]
        own = WHOSE[1] if e.cell.published is not None else WHOSE[2]
        for whose, value in (("published", e.cell.published), (own, e.cell.measured)):
            if value is not None:
                panel = f"{statistic}, {WORDS[e.row.competitor]}"
                place = f"{e.row.rtt_ms}"
                rows.append({"panel": panel, "place": place, "series": whose, "value": value})
    if not rows:
        return []
    frame = pl.DataFrame(rows)
    panels = [
        f"{NAMES[statistic]}, {words_}" for statistic in STATISTICS for words_ in WORDS.values()
    ]
    held = set(frame["panel"].to_list())
    chart = charts.beside(
        frame,
        panels=[panel for panel in panels if panel in held],
        order=list(dict.fromkeys(frame["place"].to_list())),
        series=WHOSE,
        y_title="completion time, ms",
        x_title="round-trip time, ms",
        colours=charts.PUBLISHED,
        columns=3,
        width=220,
    )
    caption = (
        "The figure compares the published completion times of requests with the measured "
        "completion times."
    )
    return [ReportFigure("times", "Completion times", chart, caption, run_facts)]
