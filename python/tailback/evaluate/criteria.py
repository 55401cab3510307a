"""Defines the kinds of sections, such as comparisons with a reference, harm to other flows, and
bounds.

A section declares a scenario, what to measure in a run, and a limit. `tailback run` can run the
unchanged scenario. An evaluation sets the tested algorithm as the value of the keys in
`subject_at`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tailback.base.numbers import short
from tailback.evaluate import measures
from tailback.evaluate.decision import Decision, PointOutcome, decide
from tailback.evaluate.model import Request, SectionResult, SectionVerdict
from tailback.evaluate.subject import Subject
from tailback.metrics.harm import harm
from tailback.running.batch import Job
from tailback.running.scenarios import texts
from tailback.store.results import Results, Run

if TYPE_CHECKING:
    from tailback.report.model import Block

Measure = Callable[[Run], float | None]
Better = Literal["less", "more"]

QUICK_SEEDS, SEEDS = 10, 30
"""The number of seeds of every sweep point with and without `--quick`, unless `--seeds` sets the
number."""

MARGIN = 0.05
"""The largest relative harm with which the tested algorithm counts as no worse than the
reference."""

DELAY = 1 / 3
"""The tested algorithm's queue delay counts as no worse if it exceeds the reference's delay by at
most this share of the larger delay. A share of 1/3 corresponds to an increase by half."""

PERFORMANCE = 0.2
"""The tested algorithm's throughput counts as no worse if it is below the reference's throughput by
at most this share."""


class Criterion(Protocol):
    """The interface of a section of a standard that can be evaluated."""

    @property
    def id(self) -> str:
        """The section's number."""

    @property
    def title(self) -> str:
        """The section's title."""

    @property
    def scenario(self) -> str:
        """The file name of the section's scenario. Empty if the section has no scenario."""

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        """Return the section's jobs by name, such as `subject` and `reference`."""

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        """Return the section's result, from the results of its jobs."""

    def unsupported(self, why: str) -> SectionResult:
        """Return the result of a section that the engine cannot run."""

    def command(self, subject: Subject, request: Request) -> str:
        """Return the command that runs the scenario with the tested algorithm."""


def run_command(scenario: str, values: Mapping[str, object], seeds: int, request: Request) -> str:
    """Return the command that runs a scenario with these values and seeds."""
    words = ["tailback", "run", scenario]
    for path, value in texts(values):
        words += ["--set", f"{path}={value}"]
    return shlex.join([*words, "--seeds", str(seeds), *request.how])


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The attributes that all kinds of sections share."""

    id: str
    title: str
    source: str
    scenario: str = ""
    quick: Mapping[str, object] = field(default_factory=dict)
    """Values to set in the scenario with `--quick`, by path."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Values that the section always sets in the scenario, by path."""
    subject_at: tuple[str, ...] = ("flows.subject.cc",)
    """Paths of the keys in the scenario whose value is replaced by the tested algorithm."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Options that the section sets for the tested algorithm, such as `ecn` of a queue."""
    quick_seeds: int = QUICK_SEEDS
    seeds: int = SEEDS
    key: str = "name"
    """The key of the algorithm's name in its table: `name` for a congestion control, `aqm` for a
    queue.
    """
    unobservable: str = ""
    """Why the section cannot observe a program, as a full sentence. Empty if the section can
    observe a program."""
    of_programs: Mapping[str, Any] = field(default_factory=dict)
    """Attributes, such as `value`, that replace the section's own attributes if the tested
    algorithm is a program."""
    logged: Callable[[Run], str] | None = None
    """Returns a sentence about a program's qlog of a run, or an empty text."""
    needs_ect: bool = False
    """Whether the section only applies to senders that set ECT. A program decides by itself whether
    to set ECT."""

    def job(
        self, folder: Path, request: Request, values: Mapping[str, object], **own: object
    ) -> Job:
        """Return a job that runs the scenario with these values set."""
        return Job(
            folder / self.scenario,
            {**self.always(request), **values, **own},
            self.count(request),
        )

    def always(self, request: Request) -> dict[str, object]:
        """Return the values to set in all runs of the section, by path in the scenario."""
        return {**self.fixed, **(self.quick if request.quick else {})}

    def count(self, request: Request) -> int:
        return request.run.seeds or (self.quick_seeds if request.quick else self.seeds)

    def placed(self, subject: Subject) -> dict[str, object]:
        """Return the values that make the scenario use the tested algorithm, by path in the
        scenario."""
        value = subject.with_options(self.key, **self.options)
        return dict.fromkeys(self.subject_at, value)

    def command(self, subject: Subject, request: Request) -> str:
        """Return the command that runs the scenario with the tested algorithm, at the same sweep
        points and with the same seeds as the section."""
        if not self.scenario:
            return ""
        return run_command(
            self.scenario,
            {**self.always(request), **self.placed(subject)},
            self.count(request),
            request,
        )

    def unsupported(self, why: str) -> SectionResult:
        return self.result("not observable", "", None, None, None, why)

    def result(
        self,
        verdict: SectionVerdict,
        measure: str,
        value: float | None,
        bound: float | None,
        ci95: tuple[float, float] | None,
        note: str,
        results: Mapping[str, Results] | None = None,
    ) -> SectionResult:
        """Return the section's result, which includes the attributes of the section and the ids of
        the sweeps.
        """
        sweeps = tuple(dict.fromkeys(one.id for one in (results or {}).values()))
        return SectionResult(
            self.id,
            self.title,
            self.source,
            verdict,
            measure,
            value,
            bound,
            ci95,
            self.scenario,
            note,
            sweeps,
        )

    def decided(
        self,
        decision: Decision,
        measure: str,
        bound: float,
        points: Sequence[PointOutcome],
        results: Mapping[str, Results],
        against: str = "",
    ) -> SectionResult:
        """Return the section's result for a decision. The result includes a figure that shows the
        values at all sweep points.
        """
        note = _note(decision, points)
        result = self.result(
            decision.verdict, measure, decision.value, bound, decision.interval, note, results
        )

        def blocks() -> Sequence[Block]:
            from tailback.evaluate.drawn import points_figure

            return points_figure(self.id, measure, bound, points, against)

        return replace(result, blocks=blocks)


