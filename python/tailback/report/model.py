"""Defines the contents of a report: sections, figures, tables. The writers (HTML, Markdown, PDF,
CSV) determine how a report looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tailback.figures.theme import Chart
from tailback.metrics.statistics import Estimate, median, nearest_rank
from tailback.report.rerun import Rerun

#: Verdicts on whether a measured value agrees with the published value.
Status = Literal["pass", "miss", "info"]


@dataclass(frozen=True)
class Facts:
    """Facts about the runs of a figure or table, printed next to that figure or table."""

    #: Number of runs.
    runs: int = 0
    #: Number of seeds of each sweep point. If the number differs between sweep points, the largest
    #: number.
    seeds: int = 0
    #: The simulated time of a run, as text with a unit. If the time differs between runs, the text
    #: lists all times.
    duration: str = ""
    #: When the measured time begins, as text with a unit.
    warmup: str = ""
    #: Name and version of the engine.
    engine: str = ""
    #: Settings that differ from the default.
    options: Sequence[str] = ()
    #: Differences from the published set-up.
    deviations: Sequence[str] = ()
    #: Smallest number of seeds of a sweep point. 0 if all sweep points have `seeds` seeds.
    fewest_seeds: int = 0
    #: Runs that a link next to the figure opens in the laboratory.
    reruns: Sequence[Rerun] = field(default=(), repr=False, compare=False)

    def lines(self, said: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
        """Return the known facts as pairs of label and text, without facts that have the same text
        in `said`."""
        known = self._known()
        return [line for line in known if (said or {}).get(line[0]) != line[1]]

    def _known(self) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        if self.runs:
            number = f"{self.fewest_seeds} to {self.seeds}" if self.fewest_seeds else self.seeds
            seeds = f", {number} seed{'s' if self.seeds != 1 else ''} per scenario"
            out.append(("runs", f"{self.runs}{seeds if self.seeds else ''}"))
        if self.duration:
            out.append(("duration", self.duration))
        if self.warmup:
            out.append(("warm-up (not counted)", f"the first {self.warmup}"))
        if self.engine:
            out.append(("engine", self.engine))
        if self.options:
            out.append(("options", "; ".join(self.options)))
        if self.deviations:
            out.append(("deviations", "; ".join(self.deviations)))
        return out


@dataclass(frozen=True)
class Text:
    """Trusted text: paragraphs separated by empty lines, with `code`, **bold** and [links](url).

    Untrusted data in this text must pass through `text.plain` or `text.code`.
    """

    text: str


@dataclass(frozen=True)
class Listing(Text):
    """The lines of a file, printed unchanged. Unlike a `Text`, these lines may be untrusted."""


@dataclass(frozen=True)
class ReportFigure:
    """A chart with a caption and facts about its runs."""

    #: Name of the figure's file without ending: letters, digits and dashes.
    id: str
    title: str
    chart: Chart
    #: Trusted text below the figure.
    caption: str
    facts: Facts = field(default_factory=Facts)

    def __post_init__(self) -> None:
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", self.id, re.ASCII) is None:
            raise ValueError(f"{self.id!r} cannot name the file of a figure")


@dataclass(frozen=True)
class Column:
    title: str
    #: Format of numbers, as for `format()`.
    format: str = ""
    align: Literal["left", "right"] = "right"
    unit: str = ""
    #: Whether the texts come from tailback itself and may contain `code`, **bold** and
    #: [links](url). Otherwise they are untrusted.
    words: bool = False


@dataclass(frozen=True)
class Mark:
    """A table cell with a verdict."""

    text: str
    status: Status


#: None is shown as an em dash, for "not measured".
Value = float | int | str | Mark | None


@dataclass(frozen=True)
class Table:
    """A table whose cells are numbers, texts and verdicts."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    caption: str = ""
    facts: Facts = field(default_factory=Facts)


