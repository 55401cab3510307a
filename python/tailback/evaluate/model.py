"""Defines the result of an evaluation: a verdict for each section, with the number that decided
it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback.base.numbers import short
from tailback.plugins import asked
from tailback.running.options import RunOptions

if TYPE_CHECKING:
    import polars as pl

    from tailback.report.model import Block

SectionVerdict = Literal["pass", "fail", "worse", "no worse", "undecided", "not observable"]

VERDICTS: tuple[SectionVerdict, ...] = (
    "pass",
    "fail",
    "worse",
    "no worse",
    "undecided",
    "not observable",
)
"""The possible verdicts.

`pass` and `fail` are for requirements with a bound, `worse` and `no worse` for comparisons with a
reference. `undecided` means that more seeds are needed. `not observable` means that no run can
decide the section.
"""

BAD: frozenset[SectionVerdict] = frozenset(("fail", "worse"))
"""Verdicts that make the command exit with status 1."""


@dataclass(frozen=True)
class Request:
    """A request to evaluate a subject, with the options of the evaluation."""

    name: str
    """The name of the tested algorithm in the registry, in a plugin or in a kernel module."""
    run: RunOptions = field(default_factory=RunOptions)
    """Options of the runs: engine, seeds, jobs, folder of results, plugins."""
    quick: bool = False
    """Whether to use shorter runs, fewer sweep points and fewer seeds."""
    worst: bool = False
    """Whether the value of the worst seed decides the verdict, instead of the mean over seeds."""
    against: str | None = None
    """The reference to compare the tested algorithm with. None means the reference of the suite."""
    parts: tuple[str, ...] = ()
    """Sections to evaluate. If empty, all sections are evaluated."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The options of the command line that affect results, except `--part`."""
        words = ["--quick"] if self.quick else []
        words += ["--worst"] if self.worst else []
        words += [] if self.against is None else ["--against", self.against]
        words += [] if self.run.seeds is None else ["--seeds", str(self.run.seeds)]
        return (*words, *self.how)

    @property
    def how(self) -> tuple[str, ...]:
        """The options that `tailback run` has too, such as the engine and plugins."""
        words = [] if self.run.engine == "sim" else ["--engine", self.run.engine]
        for folder in (*self.run.plugins, *asked.by_environment()):
            words += ["--with", str(folder)]
        return tuple(words)


