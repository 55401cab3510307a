"""Makes the experiment's page, with the errors before and after the only change made because of
held-out values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailback.report import Block, Facts, Report, Section, Table, Text
from tailback_studies.experiments.sce_2019 import points, truth
from tailback_studies.experiments.sce_2019.layout import SETUPS, blind
from tailback_studies.experiments.sce_2019.points import SceBatch, SceEntry, SceVariant
from tailback_studies.reproduction import runs
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import goals_table

# The options of the first comparison with the held-out values.
FIRST = SceVariant(ccs={"dctcp": {"cut": "echo"}})

LEAD = (
    "tailback repeats \u201cSome Congestion Experienced One and Two-Flow Tests\u201d (2019). This "
    "page compares the results with every number in the tables of that study. The page names the "
    "mechanisms that cause the differences, and lists open questions. The command below writes a "
    "report with more figures and tables, and `all-cells.csv` with every number."
)

CHANGED = """
**Held-out values.** A third of the values, the rows of two rates and the tables of five pairs, were
held out until the set-up was frozen. The first table shows the first comparison of these values
with that set-up. Afterwards one option was changed, for every value with a DCTCP flow: DCTCP
reduces its window in every round (`cut = "round"`; see the open questions). Values with a DCTCP
flow therefore no longer count as held-out. The second table has all values with the present set-up.
"""


def first(*, seeds: int) -> list[SceBatch]:
    """Return batches that repeat the first comparison for set-ups with DCTCP, because DCTCP's
    options were changed after that comparison.
    """
    own = [setup for setup in SETUPS if "dctcp" in setup.ccs]
    return points.plan(points.every(own), seeds=seeds, variant=FIRST)


def merged(now: Sequence[SceEntry], before: Sequence[SceEntry]) -> list[SceEntry]:
    """Return every value of the first comparison. If a value's run was repeated, the value comes
    from `before`, and otherwise from `now`."""
    hidden = blind()
    old = {(entry.table.number, entry.cell.id): entry for entry in before}
    out = []
    for entry in (old.get((e.table.number, e.cell.id), e) for e in now):
        key = (entry.table.number, entry.position, *entry.place)
        out.append(replace(entry, cell=replace(entry.cell, blind=key in hidden)))
    return out


def page(
    whole: Report,
    before: Sequence[SceEntry],
    sections: Sequence[Section],
    facts: Facts,
    tried: Facts,
) -> Page:
    """Return the page. `whole` is the report on all values, from which the page copies tables and
    texts."""
    then = goals_table(truth.judges(before), facts)
    then = replace(then, id="first", title="Criteria in the first comparison", caption="")
    known = {section.id: section for section in whole.sections}
    result: list[Block] = [Text(CHANGED), then, *_tables(known["result"])]
    return Page(
        "SCE and Cake in 2019",
        LEAD,
        [
            Section("result", "How far off", result),
            *(Section(s.id, s.title, runs.bare(s.blocks)) for s in sections),
            Section("misses", known["misses"].title, _tables(known["misses"])),
            Section(
                "set-up",
                "Set-up",
                [
                    *_tables(known["set-up"]),
                    runs.table({"goals and tables": facts, "mechanisms": tried}),
                ],
            ),
        ],
        facts,
    )


def _tables(section: Section) -> list[Block]:
    return [block for block in section.blocks if isinstance(block, Table | Text)]
