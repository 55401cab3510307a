"""Makes the report and the page. The report and the page show goals, errors by group, maps of BBR's
gain, and the set-up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import polars as pl

from tailback.figures import grid
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Facts, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right, setup, words
from tailback.store.results import Results
from tailback_studies.experiments.imc_bbr_2023 import truth
from tailback_studies.experiments.imc_bbr_2023.causes import CHANGED, DECLARED, QUESTIONS
from tailback_studies.experiments.imc_bbr_2023.layout import (
    BUFFER_WORDS,
    BUFFERS,
    KERNELS,
    WORDS,
    ImcRow,
)
from tailback_studies.experiments.imc_bbr_2023.points import GAIN, GOODPUT, ImcEntry, by_place
from tailback_studies.reproduction.entries import sizes
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import facts, goals_table, head, signed, size

TITLE = "When to use BBR (2019, 2023), run again"
SOURCE = (
    "Cao, Jain, Sharma, Balasubramanian and Gandhi, IMC 2019, figure 5 (replicated by Datta and "
    "Fund, sdatta97/imcbbrrepro, 2023)"
)
LEAD = (
    "A single flow of CUBIC, BBR or BBRv2 crosses a FIFO of 100 kB or 10 MB. The link rates are "
    "10 to 1000 Mbit/s, and the round-trip times are 5 to 200 ms. The experiment measures the "
    "flow's goodput over 60 s."
)
BLIND = (
    "The set-up was written from the publication's scripts before the comparison. No value counts "
    "as held out, because an earlier draft had been compared with the same values."
)
QUICK = " A quick run: a few published places, one seed."
# Gain at which the colour scale ends, by buffer.
LIMITS = {100: 1.0, 10_000: 0.1}


def ran(results: Sequence[Results]) -> Facts:
    """Return the seeds, duration, engine and deviations of these runs, for the captions of a
    report."""
    on_linux = bool(results) and results[0].engine == "kernel"
    deviations = ("today's Linux instead of 5.15",) if on_linux else ()
    return facts(results, deviations=deviations)


def sections(entries: Sequence[ImcEntry], run_facts: Facts) -> list[Section]:
    """Return the sections on goals, errors by group, BBR's gain, and large errors."""
    result: list[Block] = [goals_table(truth.judges(entries), run_facts)]
    out = [
        Section("result", "How far off", [*result, _groups(entries, run_facts)]),
        Section("gain", "Gain of BBR over CUBIC", list(_maps(entries, run_facts))),
        Section(
            "misses", "Errors beyond the limit for the 90th percentile", _misses(entries, run_facts)
        ),
        Section("signs", "Opposite signs", _signs(entries, run_facts)),
    ]
    return [section for section in out if section.blocks]


def basis(run_facts: Facts) -> list[Section]:
    """Describe the set-up, the changes to it, and open questions."""
    columns: tuple[str, ...] = ("what", "before", "after", "why")
    changed = _listed("changed", "Changed after looking", columns, CHANGED, run_facts)
    out = [
        Section("set-up", "Set-up", [setup(DECLARED, run_facts)]),
        Section("changed", "Changed after looking", [changed]),
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


def report(entries: Sequence[ImcEntry], run_facts: Facts, *, quick: bool) -> Report:
    """Return the report of the experiment."""
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=head(SOURCE, run_facts, entries),
        sections=[
            *sections(entries, run_facts),
            *basis(run_facts),
            Section("rows", "Every row", list(_rows(entries, run_facts))),
        ],
        cells=[entry.cell for entry in entries],
    )


def page(entries: Sequence[ImcEntry], made: Facts) -> Page:
    """Return the experiment's page for docs/evidence."""
    lead = f"tailback repeats experiments of {SOURCE}. {LEAD}\n\n{BLIND}"
    return Page(TITLE, lead, [*sections(entries, made), *basis(made)], made)


# --- tables --------------------------------------------------------------------------------------


def _groups(entries: Sequence[ImcEntry], run_facts: Facts) -> Table:
    """Show the errors of each kernel, congestion control and buffer, including groups without a
    goal."""
    rows: list[list[Value]] = []
    groups = itertools.product(KERNELS, WORDS, BUFFERS, (False, True))
    for kernel, cc, buffer, offloads in groups:
        own = [
            e
            for e in entries
            if e.quantity == GOODPUT
            and (e.row.kernel, e.row.cc, e.row.place.buffer_kb) == (kernel, cc, buffer)
            and e.row.offloads_decide == offloads
        ]
        errors = sizes(own, "capacity")
        if not errors:
            continue
        where = BUFFER_WORDS[buffer] + (", above 100 Mbit/s" if offloads else "")
        rows.append(
            [
                kernel,
                WORDS[cc],
                where,
                len(errors),
                size(median(errors), "capacity"),
                size(nearest_rank(errors, 0.9), "capacity"),
                sum(error <= truth.P90 for error in errors),
                "no" if offloads else "yes",
            ]
        )
    columns = [
        *left("kernel", "congestion control", "buffer"),
        *right("values", "median error", "90th percentile", f"within {100 * truth.P90:g} %"),
        *left("judged"),
    ]
    caption = (
        "Errors of the goodput, divided by the link's rate. Values of CUBIC at 100 kB and above "
        "100 Mbit/s count for no criterion: the publication's buffer then has room for only one or "
        "two packets of 64 kB, and the simulator did not have offloads when the limits were set."
    )
    return Table("groups", "Goodput by group", columns, rows, caption, run_facts)


