"""Makes the report and the page, with claims, errors by group, figures, and the set-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Facts, Mark, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right, setup, words
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import charts
from tailback_studies.experiments.pam_2025_l4s import claims, truth
from tailback_studies.experiments.pam_2025_l4s.causes import CHANGED, DECLARED, NOT_RUN, QUESTIONS
from tailback_studies.experiments.pam_2025_l4s.layout import (
    COLUMNS,
    QUEUES,
    RATE_MBIT,
    RATES,
    SRTTS,
    PamRow,
)
from tailback_studies.experiments.pam_2025_l4s.points import PamEntry
from tailback_studies.reproduction.entries import sizes
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.published import CLAIMS, OVERVIEW
from tailback_studies.reproduction.shown import facts, goals_table, head, signed, size

TITLE = "Prague beside classic flows over nine queues (PAM 2025), run again"
SOURCE = "F. B. Sarpkaya, F. Fund, S. Panwar, PAM 2025"
LEAD = (
    "Prague shares a 100 Mbit/s link with CUBIC, BBR or BBRv3, through one of nine queues. After "
    "the first comparison, we changed Prague's version, BBR's bursts and the ACKs of Prague's "
    "receiver, to match published sources. We also let hosts pause, which improves agreement with "
    "published results."
)
HELD_OUT = (
    "The set-up was written from the publication's notebooks before any comparison. No value "
    "counts as held out, because these rows were used before: for a first comparison, and to try "
    "other assumptions about the set-up. After the comparison, we changed four parts of the "
    "set-up. Three changes follow from sources, and not from results. Prague now has the version "
    "that the sources show, BBR sends the bursts of Linux's TCP, and Prague's receiver sends "
    "immediate ACKs like the L4S team's Linux 5.15. The fourth change follows from results: hosts "
    "pause. The lengths of the pauses are from sources. With the chosen frequency, the sum of both "
    "rates is as published, on average over all published rows. This sum does not say how the "
    "sides share the link. Later we corrected tailback's CoDel. "
    "The other half of the publication's 765 rows is not part of tailback. tailback runs these "
    "rows too, without a published value to compare with."
)
QUICK = " A quick run: published rows with a buffer of 2 BDP, one seed."


def ran(results: Sequence[Results]) -> Facts:
    """Return the seeds, duration, engine and deviations of these runs, for the captions of a
    report."""
    return facts(
        results,
        deviations=(("the algorithms are those of today's Linux, not of Linux 5.13 to 6.4"),),
    )


def sections(entries: Sequence[PamEntry], made: Facts) -> list[Section]:
    """Return the sections on claims, errors, figures and large errors."""
    overview = [by_queue(entries, made, RATES), by_queue(entries, made, SRTTS)]
    out = [
        Section("claims", CLAIMS, _claims(entries, made)),
        Section("result", "How far off", [goals_table(truth.judges(entries), made)]),
        Section("by-queue", OVERVIEW, [table for table in overview if table.rows]),
        Section("figures", "Published and measured", shares(entries, made)),
        Section(
            "misses", "Errors beyond the limit for the 90th percentile", _misses(entries, made)
        ),
    ]
    return [section for section in out if section.blocks]


def basis(made: Facts) -> list[Section]:
    """Show the set-up, the changes, open questions, and the published rows that are not run."""
    changed: Block = Text("Nothing.")
    if CHANGED:
        changed = _listed("changed", "Changed", ("what", "before", "after", "why"), CHANGED, made)
    out = [
        Section("set-up", "Set-up", [setup(DECLARED, made)]),
        Section("changed", "Changed after the comparison", [changed]),
    ]
    if QUESTIONS:
        columns = ("question", "tried", "came out", "verdict")
        listed = _listed("questions", "Open questions", columns, QUESTIONS, made)
        out.append(Section("open", "Open questions", [listed]))
    rows: list[list[Value]] = [list(row) for row in NOT_RUN]
    columns_ = [*left("what"), *right("rows"), *left("why")]
    out.append(
        Section("not-run", "Not run", [Table("not-run", "Not run", columns_, rows, "", made)])
    )
    return out


def _listed(
    name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], made: Facts
) -> Table:
    return Table(name, title, words(*columns), [list(row) for row in rows], "", made)


def report(
    entries: Sequence[PamEntry], extra: Sequence[Section], made: Facts, *, quick: bool
) -> Report:
    """Return the report of the experiment. `extra` has further sections, such as the section on
    alternative set-ups."""
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=head(SOURCE, made, entries),
        sections=[*sections(entries, made), *extra, *basis(made), *every_row(entries)],
        cells=[entry.cell for entry in entries],
    )


def page(entries: Sequence[PamEntry], extra: Sequence[Section], made: Facts) -> Page:
    """Return the experiment's page for docs/evidence."""
    lead = f"tailback repeats experiments of {SOURCE}. {LEAD}\n\n{HELD_OUT}"
    shown = [*sections(entries, made), *extra, *basis(made), *every_row(entries)]
    return Page(TITLE, lead, shown, made)


