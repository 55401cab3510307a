"""The page of the experiment: goals, misses, what was corrected, what stays open, readings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.experiments.dualpi2_2022 import law, questions, readings, rows, signature, truth
from tailback.experiments.dualpi2_2022.causes import DECLARED
from tailback.experiments.dualpi2_2022.layout import Run
from tailback.experiments.dualpi2_2022.points import Entry, Stored
from tailback.report import Block, Facts, Section, Table, Text, Value
from tailback.report.tables import present, setup, words
from tailback.reproduction.shown import goals_table

TITLE = "DualPI2 in 2022"
LEAD = (
    "The result files published with \u201cDual Queue Coupled AQM\u201d (2022), measured again: "
    "all rows of the eight archives, of which half are not among the data here. The source ran "
    "each case once."
)

MEANT = (
    "Each table has one thing read otherwise: published cells within their goal, the median of "
    "their errors and what 90 % of them stay below, in the set-up above \u2192 with the change. "
    "Errors that rise speak for the set-up, errors that fall against it; goals whose errors do not "
    "change are left out."
)
CHANGED = (
    "The set-up was corrected from the files that stand in each archive and from the authors' "
    "scripts, before these runs; nothing was changed after them. The first table "
    "undoes everything, the others one thing each: what is on the left is the "
    "set-up, what is on the right is as it was."
)


def sections(
    entries: Sequence[Entry],
    found: questions.Found,
    laws: Sequence[law.Law],
    runs: Sequence[Run],
    results: Sequence[Iterable[Stored]],
    facts: Facts,
) -> list[Section]:
    """All of the page."""
    signs = signature.signatures(entries)
    result = present(
        goals_table(truth.judged_goals(entries), facts) if entries else None,
        signature.table(signs, facts) if signs else None,
        law.table(laws, facts) if laws else None,
    )
    return [
        section
        for section in (
            Section("result", "How far off", result),
            Section("misses", "Cells beyond their goal", rows.misses(entries, facts)),
            Section("set-up", "Set-up", [setup(DECLARED, facts)]),
            Section("changes", "What was corrected", _read(CHANGED, found, readings.CHANGES)),
            Section(
                "questions",
                "Open questions",
                [_open(facts), *questions.tables(found, runs, results, facts)],
            ),
            Section("readings", "Readings", _read(MEANT, found, readings.TRIED)),
        )
        if section.blocks
    ]


def _read(lead: str, found: questions.Found, wanted: Sequence[readings.Read]) -> list[Block]:
    blocks = readings.tables(found, wanted)
    return [Text(lead), *blocks] if blocks else []


def _open(facts: Facts) -> Table:
    table: list[list[Value]] = [list(row) for row in QUESTIONS]
    columns = words("question", "tried", "came out", "verdict")
    return Table("open", "Open questions", columns, table, "", facts)


#: Question, what was tried, what came out, verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = ()
