"""Makes the report and the page. The report and the page show errors by group, figures, every
published row, and the set-up."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.report import Block, Facts, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right, setup, words
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import charts, rows, truth
from tailback_studies.experiments.l4s_tests_2020.causes import CHANGED, DECLARED, NOT_RUN, QUESTIONS
from tailback_studies.experiments.l4s_tests_2020.layout import WORDS
from tailback_studies.experiments.l4s_tests_2020.points import L4sEntry
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import facts, goals_table, head

TITLE = "L4S tests (2020), run again"
SOURCE = "Heist and others (heistp/l4s-tests, results of November 2020)"
LEAD = (
    "In test S1, two flows, each of them Prague or CUBIC, share DualPI2, a FIFO or FQ-CoDel. The "
    "flows' round-trip times may differ. Tests S2 to S4 use links whose rate changes, and flows in "
    "both directions. In test S6, Prague and a classic flow share a queue with classic ECN (RFC "
    "3168)."
)
BLIND = (
    "The values of S6 were held out; those of S1 were not. The set-up was written from the test "
    "bed's scripts and the published trees of its kernel modules, and compared once. But the "
    "description of the rows infers two parts of it from S1: Prague without RTT scaling, and the "
    "step with more than one packet. Later changes are in **Changed after the comparison**."
)
QUICK = " A quick run: the published rows only, one seed, 40 s of each run measured."
OTHER_LINUX = "today's Linux instead of the tree of 2020"
VALUE = "rates are mean throughputs, not means of the kernel's tcpi_delivery_rate"


def ran(results: Sequence[Results], *, quick: bool) -> Facts:
    """Return the seeds, duration, engine and deviations of these runs, for the captions of a
    report."""
    deviations = [VALUE]
    if results and results[0].engine == "kernel":
        deviations = [OTHER_LINUX, VALUE]
    if quick:
        deviations.insert(0, "S1: from 19 to 59 s of a run count")
    warmup = "119 s in test S1, 19 s in test S6"
    return facts(results, warmup="19 s" if quick else warmup, deviations=tuple(deviations))


def drawn(results: Sequence[Results], warmup: str = "") -> Facts:
    """Return seeds, duration and engine of runs that the publication shows as plots, for
    captions."""
    kernel = bool(results) and results[0].engine == "kernel"
    return facts(results, warmup=warmup, deviations=(OTHER_LINUX,) if kernel else ())


def sections(entries: Sequence[L4sEntry], run_facts: Facts) -> list[Section]:
    """Show the errors by group, and the largest errors."""
    result: list[Block] = []
    if entries:
        result = [goals_table(truth.judges(entries), run_facts)]
        if truth.S1_GOAL.own(entries):
            result.append(rows.by_queue(entries, run_facts))
    out = [
        Section("result", "How far off", result),
        Section(
            "figures",
            "Published and measured",
            [*shares(entries, run_facts), *ratios(entries, run_facts)],
        ),
        Section(
            "misses",
            "Errors beyond a limit, or beyond the limit for the 90th percentile",
            rows.misses(entries, run_facts),
        ),
    ]
    return [section for section in out if section.blocks]


def basis(run_facts: Facts) -> list[Section]:
    """Show the set-up, its changes, rows that were not run, errors in the publication, and open
    questions."""
    out = [
        Section("set-up", "Set-up", [setup(DECLARED, run_facts)]),
        Section("changed", "Changed after the comparison", [_changed(run_facts)]),
        Section("open", "Open questions", [_questions(run_facts)] if QUESTIONS else []),
        Section(
            "not-run",
            "Rows that are not run, and errors of the publication",
            [_not_run(run_facts), rows.defects(run_facts)],
        ),
    ]
    return [section for section in out if section.blocks]


def _changed(run_facts: Facts) -> Block:
    if not CHANGED:
        return Text("Nothing.")
    columns = words("what", "before", "after", "why")
    rows_: list[list[Value]] = [list(row) for row in CHANGED]
    return Table("changed", "Changed after looking", columns, rows_, "", run_facts)


def _questions(made: Facts) -> Table:
    columns = words("question", "tried", "came out", "verdict")
    rows_: list[list[Value]] = [list(row) for row in QUESTIONS]
    return Table("questions", "Open questions", columns, rows_, "", made)


def _not_run(made: Facts) -> Table:
    rows_: list[list[Value]] = [list(row) for row in NOT_RUN]
    columns = [*left("what"), *right("rows"), *left("why")]
    return Table("not-run", "Not run", columns, rows_, "", made)


def report(
    entries: Sequence[L4sEntry], extra: Sequence[Section], run_facts: Facts, *, quick: bool
) -> Report:
    """Return the report of the experiment. `extra` has the sections of S2 to S4."""
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=head(SOURCE, run_facts, entries),
        sections=[*sections(entries, run_facts), *extra, *basis(run_facts), *rows.tables(entries)],
        cells=[entry.cell for entry in entries],
    )


def page(entries: Sequence[L4sEntry], extra: Sequence[Section], made: Facts) -> Page:
    """Return the experiment's page for docs/evidence."""
    lead = f"tailback repeats experiments of {SOURCE}. {LEAD}\n\n{BLIND}"
    return Page(TITLE, lead, [*sections(entries, made), *extra, *basis(made)], made)