# --- claims ---------------------------------------------------------------------------------------


def _claims(entries: Sequence[PamEntry], made: Facts) -> list[Block]:
    rows: list[list[Value]] = []
    found = claims.verdicts(entries)
    for verdict in found:
        line: list[Value] = [verdict.claim.title]
        for column in RATES:
            for cells in (verdict.published, verdict.measured):
                line.append(_range(values[column] for values in cells))
        count = f"{verdict.fulfilled} of {len(verdict.measured)}"
        line += [count, Mark("\u2713", "pass") if verdict.holds else Mark("\u2717", "miss")]
        rows.append(line)
    if not rows:
        return []
    columns = [
        *left("claim"),
        *right("Prague, published", "measured", "other side, published", "measured", "rows"),
        *left(""),
    ]
    conditions = "; ".join(f"{v.claim.title}: {v.claim.condition}" for v in found)
    caption = (
        "Smallest and largest rate in Mbit/s over the published rows of the claim, and the number "
        "of rows that fulfil its condition here. In the publication all rows do. "
        + conditions
        + "."
    )
    return [Table("claims", "Claims of the publication", columns, rows, caption, made)]


def _range(values: Iterable[float]) -> str:
    ordered = sorted(values)
    low, high = (f"{value:.1f}" for value in (ordered[0], ordered[-1]))
    return low if low == high else f"{low}\u2013{high}"


# --- errors ---------------------------------------------------------------------------------------


def by_queue(entries: Sequence[PamEntry], made: Facts, columns: Sequence[str]) -> Table:
    """Show the errors of these columns by competitor and queue.

    Also show the spread of the publication's trials.
    """
    kind = "capacity" if columns == RATES else "relative"
    own = [e for e in entries if e.column in columns and e.cell.published is not None]
    rows: list[list[Value]] = []
    for group in dict.fromkeys(e.row.group for e in own):
        cells = [e for e in own if e.row.group == group]
        rows.append([group, *(_both(_of_queue(cells, queue), kind) for queue in QUEUES)])
    if rows:
        rows.append(["all", *(_both(_of_queue(own, queue), kind) for queue in QUEUES)])
        scatter: list[Value] = ["one trial of the publication"]
        for queue in QUEUES:
            noise = truth.noise(columns, {e.row for e in own if e.row.aqm == queue})
            scatter.append(_pair(noise.median, noise.p90) if noise else None)
        rows.append(scatter)
    what = "Rates, % of the link's rate" if columns == RATES else "Smoothed RTT, %"
    caption = (
        "Median / 90th percentile of the errors of the published values. Last row: the standard "
        "deviation over the ten trials of the publication."
    )
    name = "rates-by-queue" if columns == RATES else "srtt-by-queue"
    return Table(name, what, [*left("beside"), *right(*QUEUES.values())], rows, caption, made)


def _of_queue(entries: Iterable[PamEntry], queue: str) -> list[PamEntry]:
    return [e for e in entries if e.row.aqm == queue]