def _misses(entries: Sequence[ImcEntry], run_facts: Facts) -> list[Block]:
    held = sum(e.size("capacity") is not None for g in truth.GOODPUTS for e in g.own(entries))
    off = truth.missed(entries)
    limit = f"{100 * truth.P90:g} %"
    if not off:
        return [Text(f"All {held} goodputs with a goal are within {limit}.")] if held else []
    caption = (
        f"Goodputs of the groups with a criterion whose error is more than {limit} of the rate."
    )
    return [_table("misses", "One by one", off, caption, run_facts)]


def _signs(entries: Sequence[ImcEntry], run_facts: Facts) -> list[Block]:
    rows: list[list[Value]] = []
    for e in truth.opposite(entries):
        found = by_place(entries, e.row.kernel, GAIN)[e.row.place]
        gains = (signed(found.cell.published), signed(found.cell.measured))
        rows.append([e.row.kernel, *_where(e.row), *gains])
    if not rows:
        return []
    columns = [
        *left("kernel", "buffer"),
        *right("Mbit/s", "RTT, ms", "published gain", "measured gain"),
    ]
    return [Table("signs", "Gains of opposite signs", columns, rows, "", run_facts)]


def _rows(entries: Sequence[ImcEntry], run_facts: Facts) -> Iterator[Table]:
    for kernel, ccs in KERNELS.items():
        for cc in ccs:
            own = [
                e
                for e in entries
                if e.quantity == GOODPUT and (e.row.kernel, e.row.cc) == (kernel, cc)
            ]
            if own:
                title = f"{kernel}, {WORDS[cc]}"
                yield _table(f"rows-{kernel}-{cc}", title, own, "", run_facts)


def _table(
    name: str, title: str, entries: Sequence[ImcEntry], caption: str, run_facts: Facts
) -> Table:
    rows: list[list[Value]] = [
        [
            e.row.kernel,
            WORDS[e.row.cc],
            *_where(e.row),
            None if e.cell.published is None else f"{e.cell.published:.2f}",
            None if e.cell.measured is None else f"{e.cell.measured:.2f}",
            signed(e.error("capacity")),
        ]
        for e in entries
    ]
    columns = [
        *left("kernel", "congestion control", "buffer"),
        *right("rate, Mbit/s", "RTT, ms", "published", "measured"),
        *right("error relative to the link's rate"),
    ]
    return Table(name, title, columns, rows, caption, run_facts)


def _where(row: ImcRow) -> tuple[Value, Value, Value]:
    place = row.place
    return BUFFER_WORDS[place.buffer_kb], place.rate_mbit, place.rtt_ms


# --- figures -------------------------------------------------------------------------------------


def _maps(entries: Sequence[ImcEntry], run_facts: Facts) -> Iterator[ReportFigure]:
    """Draw heat maps of BBR's gain by rate and round-trip time, for each buffer, with published and
    measured values side by side."""
    for buffer, limit in LIMITS.items():
        rows = []
        order = []
        for kernel, (_, bbr) in KERNELS.items():
            panels = [f"{WORDS[bbr]}, {kernel}: {whose}" for whose in ("published", "measured")]
            cells = [
                e
                for place, e in by_place(entries, kernel, GAIN).items()
                if place.buffer_kb == buffer and e.cell.measured is not None
            ]
            if not cells:
                continue
            order += panels
            for e in cells:
                place = e.row.place
                values = (e.cell.published, e.cell.measured)
                rows += [
                    {"panel": panel, "rate": place.rate_mbit, "rtt": place.rtt_ms, "gain": value}
                    for panel, value in zip(panels, values, strict=True)
                ]
        if not rows:
            continue
        frame = pl.DataFrame(rows, schema_overrides={"gain": pl.Float64}, infer_schema_length=None)
        chart = grid(
            frame,
            x="rtt",
            y="rate",
            value="gain",
            facet="panel",
            x_title="RTT, ms",
            y_title="Mbit/s",
            value_title="gain, %",
            order=order,
            limit=limit,
            columns=2,
            cell=38,
        )
        title = f"Gain of BBR over CUBIC, buffer of {BUFFER_WORDS[buffer]}"
        caption = (
            "The map shows by how many percent BBR's goodput exceeds CUBIC's goodput; "
            f"the colour scale ends at {100 * limit:g} %. White cells have no published value."
        )
        yield ReportFigure(f"gain-{buffer}", title, chart, caption, run_facts)
