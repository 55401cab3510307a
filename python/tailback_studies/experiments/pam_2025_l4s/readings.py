"""Runs the experiment with other values for details that the publication does not state, one at a
time. The results of the experiment itself come from runs without these alternative values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Facts, Section, Table, Value
from tailback.report.tables import right, words
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.pam_2025_l4s import points, truth
from tailback_studies.experiments.pam_2025_l4s.layout import QUICK_BDP, ROWS, PamRow, known_rows
from tailback_studies.experiments.pam_2025_l4s.points import PamEntry
from tailback_studies.reproduction.entries import sizes
from tailback_studies.reproduction.readings import BASELINE, Reading, before_and_after
from tailback_studies.reproduction.shown import size
from tailback_studies.reproduction.sources import set_value

# Number of seeds of each published row.
SEEDS = 1


@dataclass(frozen=True)
class PamVariant:
    """Changes to the set-up of each published row."""

    set: Mapping[str, Any] = field(default_factory=dict)
    """Values by path."""
    prague: Mapping[str, Any] = field(default_factory=dict)
    """Options of Prague."""
    prague_tcp: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the TCP stack of Prague's flows."""


READINGS: tuple[Reading[PamVariant, PamRow], ...] = (
    Reading(
        "delack",
        "Prague's receiver delays ACKs as in Linux (`accecn_receiver`)",
        PamVariant(prague_tcp={"accecn_receiver": "linux"}),
    ),
    Reading(
        "earlier",
        "Prague as in version 0.6 with 24 bits of alpha (`version`, `alpha_bits`)",
        PamVariant(prague={"version": "0.6", "alpha_bits": 24}),
    ),
    Reading(
        "rate",
        "the rate replaces Prague's window at every size after the first mark (`mode`)",
        PamVariant(prague={"mode": "rate", "rtt_transition": 500}),
    ),
    Reading(
        "jitter",
        "the path behind the queue adds up to 1 ms, in order (`jitter`)",
        PamVariant(set={"bottleneck.jitter": "1ms"}),
    ),
    Reading(
        "unjittered",
        "hosts do not delay packets at random (`host_jitter`)",
        PamVariant(set={"host_jitter": "0s"}),
    ),
    Reading(
        "unpaused",
        "hosts do not pause (`hosts`)",
        PamVariant(set={"hosts": "ideal"}),
    ),
    Reading(
        "vm",
        "hosts hold packets as virtual machines do, and do not pause (`hosts`)",
        PamVariant(set={"host_jitter": "0s", "hosts": "vm"}),
    ),
)


def rows_of(reading: Reading[PamVariant, PamRow]) -> list[PamRow]:
    """Return the rows of `--quick` that an alternative affects."""
    known = known_rows()
    quick = (row for row in ROWS if row in known and row.buffer_bdp == QUICK_BDP)
    return [row for row in quick if reading.concerns(row)]


def made(row: PamRow, variant: PamVariant) -> dict[str, Any]:
    """Return the scenario of a published row with the changes of an alternative."""
    out = points.made(row)
    out["flows"][0]["cc"].update(variant.prague)
    out["flows"][0]["tcp"].update(variant.prague_tcp)
    for path, value in variant.set.items():
        set_value(out, path, value)
    return out


def jobs() -> dict[str, list[Job]]:
    """Return the jobs of the set-up and of each alternative."""
    variants = {BASELINE: PamVariant(), **{r.id: r.variant for r in READINGS}}
    rows = {BASELINE: rows_of(READINGS[0]), **{r.id: rows_of(r) for r in READINGS}}
    return {
        name: [Job(made(row, variant), {}, SEEDS) for row in rows[name]]
        for name, variant in variants.items()
    }


def measured(results: Mapping[str, Sequence[Results]]) -> dict[str, list[PamEntry]]:
    """Return the values measured with the set-up, and the values measured with each alternative
    value."""
    found = {r.id: points.entries(rows_of(r), results[r.id]) for r in READINGS}
    return {BASELINE: points.entries(rows_of(READINGS[0]), results[BASELINE]), **found}


def section(found: Mapping[str, Sequence[PamEntry]], facts: Facts) -> Section:
    """For each alternative, show the errors of the values that it affects, with the set-up and with
    the alternative."""
    rows: list[list[Value]] = []
    for reading in READINGS:
        before, after = before_and_after(found, reading)
        for goal, title in zip(truth.GOALS, ("rates, of the link's", "srtt"), strict=True):
            errors = [sizes(goal.own(side), goal.kind) for side in (before, after)]
            rows.append(
                [
                    reading.title,
                    title,
                    len(errors[0]),
                    *(size(median(side), "") for side in errors),
                    *(size(nearest_rank(side, 0.9), "") for side in errors),
                ]
            )
    columns = [
        *words("read otherwise", ""),
        *right("values", "median before", "after", "90th percentile before", "after"),
    ]
    caption = (
        "Published rows with a buffer of 2 BDP, in the set-up and with the reading, one seed. "
        "Tried after the comparison; the set-up is unchanged."
    )
    table = Table("readings", "Other readings of what is left open", columns, rows, caption, facts)
    return Section("readings", "What is left open", [table])
