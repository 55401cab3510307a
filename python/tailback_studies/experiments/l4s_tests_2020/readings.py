"""Runs the experiment with alternative values for details that the publication does not state, one
at a time.

The experiment's own results come from runs without these alternatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Facts, Section, Table, Value
from tailback.report.tables import right, words
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import points, truth
from tailback_studies.experiments.l4s_tests_2020.layout import ROWS, L4sRow, published_names
from tailback_studies.experiments.l4s_tests_2020.points import L4sEntry, L4sVariant
from tailback_studies.reproduction.entries import sizes
from tailback_studies.reproduction.readings import BASELINE, Reading, before_and_after
from tailback_studies.reproduction.shown import signed, size

# Number of seeds of each published row.
SEEDS = 2

READINGS: tuple[Reading[L4sVariant, L4sRow], ...] = (
    Reading(
        "jitter",
        "hosts delay packets by up to 100 us, in order (`host_jitter`): no lock-step at a FIFO",
        L4sVariant(set={"host_jitter": "100us"}),
        lambda row: row.table == "s6" or row.queue.startswith("pfifo"),
    ),
    Reading(
        "fraction",
        "Prague's window is the fraction rounded up, as in later trees (`window`)",
        L4sVariant(ccs={"prague": {"window": "fraction"}}),
        lambda row: row.table == "s6" or (row.queue == "dualpi2" and not points.stock(row)),
    ),
    Reading(
        "no-burst",
        "the shaper has no burst (`burst`)",
        L4sVariant(set={"bottleneck.burst": "0b"}),
        lambda row: row.table == "s6" or row.queue == "dualpi2",
    ),
    Reading(
        "step",
        "the step marks any packet, as DualPI2 of Linux (`min_qlen_step`)",
        L4sVariant(queue={"dualpi2": {"min_qlen_step": 0}}),
        lambda row: row.queue == "dualpi2",
    ),
)


def rows_of(reading: Reading[L4sVariant, L4sRow]) -> list[L4sRow]:
    """Return the published rows that an alternative affects."""
    known = published_names()
    return [row for row in ROWS if (row.table, row.name) in known and reading.concerns(row)]


def jobs(seeds: int = SEEDS) -> dict[str, list[Job]]:
    """Return the jobs of each alternative."""
    return {
        reading.id: [
            points.job(row, seeds=seeds, variant=reading.variant) for row in rows_of(reading)
        ]
        for reading in READINGS
    }


def measured(
    entries: Sequence[L4sEntry], results: Mapping[str, Sequence[Results]]
) -> dict[str, list[L4sEntry]]:
    """Return the values measured with the set-up, and the values measured with each alternative
    value."""
    found = {
        reading.id: points.entries(rows_of(reading), results[reading.id]) for reading in READINGS
    }
    return {BASELINE: list(entries), **found}


def section(found: Mapping[str, Sequence[L4sEntry]], facts: Facts) -> Section:
    """For each alternative, show the errors of the values that it affects, with the set-up and with
    the alternative."""
    rows: list[list[Value]] = []
    for reading in READINGS:
        before, after = before_and_after(found, reading)
        for goal, kind, title in (
            (truth.S1_GOAL, "capacity", "S1, of the rate"),
            (truth.S6_GOAL, "relative", "S6, ratios"),
        ):
            own = [[e for e in side if goal.belongs(e)] for side in (before, after)]
            errors = [sizes(side, kind) for side in own]
            if not errors[0]:
                continue
            signs = [[e.error(kind) for e in side if e.error(kind) is not None] for side in own]
            means = [sum(filter(None, side)) / len(side) for side in signs]
            rows.append(
                [
                    reading.title,
                    title,
                    len(errors[0]),
                    *(size(median(side), "") for side in errors),
                    *(size(nearest_rank(side, 0.9), "") for side in errors),
                    *((signed(mean) for mean in means) if goal is truth.S6_GOAL else (None, None)),
                ]
            )
    columns = [
        *words("read otherwise", ""),
        *right("values", "median before", "after", "90th percentile before", "after"),
        *right("mean, signed, before", "after"),
    ]
    caption = (
        "Published values that a reading affects, in the set-up and with the reading. Tried after "
        "the comparison; the set-up is unchanged."
    )
    table = Table("readings", "Other readings of what is left open", columns, rows, caption, facts)
    return Section("readings", "What is left open", [table])
