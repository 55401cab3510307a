"""Makes the documentation page that compares measured and predicted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.report import Facts, Report, Section, Table, Text
from tailback.report.tables import left, words
from tailback_studies.experiments.abe_2017 import layout, truth
from tailback_studies.reproduction import runs
from tailback_studies.reproduction.page import Page


def page(
    whole: Report, verdicts: Sequence[truth.AbeVerdict], plan_facts: Mapping[str, Facts]
) -> Page:
    """Return docs/evidence/abe-2017.md. The page has the tables of the report, and the report's
    first figure."""
    sections = []
    for section in whole.sections:
        blocks = runs.bare(section.blocks)
        if section.id == "result":
            blocks += [_misses(v) for v in verdicts if v.misses]
        if blocks:
            sections.append(Section(section.id, section.title, blocks))
    sections.append(
        Section("set-up", "Set-up", [Text(_setup()), runs.table(plan_facts), _queues()])
    )
    return Page(
        "ABE (RFC 8511): what a gentler backoff gains and costs",
        "A sender with ABE reduces its window less after an ECN mark than after a loss. tailback "
        "repeats the experiments of the ABE poster (2017).",
        sections,
    )


def _misses(verdict: truth.AbeVerdict) -> Table:
    return Table(
        f"misses-{verdict.id.replace('.', '-')}",
        f"{verdict.title}: claims that do not hold",
        left(""),
        [[line] for line in verdict.misses],
    )


def _setup() -> str:
    return """
The poster states the rates, queues and round-trip times, but not the durations, seeds or TCP stack.
In experiment 6, flows with ABE use CUBIC. For this experiment, the poster gives only a range of
throughput ratios, not the ratio for each backoff factor. This study uses `reno` and `cubic` as in
today's Linux, with `beta_ecn` as the backoff factor. After a mark, PRR reduces the window from its
current size (`abe = "linux"`). Two of the queues are PIE of 2014 (`version = "linux-3.14"`) and
today's PIE.
"""


def _queues() -> Table:
    rows = [
        [queue.title, " ".join(f"{k}={_text(v)}" for k, v in queue.options.items())]
        for queue in layout.QUEUES.values()
    ]
    return Table("queues", "Queues", [*left("queue"), *words("options")], rows)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
