"""The result of an evaluation: a verdict for each section, with the number that decided it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback.base.numbers import short
from tailback.plugins import asked
from tailback.running.options import RunOptions

if TYPE_CHECKING:
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
"""`pass` and `fail` are for requirements with a bound; `worse` and `no worse` compare with a
reference; `undecided`: the seeds cannot decide; `not observable`: no run can decide."""

BAD: frozenset[SectionVerdict] = frozenset(("fail", "worse"))
"""Verdicts that make the command exit with status 1."""


@dataclass(frozen=True)
class Request:
    """What to evaluate, and how."""

    name: str
    """The subject: a name of the registry, of a plugin or of a kernel module."""
    run: RunOptions = field(default_factory=RunOptions)
    """Engine, seeds, jobs, folder of results, plugins."""
    quick: bool = False
    """Shorter runs, fewer points and seeds."""
    worst: bool = False
    """Decide by the worst seed instead of the mean."""
    against: str | None = None
    """The reference for the subject; None: the reference of the suite."""
    parts: tuple[str, ...] = ()
    """Sections to evaluate; empty: all."""

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
        """The options that `tailback run` has too: the engine and plugins."""
        words = [] if self.run.engine == "sim" else ["--engine", self.run.engine]
        for folder in (*self.run.plugins, *asked.by_environment()):
            words += ["--with", str(folder)]
        return tuple(words)


@dataclass(frozen=True)
class SectionResult:
    """A section of a standard: its requirement and the verdict."""

    id: str
    """The section's number, with a suffix if it has several criteria: `5.1.1`, `5.2-silence`."""
    title: str
    source: str
    """The document and its section: `RFC 9743 section 5.1.1`."""
    verdict: SectionVerdict
    measure: str
    """What `value` measures, with its unit."""
    value: float | None
    bound: float | None
    """The limit that `value` is compared with; None without a limit. See `at_least`."""
    ci95: tuple[float, float] | None
    """95 % interval of `value` over seeds; None for one seed or identical runs."""
    scenario: str
    """The file name of the scenario that runs by itself; empty if nothing was run."""
    note: str = ""
    """One plain sentence: what was found, or why it is not observable."""
    sweeps: tuple[str, ...] = ()
    """Ids of the sweeps that were run, below the folder of results."""
    command: str = ""
    """The command that runs the scenario with the subject."""
    at_least: bool = False
    """Whether `value` has to be at least `bound`; otherwise it has to be at most `bound`."""
    blocks: Callable[[], Sequence[Block]] | None = field(default=None, compare=False, repr=False)
    """Makes the figures and tables of the report; called only if a report is written."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is no verdict")

    @property
    def limit(self) -> str:
        """The bound and its side; empty without a bound."""
        if self.bound is None:
            return ""
        return f"{'at least' if self.at_least else 'at most'} {short(self.bound, 3)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the section as `--json` prints it; numbers that are not finite are null."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "verdict": self.verdict,
            "measure": self.measure,
            "value": _finite(self.value),
            "bound": _finite(self.bound),
            "at_least": self.at_least,
            "ci95": None if self.ci95 is None else [_finite(end) for end in self.ci95],
            "scenario": self.scenario,
            "note": self.note,
        }


@dataclass(frozen=True)
class SectionChange:
    """A section whose verdict differs between two evaluations."""

    id: str
    before: str
    value_before: float | None
    now: str
    value: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the change as `--json` prints it."""
        return {
            "id": self.id,
            "before": self.before,
            "value_before": self.value_before,
            "now": self.now,
            "value": _finite(self.value),
        }


@dataclass(frozen=True)
class Evaluation:
    """All sections of a suite for one subject."""

    suite: str
    """`cc`, `queue` or `bbr`."""
    subject: str
    engine: str
    version: str
    """The engine's version, with the hashes of plugins."""
    sections: tuple[SectionResult, ...]
    flags: tuple[str, ...] = ()
    """The options that the evaluation was made with."""
    scenarios: Path | None = None
    """The folder of the scenario files."""
    notes: tuple[str, ...] = ()
    """Sentences about the whole evaluation: seeds, margins, what the engine does not support."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "suite": self.suite,
            "subject": self.subject,
            "engine": self.engine,
            "version": self.version,
            "sections": [section.to_dict() for section in self.sections],
            "notes": list(self.notes),
        }

    def of(self, *verdicts: SectionVerdict) -> list[SectionResult]:
        """Return the sections that have one of these verdicts."""
        return [section for section in self.sections if section.verdict in verdicts]

    def changes(self, before: Mapping[str, tuple[str, float | None]]) -> list[SectionChange]:
        """Return the differences from an earlier evaluation, which is given as verdict and value by
        section."""
        return [
            SectionChange(one.id, *before[one.id], one.verdict, one.value)
            for one in self.sections
            if one.id in before and before[one.id][0] != one.verdict
        ]

    @property
    def is_bad(self) -> bool:
        """Whether a section fails or is worse."""
        return any(section.verdict in BAD for section in self.sections)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