def _both(entries: Sequence[PamEntry], kind: str) -> str | None:
    errors = sizes(entries, kind)
    return _pair(median(errors), nearest_rank(errors, 0.9))


def _pair(middle: float | None, high: float | None) -> str | None:
    if middle is None or high is None:
        return None
    return f"{100 * middle:.1f}/{100 * high:.1f}"


def _misses(entries: Sequence[PamEntry], made: Facts) -> list[Block]:
    off = truth.missed(entries)
    held = sum(e.cell.published is not None for e in entries)
    if not off:
        return [Text(f"No value is beyond a 90th percentile of the goals ({held} values).")]
    rows: list[list[Value]] = [
        [
            e.row.name,
            e.column,
            f"{e.cell.published:.2f}",
            f"{e.cell.measured:.2f}",
            signed(e.cell.relative),
            signed(e.error("capacity")) if e.is_rate else None,
        ]
        for e in off
    ]
    columns = [
        *left("row", "column"),
        *right("published", "measured", "error", "error relative to the link's rate"),
    ]
    caption = (
        f"Rates more than {size(truth.RATE_P90, '')} of the link's rate off, smoothed round-trip "
        f"times more than {size(truth.SRTT_P90, '')}; {len(off)} of {held} values."
    )
    return [Table("misses", "One by one", columns, rows, caption, made)]


# --- figures and rows -----------------------------------------------------------------------------


def shares(entries: Sequence[PamEntry], made: Facts) -> list[Block]:
    """Compare measured with published rates in a panel for each queue."""
    rows = [
        {
            "panel": QUEUES[e.row.aqm],
            "series": "Prague" if e.column == RATES[0] else "other side",
            "published": 100 * e.cell.published / RATE_MBIT,
            "measured": 100 * e.cell.measured / RATE_MBIT,
            "row": f"{e.row.name} {e.column}",
        }
        for e in entries
        if e.is_rate and e.cell.published is not None and e.cell.measured is not None
    ]
    if not rows:
        return []
    frame = pl.DataFrame(rows)
    held = set(frame["panel"].to_list())
    chart = charts.against(
        frame,
        panels=[name for name in QUEUES.values() if name in held],
        order=["Prague", "other side"],
        within=100 * truth.RATE_P90,
        columns=3,
    )
    caption = (
        "The figure shows each congestion control's share of the link. On the solid line, the "
        "measured and the published share are equal. The dashed lines show the limit for the 90th "
        "percentile of the error."
    )
    return [ReportFigure("shares", "Share of the link, by queue", chart, caption, made)]


def every_row(entries: Sequence[PamEntry]) -> list[Section]:
    """Show every published row by competitor."""
    groups: dict[str, dict[PamRow, dict[str, PamEntry]]] = {}
    for e in entries:
        groups.setdefault(e.row.group, {}).setdefault(e.row, {})[e.column] = e
    blocks: list[Block] = []
    for number, (group, rows) in enumerate(groups.items(), start=1):
        lines: list[list[Value]] = [
            [
                QUEUES[row.aqm],
                row.buffer_bdp,
                f"{row.n_prague}:{row.n_classic}",
                *(_value(cells[column]) for column in COLUMNS),
            ]
            for row, cells in rows.items()
        ]
        columns = [
            *left("queue"),
            *right("BDP", "flows", "Prague, Mbit/s", "other", "Prague, srtt in ms", "other"),
        ]
        caption = (
            "Measured and (published) values. Red: the error is larger than the limit for "
            "the 90th percentile."
        )
        blocks.append(Table(f"rows-{number}", group, columns, lines, caption))
    return [Section("rows", "Every row", blocks)] if blocks else []


def _value(entry: PamEntry) -> Value:
    if entry.cell.measured is None:
        return None
    text = f"{entry.cell.measured:.2f}"
    if entry.cell.published is None:
        return text
    text += f" ({entry.cell.published:.2f})"
    return Mark(text, "miss") if truth.missed([entry]) else text
