"""Makes a documentation page with the result of an experiment, the command and the revision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tailback.base.revision import revision
from tailback.report import Facts, Report, ReportFigure, Section, to_markdown
from tailback_studies.reproduction.published import OPENING


@dataclass(frozen=True)
class Page:
    """A page. The top of the page lists facts about all runs, such as the engine and the number of
    seeds.

    The page shows figures of the experiment's report, and refers to them by id."""

    title: str
    lead: str
    sections: Sequence[Section]
    facts: Facts = field(default_factory=Facts)

    def text(self, command: str, cpu_s: float) -> str:
        """Return the page in Markdown. `cpu_s` is the processor time of all runs, including stored
        runs."""
        report = Report(
            name="",
            title=self.title,
            lead=self.lead,
            meta=[
                ("command", command),
                ("revision", revision()),
                ("processor time", f"{cpu_s:.0f} s"),
            ],
            sections=self.sections,
            facts=self.facts,
        )
        return to_markdown(report)

    def with_figure(self, report: Report) -> Page:
        """Return the page. If the page has no figure, add the report's opening figure. Leave out
        the line that describes the figure's runs, because it could seem to describe the runs of the
        whole page.
        """
        figure = report.opening()
        blocks = (block for section in self.sections for block in section.blocks)
        if figure is None or any(isinstance(block, ReportFigure) for block in blocks):
            return self
        first, *rest = self.sections
        bare = replace(figure, facts=Facts())
        return replace(self, sections=[first, Section("figure", OPENING, [bare]), *rest])