@dataclass(frozen=True)
class SectionResult:
    """The result of a section of a standard, with the section's requirement and the verdict."""

    id: str
    """The section's number, with a suffix if the section has several criteria: `5.1.1`,
    `5.2-silence`."""
    title: str
    source: str
    """The document and its section, such as `RFC 9743 section 5.1.1`."""
    verdict: SectionVerdict
    measure: str
    """What `value` measures, with its unit."""
    value: float | None
    bound: float | None
    """The limit with which `value` is compared, or None. `at_least` tells whether this limit is a
    lower or an upper limit."""
    ci95: tuple[float, float] | None
    """95 % interval of `value` over seeds. None for one seed or identical runs."""
    scenario: str
    """The file name of the scenario. Empty if the section executed no runs."""
    note: str = ""
    """A sentence about what the section found, or why it is not observable."""
    sweeps: tuple[str, ...] = ()
    """Ids of the section's sweeps in the folder of results."""
    command: str = ""
    """The command that runs the scenario with the tested algorithm."""
    at_least: bool = False
    """Whether `value` must be at least `bound`. If false, `value` must be at most `bound`."""
    is_exact: bool = False
    """Whether `value` must equal `bound`, up to the tolerance in `note`."""
    blocks: Callable[[], Sequence[Block]] | None = field(default=None, compare=False, repr=False)
    """Makes the figures and tables of the report. This function is called only if a report is
    written."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is no verdict")

    @property
    def limit(self) -> str:
        """The bound as text that begins with "at least" or "at most".

        Empty if there is no bound.
        """
        if self.bound is None:
            return ""
        side = "exactly" if self.is_exact else "at least" if self.at_least else "at most"
        return f"{side} {short(self.bound, 3)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the section in the form that `--json` prints. Numbers that are not finite become
        null."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "verdict": self.verdict,
            "measure": self.measure,
            "value": _finite(self.value),
            "bound": _finite(self.bound),
            "at_least": self.at_least,
            "is_exact": self.is_exact,
            "ci95": None if self.ci95 is None else [_finite(end) for end in self.ci95],
            "scenario": self.scenario,
            "note": self.note,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SectionResult:
        """Return the section from an object that `to_dict` returned. Ignore keys that are not
        attributes."""
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        ci95 = data.get("ci95")
        return cls(**{**known, "ci95": None if ci95 is None else tuple(ci95)})


@dataclass(frozen=True)
class SectionChange:
    id: str
    before: str
    value_before: float | None
    now: str
    value: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "before": self.before,
            "value_before": self.value_before,
            "now": self.now,
            "value": _finite(self.value),
        }


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The results of all sections of a suite for one subject."""

    suite: str
    """The suite: `cc`, `queue` or `bbr`."""
    subject: str
    engine: str
    version: str
    """The engine's version, with the hashes of plugins."""
    sections: tuple[SectionResult, ...]
    flags: tuple[str, ...] = ()
    """The options of the command that made the evaluation."""
    scenarios: Path | None = None
    """The folder of the scenario files."""
    notes: tuple[str, ...] = ()
    """Sentences about the whole evaluation: seeds, margins, and features that the engine does not
    support."""
    argument: str = ""
    """The tested algorithm as written on the command line. Empty if this text equals `subject`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The scenarios by file name. If empty, use the scenarios in the folder `scenarios`."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "subject": self.subject,
            "engine": self.engine,
            "version": self.version,
            "sections": [section.to_dict() for section in self.sections],
            "notes": list(self.notes),
        }

    def frame(self) -> pl.DataFrame:
        """Return a frame with a row for each section."""
        import polars as pl

        rows = [
            {key: value for key, value in section.to_dict().items() if key != "ci95"}
            | {"low": section.ci95 and section.ci95[0], "high": section.ci95 and section.ci95[1]}
            for section in self.sections
        ]
        numbers = dict.fromkeys(("value", "bound", "low", "high"), pl.Float64)
        return pl.DataFrame(rows, schema_overrides=numbers, strict=False, infer_schema_length=None)

    def report(self, folder: Path | str) -> Path:
        """Write the report to a folder, and return the path of its page."""
        from tailback.evaluate.report import write

        return write(self, Path(folder))

    def __repr__(self) -> str:
        counts = {verdict: len(self.of(verdict)) for verdict in VERDICTS}
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        return f"<Evaluation {self.suite} {self.subject}: {found or 'no sections'}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks: each section with its verdict and its number."""
        from tailback.evaluate.text import number

        titles = ("section", "title", "verdict", "measure", "value [95 %]", "allowed")
        head = "".join(f"<th>{title}</th>" for title in titles)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(cell)}</td>"
                for cell in (
                    *(one.id, one.title, one.verdict, one.measure or one.note),
                    *(number(one) if one.measure else "", one.limit),
                )
            )
            + "</tr>"
            for one in self.sections
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def of(self, *verdicts: SectionVerdict) -> list[SectionResult]:
        return [section for section in self.sections if section.verdict in verdicts]

    def changes(self, before: Mapping[str, tuple[str, float | None]]) -> list[SectionChange]:
        """Return the sections that differ from an earlier evaluation.

        `before` contains the verdict and value of each section of the earlier evaluation.
        """
        return [
            SectionChange(one.id, *before[one.id], one.verdict, one.value)
            for one in self.sections
            if one.id in before and before[one.id][0] != one.verdict
        ]

    @property
    def is_bad(self) -> bool:
        return any(section.verdict in BAD for section in self.sections)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
