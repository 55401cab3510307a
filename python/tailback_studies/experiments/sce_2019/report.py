"""Makes the report. The report shows errors by group, heat maps of the errors, every table, and the
set-up."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Facts, Report, Section, Table, Text, Value
from tailback.report.tables import left, right, setup
from tailback.store.results import Results
from tailback_studies.experiments.sce_2019 import grids, maps, misses, tables, truth
from tailback_studies.experiments.sce_2019.causes import DECLARED
from tailback_studies.experiments.sce_2019.layout import NAMES, WORDS
from tailback_studies.experiments.sce_2019.points import SceEntry
from tailback_studies.reproduction.entries import KINDS, sizes
from tailback_studies.reproduction.shown import NO_OFFLOADS, facts, goals_table, head, signed, size

TITLE = "SCE one- and two-flow tests (2019), run again"


SOURCE = (
    "P. Heist, R. Grimes, J. Morton, \u201cSome Congestion Experienced One and Two-Flow "
    "Tests\u201d, draft-heist-tsvwg-sce-one-and-two-flow-tests-00, July 2019, Appendix A"
)


LEAD = (
    "One or two flows pass Cake, with and without SCE. The report compares the results with the "
    "tables of a test bed, which needed more than fourteen hours for them."
)
QUICK = " A quick run: a sample of the values, chosen without results."


def ran(results: Sequence[Results], *, options: Sequence[str]) -> Facts:
    """Return the seeds, duration, engine and deviations of these runs, for the captions of a
    report."""
    deviations = [NO_OFFLOADS]
    if results and results[0].engine == "kernel":
        deviations.insert(0, "today's Linux and its Cake instead of 5.1 with SCE's patches")
    return facts(results, options=options, deviations=tuple(deviations))


def report(entries: Sequence[SceEntry], run_facts: Facts, *, quick: bool) -> Report:
    """Return the report of the experiment."""
    goals = goals_table(truth.judges(entries), run_facts)
    result: list[Block] = [goals, *_noise(entries), _by_group(entries, run_facts)]
    sections = [
        Section("result", "How far off", result if entries else []),
        *maps.sections(entries, run_facts),
        Section("misses", "Errors beyond 25 %", misses.misses(entries, run_facts)),
        Section("set-up", "Set-up", [setup(DECLARED, run_facts, grids.colours())]),
        *grids.sections(entries),
    ]
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=head(SOURCE, run_facts, entries),
        sections=[section for section in sections if section.blocks],
        cells=[entry.cell for entry in entries],
        files=tables.files(entries),
    )


def _noise(entries: Sequence[SceEntry]) -> list[Text]:
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
            f"{WORDS[quantity]} {size(own['median'], kind)} in the median, "
            f"{size(own['p90'], kind)} at the 90th percentile, {size(own['max'], kind)} at "
            f"most ({KINDS[kind]})"
        )
    return [
        Text(
            "**The publication's own error.** Pairs of CUBIC and Reno do not respond to "
            "SCE, so the two modes with one queue are the same experiment, done twice. The "
            f"two results differ by: {'; '.join(lines)}. For these values, even a perfect model "
            "would have such errors in a single run."
        )
    ]


def _by_group(entries: Sequence[SceEntry], facts: Facts) -> Table:
    columns = [
        *left("", "source"),
        *right("values", "median", "90th percentile", "of the rate, median", "90th percentile"),
        *left("furthest"),
    ]
    rows: list[list[Value]] = []
    for table, cells in tables.by_table(entries).items():
        jain = table.quantity == "jain"
        kind = "absolute" if jain else "relative"
        errors = sizes(cells, kind)
        row: list[Value] = [
            f"{table.setup.title}, {WORDS[table.quantity]}",
            f"Table {table.number}",
            len(errors),
        ]
        if not errors:
            rows.append([*row, None, None, None, None, None])
            continue
        row += [size(median(errors), kind, ".3f"), size(nearest_rank(errors, 0.9), kind, ".3f")]
        capacity = sizes(cells, "capacity")
        row += [size(median(capacity), ""), size(nearest_rank(capacity, 0.9), "")]
        far = max(cells, key=lambda e: e.size(kind) or 0.0)
        sign = far.cell.error if jain else far.cell.relative
        shown = f"{sign:+.3f}" if jain and sign is not None else signed(sign)
        who = f"{NAMES[far.cc]}, " if far.position and far.peer else ""
        rows.append([*row, f"{shown}: {who}{far.rate_mbit:g} Mbit/s, {far.delay_ms:g} ms"])
    caption = (
        "Errors relative to the published value; for throughputs also relative to Cake's rate. "
        "Every value is in all-cells.csv."
    )
    return Table("by-table", "Errors by table", columns, rows, caption, facts)
