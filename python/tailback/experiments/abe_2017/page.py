"""The note: measured against predicted and published values, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.experiments.abe_2017 import layout, truth
from tailback.report import Report, Section, Table, Text, to_markdown
from tailback.report.tables import left, words


def page(whole: Report, verdicts: Sequence[truth.Verdict]) -> str:
    """What docs/abe-2017.md has: the tables of the report, without its figures."""
    sections = []
    for section in whole.sections:
        blocks = [b for b in section.blocks if isinstance(b, Table | Text)]
        if section.id == "result":
            blocks += [_misses(v) for v in verdicts if v.misses]
        if blocks:
            sections.append(Section(section.id, section.title, blocks))
    report = Report(
        name="",
        title="ABE (RFC 8511): what a gentler backoff gains and costs",
        lead=(
            "`tailback reproduce abe-2017` runs the experiments of the ABE poster (2017) and "
            "writes this page beside its report, which has the figures."
        ),
        meta=whole.meta,
        sections=[*sections, Section("set-up", "Set-up", [Text(_setup()), _queues()])],
    )
    return to_markdown(report)


def _misses(verdict: truth.Verdict) -> Table:
    shown = list(verdict.misses[:12])
    more = len(verdict.misses) - len(shown)
    if more > 0:
        shown.append(f"and {more} more")
    return Table(
        f"misses-{verdict.id.replace('.', '-')}",
        f"{verdict.title}: what does not hold",
        left(""),
        [[line] for line in shown],
    )


def _setup() -> str:
    return """
The poster gives rates, queues and round-trip times; how long it ran, its seeds and its stack it
does not. Here the congestion controls are those of today's Linux (`reno`, `cubic`) with `beta_ecn`,
its reductions from cwnd and by PRR (`abe = "linux"`); PIE of 2014 (`version = "linux-3.14"`: target
20 ms, tupdate 30 ms, departure-rate estimator, three gain levels, plain Bernoulli) is the primary
one, and today's the second.
"""


def _queues() -> Table:
    rows = [
        [queue.title, " ".join(f"{k} = {_text(v)}" for k, v in queue.options.items())]
        for queue in layout.QUEUES.values()
    ]
    return Table("queues", "Queues", [*left("queue"), *words("options")], rows)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