def _note(decision: Decision, points: Sequence[PointOutcome]) -> str:
    point = decision.point
    missing = sum(one.missing for one in points)
    parts = []
    if point is not None:
        parts.append(": ".join(text for text in (point.label, point.says) if text))
    if missing:
        runs = missing + sum(len(one.values) for one in points)
        parts.append(f"{missing} of {runs} pairs of runs have no value")
    return "; ".join(part for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Within(Asked):
    """A requirement that a measure of the tested algorithm stays within a bound."""

    measure: str
    value: Measure
    bound: float
    better: Better = "less"
    """If this field is `less`, no value may be above the bound. If it is `more`, no value may be
    below the bound."""
    advice: str = ""
    """What to do if the tested algorithm does not meet the requirement, in full sentences."""

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        return {"subject": self.job(folder, request, self.placed(subject))}

    def outcome(
        self,
        subject: Subject,
        request: Request,
        results: Mapping[str, Results],
    ) -> SectionResult:
        sign = 1 if self.better == "less" else -1
        points = [self._outcome_of(group, subject, sign) for group in results["subject"].groups()]
        found = decide(
            points,
            sign * self.bound,
            ("fail", "pass"),
            worst=request.worst,
            one_seed_decides=True,
        )
        if sign < 0:
            found = _negated(found)
            points = [
                PointOutcome(p.label, tuple(-v for v in p.values), p.missing, p.says)
                for p in points
            ]
        result = self.decided(found, self.measure, self.bound, points, results)
        if self.advice and found.verdict == "fail":
            result = replace(result, note=f"{result.note}. {self.advice}")
        return replace(result, at_least=sign < 0)

    def _outcome_of(self, group: Sequence[Run], subject: Subject, sign: int) -> PointOutcome:
        values = [self.value(run) for run in group]
        says = f"{subject.name} {_mean(values)}"
        return _point(label_of(group), [_signed(value, sign) for value in values], says)


def _signed(value: float | None, sign: int) -> float | None:
    return None if value is None else sign * value


def _negated(decision: Decision) -> Decision:
    interval = decision.ci95
    return Decision(
        decision.verdict,
        None if decision.value is None else -decision.value,
        None if interval is None else (-interval[1], -interval[0]),
        decision.point,
    )


@dataclass(frozen=True, kw_only=True)
class Against(Asked):
    """A comparison, seed by seed, with a reference that takes the tested algorithm's place in the
    scenario."""

    measure: str
    value: Measure
    better: Better = "less"
    margin: float = MARGIN
    share: bool = True
    """Whether differences are relative to the larger value, not absolute."""
    reference_name: str = "CUBIC"
    """The name of the reference, which is the algorithm in the scenario file."""
    unit: str = ""

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        own = subject.against
        return {
            "subject": self.job(folder, request, self.placed(subject)),
            "reference": self.job(folder, request, {} if own is None else self.placed(own)),
        }

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        name = self.reference_name if subject.against is None else subject.against.name
        points = []
        for label, pairs in aligned(results["subject"], results["reference"]):
            values = [(self.value(new), self.value(old)) for new, old in pairs]
            says = (
                f"{subject.name} {_mean(new for new, _ in values)}{self.unit}, "
                f"{name} {_mean(old for _, old in values)}{self.unit}"
            )
            losses = [self.loss(new, old) for new, old in values]
            # A difference that is a share of the larger value is at most 1.
            points.append(
                replace(_point(label, losses, says), most=1.0 if self.share else math.inf)
            )
        found = decide(points, self.margin, ("worse", "no worse"), worst=request.worst)
        measure = self.measure.replace(self.reference_name, name)
        return self.decided(found, measure, self.margin, points, results, name)

    def loss(self, new: float | None, old: float | None) -> float | None:
        """Return how much worse `new` is than the reference's value `old`, or None if one of the
        two values is missing."""
        if new is None or old is None:
            return None
        loss = new - old if self.better == "less" else old - new
        if not self.share or loss == 0:
            return loss
        larger = max(new, old)
        return loss / larger if larger > 0 else None


@dataclass(frozen=True, kw_only=True)
class AgainstThroughput(Against):
    """Compares the throughput with the tested algorithm to the throughput with the reference."""

    measure: str = (
        "CUBIC's throughput minus the tested algorithm's, divided by the larger of the two"
    )
    value: Measure = field(default_factory=lambda: measures.total_mbit("subject"))
    better: Better = "more"
    unit: str = " Mbit/s"
    margin: float = PERFORMANCE


@dataclass(frozen=True, kw_only=True)
class HarmTo(Asked):
    """The harm that the tested algorithm does to incumbents, minus the harm that incumbents do to
    each other. Incumbents are existing congestion controls or traffic. The difference is computed
    for each seed.
    """

    measure: str
    value: Measure
    """The quantity of the incumbent to measure."""
    better: Better
    margin: float = MARGIN
    incumbents: tuple[str, ...] = ("cubic", "reno")
    quick_incumbents: tuple[str, ...] | None = None
    incumbent_at: str = "flows.incumbent.cc"
    absolute: bool = False
    """Whether harm is the absolute difference instead of the relative difference. Set this field
    for values that are already shares."""
    absent: Mapping[str, object] = field(
        default_factory=lambda: {"flows.subject.start": "0s", "flows.subject.stop": "1ns"}
    )
    """Values that stop the competitor from sending, for the run with the incumbent alone."""

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        """Return three jobs for each incumbent: the incumbent alone, with another incumbent, and
        with the subject."""
        made = {}
        for name in self._names(request):
            own = self.placed(Subject(name, name))
            base: dict[str, object] = {}
            if self.incumbent_at:
                base[self.incumbent_at] = name
            made[f"{name}, alone"] = self.job(folder, request, {**base, **own, **self.absent})
            made[f"{name}, itself"] = self.job(folder, request, {**base, **own})
            made[f"{name}, subject"] = self.job(folder, request, base | self.placed(subject))
        return made

    def command(self, subject: Subject, request: Request) -> str:
        """Return the command that runs the first incumbent with and without the tested
        algorithm."""
        base = {self.incumbent_at: self.incumbents[0]} if self.incumbent_at else {}
        values = {**self.always(request), **base, **self.placed(subject)}
        command = run_command(self.scenario, values, self.count(request), request)
        known = any(path.startswith("flows.subject.") for path in self.absent)
        return f"{command} --without subject" if known else command

    def _names(self, request: Request) -> tuple[str, ...]:
        quick = self.quick_incumbents if request.quick else None
        return self.incumbents if quick is None else quick

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        """Decide whether the tested algorithm harms incumbents more than incumbents harm each
        other."""
        points = []
        for name in self._names(request):
            own = (results[f"{name}, {what}"] for what in ("alone", "itself", "subject"))
            for label, runs in aligned(*own):
                harms = [
                    (self._harm(beside, alone), self._harm(itself, alone))
                    for alone, itself, beside in runs
                ]
                values = [None if a is None or b is None else a - b for a, b in harms]
                # Without `incumbent_at`, the incumbent is fixed in the scenario: a call, a video or
                # short flows.
                is_chosen = bool(self.incumbent_at)
                other = f"{name} in its place" if is_chosen else name
                says = (
                    f"harm by {subject.name} {_mean(a for a, _ in harms)}, "
                    f"by {other} {_mean(b for _, b in harms)}"
                )
                to = f"to {name}" if is_chosen else ""
                where = ", ".join(text for text in (to, label) if text)
                points.append(_point(where, values, says))
        found = decide(points, self.margin, ("worse", "no worse"), worst=request.worst)
        return self.decided(
            found,
            self.measure,
            self.margin,
            points,
            results,
            "the incumbent itself" if self.incumbent_at else " and ".join(self.incumbents),
        )

    def _harm(self, beside: Run, alone: Run) -> float | None:
        contended, free = self.value(beside), self.value(alone)
        if contended is None or free is None:
            return None
        if contended == free:
            return 0.0
        if self.absolute:
            return contended - free if self.better == "less" else free - contended
        return harm(free, contended, self.better)


@dataclass(frozen=True, kw_only=True)
class HarmToThroughput(HarmTo):
    measure: str = (
        "harm by the tested algorithm to the incumbent's throughput, minus the harm by a second "
        "flow of the incumbent's algorithm"
    )
    value: Measure = field(
        default_factory=lambda: measures.of_flows("incumbent", "throughput_mbit")
    )
    better: Better = "more"


@dataclass(frozen=True, kw_only=True)
class TextOnly(Asked):
    """A section that no run can decide."""

    write: str
    """The text that the author of the algorithm has to write."""

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:  # noqa: ARG002
        return {}

    def outcome(
        self,
        subject: Subject,  # noqa: ARG002
        request: Request,  # noqa: ARG002
        results: Mapping[str, Results],  # noqa: ARG002
    ) -> SectionResult:
        """Return a result that says what the author of the algorithm must document."""
        return self.unsupported(self.write)


def aligned(*results: Results) -> list[tuple[str, list[tuple[Run, ...]]]]:
    """Return the runs of several results, grouped by sweep point and then by seed. All results have
    the same sweep points.

    Each result comes from a sweep with a different subject. The key of the tested algorithm is not
    swept, so runs of the same sweep point have the same label in all results.
    """
    out = []
    by_key = [{(label_of([run]), run.seed): run for run in one} for one in results]
    for group in results[0].groups():
        label = label_of(group)
        rows = []
        for run in group:
            found = [known.get((label, run.seed)) for known in by_key]
            rows.append(tuple(one for one in found if one is not None))
        out.append((label, [row for row in rows if len(row) == len(results)]))
    return out


def label_of(group: Sequence[Run]) -> str:
    return ", ".join(_labelled(path, label) for path, label in group[0].labels.items())


def _labelled(path: str, label: str) -> str:
    """Return a swept value as text, such as `queue limit 1bdp` or `2 subject flows`."""
    words = _short(path)
    name, count, rest = words.partition(" count")
    if count and not rest:
        return f"{label} {name} flow{'' if label == '1' else 's'}"
    return f"{words} {label}"


def _short(path: str) -> str:
    """Return the last two parts of a key's path as a label, without indices and names of tables."""
    parts = path.replace("[", ".").replace("]", "").split(".")
    known = {"bottleneck", "links", "flows", "path", "programs", "traffic", "impairments"}
    kept = [part for part in parts if part not in known and not part.isdigit()]
    return " ".join(kept[-2:])


def _point(label: str, values: Sequence[float | None], says: str = "") -> PointOutcome:
    known = tuple(value for value in values if value is not None)
    return PointOutcome(label, known, len(values) - len(known), says)


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return short(sum(known) / len(known), 3) if known else "–"