Block = Text | ReportFigure | Table


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class TableCell:
    """A published number and the measured value. cells.csv and `--json` have a row for each such
    pair."""

    #: The number's table, row and column, as the publication names them.
    id: str
    quantity: str
    unit: str
    published: float | None
    measured: float | None
    #: Number of independent values averaged in `measured`.
    n: int
    #: Half the width of the 95 % confidence interval. None for n = 1 or identical runs.
    ci95: float | None
    #: Largest |measured - published| that passes. None if there is no limit.
    tolerance: float | None = None
    #: The reason why the values differ, if it is known.
    note: str = ""
    #: Whether the published value was held out while the set-up and its calibration were chosen.
    blind: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        quantity: str,
        unit: str,
        published: float | None,
        estimate: Estimate,
        tolerance: float | None = None,
        note: str = "",
    ) -> TableCell:
        """Make a cell from a mean over seeds."""
        mean, n, half = estimate.mean, estimate.n, estimate.half_width
        return cls(name, quantity, unit, published, mean, n, half, tolerance, note)

    @property
    def error(self) -> float | None:
        """The measured value minus the published value."""
        if self.published is None or self.measured is None:
            return None
        return self.measured - self.published

    @property
    def relative(self) -> float | None:
        """Measured value divided by the published value, minus one."""
        return None if self.error is None or not self.published else self.error / self.published

    @property
    def status(self) -> Status:
        """Whether the measured value agrees with the published value within the tolerance."""
        if self.tolerance is None or self.published is None:
            return "info"
        if self.error is None:
            return "miss"
        # An error that equals the tolerance passes, even if rounding makes the error slightly
        # larger.
        return "pass" if abs(self.error) <= self.tolerance * (1 + 1e-9) else "miss"

    def json(self) -> dict[str, str | float | int | None]:
        """Return the cell in the form that `reproduce --json` prints."""
        return {
            "id": self.id,
            "quantity": self.quantity,
            "unit": self.unit,
            "published": self.published,
            "measured": self.measured,
            "n": self.n,
            "ci95": self.ci95,
            "blind": self.blind,
        }


@dataclass(frozen=True)
class Report:
    """A report."""

    #: Name of the report's folder.
    name: str
    title: str
    #: One sentence of trusted text under the title.
    lead: str
    #: Labels and texts printed at the top, such as the engine and the seeds.
    meta: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    cells: Sequence[TableCell] = ()
    #: The content of additional files, by name. If these files include cells.csv, the report does
    #: not make cells.csv from `cells`.
    files: Mapping[str, str] = field(default_factory=dict)

    #: Id of the figure at the top of the page. If the id is empty, the first figure is at the top.
    first: str = ""
    #: Facts about all runs of the report. A figure or table to which other facts apply has its own
    #: facts.
    facts: Facts = field(default_factory=Facts)

    def figures(self) -> list[ReportFigure]:
        return [b for s in self.sections for b in s.blocks if isinstance(b, ReportFigure)]

    def opening(self) -> ReportFigure | None:
        """Return the figure that the report shows first: `first`, or else the first figure."""
        figures = self.figures()
        return next((f for f in figures if f.id == self.first), next(iter(figures), None))

    def common(self) -> dict[str, str]:
        """Return the facts to print once at the top of the report, by label.

        For each label, the common text is the report's own text, or else the text that most figures
        and tables share. Figures and tables with another text print their own text. A fact that
        only some figures and tables have is left out.
        """
        known = [
            dict(block.facts.lines())
            for section in self.sections
            for block in section.blocks
            if not isinstance(block, Text) and block.facts.lines()
        ]
        common = dict(self.facts.lines())
        others = (label for lines in known for label in lines if label not in common)
        for label in dict.fromkeys(others):
            texts = Counter(lines.get(label) for lines in known)
            text, times = texts.most_common(1)[0]
            if text is not None and None not in texts and 2 * times > len(known):
                common[label] = text
        return common

    def head(self) -> list[tuple[str, str]]:
        """Return the lines at the top of the report: `meta`, then the shared facts."""
        said = self.common()
        blocks = [b for s in self.sections for b in s.blocks if not isinstance(b, Text)]
        others = {label for b in blocks for label, _ in b.facts.lines(said)}
        most = {k: f"{v} (unless stated below)" if k in others else v for k, v in said.items()}
        return [
            *((label, most.pop(label, text)) for label, text in self.meta),
            *most.items(),
        ]


def summarise(cells: Sequence[TableCell]) -> list[dict[str, Any]]:
    """For each quantity, summarise how far measured values are from published values. `reproduce
    --json` prints the result under `summary`.
    """
    groups: dict[str, list[TableCell]] = {}
    for cell in cells:
        if cell.error is not None:
            groups.setdefault(cell.quantity, []).append(cell)
    return [errors(quantity, own) for quantity, own in groups.items()]


def errors(quantity: str, cells: Sequence[TableCell]) -> dict[str, Any]:
    """Return the errors of these cells as a row of the summary. Percentiles are nearest-rank."""
    gaps = [abs(cell.error) for cell in cells if cell.error is not None]
    relatives = [abs(cell.relative) for cell in cells if cell.relative is not None]
    return {
        "quantity": quantity,
        "cells": len(gaps),
        "median_rel_error": median(relatives),
        "p90_rel_error": nearest_rank(relatives, 0.9),
        "median_abs_error": median(gaps),
        "p90_abs_error": nearest_rank(gaps, 0.9),
    }