# --- figures ------------------------------------------------------------------------------------


def shares(entries: Sequence[L4sEntry], run_facts: Facts) -> list[Block]:
    """Plot measured against published shares of the link's rate (S1)."""
    rows_ = []
    for e in truth.S1_GOAL.own(entries):
        if e.cell.published is None or e.cell.measured is None:
            continue
        flow = e.row.flows[0 if e.column == "D1" else 1]
        rows_.append(
            {
                "panel": e.row.queue,
                "series": WORDS[flow.cc],
                "published": 100 * e.cell.published / e.row.rate_mbit,
                "measured": 100 * e.cell.measured / e.row.rate_mbit,
                "row": f"{e.row.name} {e.column}",
            }
        )
    if not rows_:
        return []
    frame = pl.DataFrame(rows_)
    chart = charts.against(
        frame,
        panels=list(dict.fromkeys(frame["panel"].to_list())),
        order=[WORDS["cubic"], WORDS["prague"]],
        within=100 * truth.S1_P90,
    )
    caption = (
        "The figure shows each flow's share of the link in test S1. On the solid line, the "
        "measured share equals the published share. "
        "The dashed lines show the limit for the 90th percentile of the error."
    )
    return [ReportFigure("s1", "S1: share of the link", chart, caption, run_facts)]


WHOSE = ("published", "measured", "measured, not published to us")


def ratios(entries: Sequence[L4sEntry], run_facts: Facts) -> list[Block]:
    """Show ratios of rates by queue (S6)."""
    rows_ = []
    for e in entries:
        if e.column != "ratio":
            continue
        second = e.row.flows[1]
        panel = f"Prague over {WORDS[second.cc]} {'without' if second.bleached else 'with'} ECN"
        own = WHOSE[1] if e.cell.published is not None else WHOSE[2]
        for whose, value in (("published", e.cell.published), (own, e.cell.measured)):
            if value is not None:
                rows_.append(
                    {"panel": panel, "place": e.row.queue, "series": whose, "value": value}
                )
    if not rows_:
        return []
    frame = pl.DataFrame(rows_)
    chart = charts.beside(
        frame,
        panels=list(dict.fromkeys(frame["panel"].to_list())),
        order=list(dict.fromkeys(frame["place"].to_list())),
        series=WHOSE,
        y_title="ratio of rates",
        x_title="",
        colours=charts.PUBLISHED,
        log=False,
        columns=1,
        width=700,
    )
    caption = "S6: Prague's rate divided by that of the classic flow in the same queue."
    return [ReportFigure("s6", "S6: ratios of rates", chart, caption, run_facts)]
