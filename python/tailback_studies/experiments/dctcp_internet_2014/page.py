"""Makes the documentation page. The page shows Table I, the criteria, and the settings that the
paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Facts, Report, Section, Table, TableCell, Text
from tailback.report.tables import left
from tailback_studies.experiments.dctcp_internet_2014.words import miss_text
from tailback_studies.reproduction import runs
from tailback_studies.reproduction.judges import Judge
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import goals_table

# Criteria for the values. Each entry contains the quantities to which a criterion applies, the
# title of the criterion, and its limit as text.
JUDGED = (
    (
        ("k_over_m",),
        "Table I: K/M (DCTCP's threshold / Reno's threshold) at equal rates",
        "0.1 or one frame, whichever is larger",
    ),
    (("utilisation",), "Table I: utilisation by Reno and DCTCP", "0.01"),
    (
        ("occupancy_bdp",),
        "Table I: mean queue of Reno and DCTCP, in BDP",
        "0.02 or 8 %, whichever is larger",
    ),
    (("two_reno_utilisation",), "Table I: utilisation by two Reno flows", "0.01"),
    (
        ("two_reno_occupancy_bdp",),
        "Table I: mean queue of two Reno flows, in BDP",
        "0.02 or 8 %, whichever is larger",
    ),
)

LEAD = (
    "One Reno and one DCTCP flow share a queue that drops Reno's packets and marks DCTCP's "
    "packets. This "
    "page compares the results with Table I of \u201cUsing Data Center TCP (DCTCP) in the "
    "Internet\u201d (2014)."
)


def judges(cells: Sequence[TableCell]) -> list[Judge]:
    """Return each criterion of Table I with its result."""
    out = []
    for quantities, title, limit in JUDGED:
        group = [c for c in cells if c.quantity in quantities and c.tolerance is not None]
        errors = [abs(c.error) for c in group if c.error is not None]
        within = sum(c.status == "pass" for c in group)
        if group:
            out.append(
                Judge(
                    judge=title,
                    error="absolute",
                    limit=limit,
                    cells=len(group),
                    median=median(errors),
                    p90=nearest_rank(errors, 0.9),
                    within=within,
                    holds=within == len(group),
                    sizes={c.id: abs(c.error) for c in group if c.error is not None},
                )
            )
    return out


def page(whole: Report, facts_by_part: Mapping[str, Facts]) -> Page:
    """Return the page. The page shows the criteria first, then the tables of the report."""
    missed = [c for c in whole.cells if c.status == "miss"]
    result: list[Block] = [goals_table(judges(whole.cells), Facts()), Text(CHOSEN)]
    if missed:
        rows = [[miss_text(c)] for c in missed]
        result.append(Table("misses", "Every miss", left(""), rows))
    sections = [Section("result", "How far off", result)]
    for section in whole.sections:
        blocks = runs.bare(section.blocks)
        if section.id != "result" and blocks:
            sections.append(Section(section.id, section.title, blocks))
    sections.append(Section("runs", "Runs", [runs.table(facts_by_part)]))
    return Page("Using DCTCP in the Internet (2014)", LEAD, sections)


CHOSEN = """
The paper does not state two options: RED's idle clock and its uniformisation. They were chosen
after seeing Table I (\u201cinferred\u201d in the set-up), so no value of Table I is held out. The
table of readings shows the results of the other choices. That section also chooses the idle clock a
second time, from the values with two Reno flows alone.
"""
