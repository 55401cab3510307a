"""The report."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.experiments.sqrt_1997.points import Point
from tailback.experiments.sqrt_1997.truth import GOALS
from tailback.report import Report, Section, Table
from tailback.report.tables import right
from tailback.reproduction.entries import counted
from tailback.reproduction.experiment import Findings
from tailback.reproduction.goals import cells_verdicts, summary, with_tolerances
from tailback.reproduction.shown import NO_OFFLOADS, facts, goals_table, signed
from tailback.results import Results


def findings(entries: Sequence[Point], results: Sequence[Results]) -> Findings:
    """Cells, verdicts and the page."""
    judged = with_tolerances(GOALS, entries)
    verdicts = list(cells_verdicts(GOALS, judged))
    made = facts(results, warmup="20 s", deviations=(NO_OFFLOADS,))
    rows = [
        [f"{e.loss:g}", e.cell.published, e.cell.measured, signed(e.error("relative"))]
        for e in judged
    ]
    columns = right("loss", "published", "measured", "error")
    caption = "Segments that Reno brings in a round-trip time, beside sqrt(3/2) / sqrt(p)."
    sections = [
        Section("result", "How far off", [goals_table(verdicts, made)]),
        Section("windows", "Windows", [Table("windows", "Windows", columns, rows, caption, made)]),
    ]
    meta = [("cells", counted(judged))]
    report = Report(
        "", "Reno over random loss", "Windows over loss.", meta, sections, [e.cell for e in judged]
    )
    return Findings(report, [e.json() for e in judged], summary(judged, verdicts))
