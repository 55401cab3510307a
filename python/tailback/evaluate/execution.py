"""Runs all sections of a suite in one batch, and gathers the verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tailback.errors import InputError, RunsFailed
from tailback.evaluate import by_packets
from tailback.evaluate.criteria import Criterion
from tailback.evaluate.model import Evaluation, Request, SectionResult
from tailback.evaluate.program import ProgramSubject
from tailback.evaluate.subject import Subject, resolve
from tailback.running import engines
from tailback.running.batch import Job, run_jobs
from tailback.running.scenarios import load, quiet, texts
from tailback.store import layout
from tailback.store.results import Results


@dataclass(frozen=True)
class Standard:
    """A suite of sections. Each section has a scenario to run, unless no run can decide the
    section."""

    suite: str
    kind: Literal["cc", "aqm"]
    """What the suite evaluates: `cc` for congestion controls, `aqm` for queues."""
    criteria: Sequence[Criterion]
    folder: Path
    """The folder of the scenarios."""
    asked: Sequence[Criterion] = ()
    """Criteria from documents other than the standard, which are evaluated only if `--part` names
    them."""

    def sections(self) -> Sequence[tuple[str, str]]:
        return [(one.id, one.title) for one in (*self.criteria, *self.asked)]

    def evaluate(self, request: Request) -> Evaluation:
        chosen = resolve(self.kind, request)
        criteria = (*self.criteria, *self.asked) if request.parts else self.criteria
        return evaluate(self.suite, criteria, self.folder, chosen, request)


def evaluate(
    suite: str,
    criteria: Sequence[Criterion],
    folder: Path,
    subject: Subject,
    request: Request,
    notes: Sequence[str] = (),
) -> Evaluation:
    """Run the requested sections. Stored runs are reused.

    A section that the engine rejects gets the verdict "not observable" and the reason.
    """
    chosen = [one for one in criteria if not request.parts or one.id in request.parts]
    if subject.program is not None:
        chosen = [by_packets.adapted(one) for one in chosen]
    jobs: dict[tuple[str, str], Job] = {}
    rejected: dict[str, str] = {}
    for criterion in chosen:
        own = criterion.jobs(folder, subject, request)
        why = rejection(own.values(), request)
        if why:
            # In the message, name the scenario file without its folder, because the report's folder
            # has a copy of this file.
            place = str(folder / criterion.scenario)
            rejected[criterion.id] = why.replace("<text>", criterion.scenario).replace(
                place, criterion.scenario
            )
        else:
            jobs |= {(criterion.id, name): job for name, job in own.items()}
    if rejected and not jobs:
        raise InputError(f"{subject.name}: no section can run: {next(iter(rejected.values()))}")
    failures: list[str] = []
    try:
        with quiet():
            found = run_jobs(list(jobs.values()), request.run)
    except RunsFailed as error:
        found, failures = error.results, error.failures
        # A reference that is a program replaces the same flows, so a message does not show which of
        # the two programs failed.
        if subject.program is not None and (subject.against is None or not subject.against.program):
            adapted = (one for one in chosen if isinstance(one, by_packets.ByPackets))
            failures = renamed(failures, {flow for one in adapted for flow in one.flows}, subject)
        tested = [one for (_, name), one in zip(jobs, found, strict=True) if "subject" in name]
        if subject.program is not None:
            refuse_without_runs(subject.name, tested, failures)
    by_section: dict[str, dict[str, Results]] = {}
    for (section, name), results in zip(jobs, found, strict=True):
        by_section.setdefault(section, {})[name] = results
    sections = []
    for criterion in chosen:
        if criterion.id in rejected:
            sections.append(criterion.unsupported(rejected[criterion.id]))
            continue
        own_results = by_section.get(criterion.id, {})
        result = criterion.outcome(subject, request, own_results)
        result = replace(result, command=criterion.command(subject, request))
        sections.append(with_failures(result, own_results.values(), failures))
    # Prefer the version of the subject's runs: if the subject is a program, this version identifies
    # it. The runs of the reference have no program.
    own_versions = [
        one.version for (_, name), one in zip(jobs, found, strict=True) if "subject" in name
    ]
    versions = [*own_versions, *(one.version for one in found)]
    version = versions[0] if versions else engines.get(request.run.engine).version
    return Evaluation(
        suite,
        subject.name,
        request.run.engine,
        version,
        tuple(sections),
        request.flags,
        folder,
        (*notes, *_quick_notes(request), *(f"run failed: {failure}" for failure in failures)),
        argument=request.name,
        texts=_texts(chosen, folder, subject),
    )


def _quick_notes(request: Request) -> tuple[str, ...]:
    if not request.quick:
        return ()
    return (
        "A quick evaluation runs fewer sweep points, such as sizes of the buffer, and fewer "
        "seeds. A verdict of the full evaluation may differ.",
    )


def _texts(chosen: Sequence[Criterion], folder: Path, subject: Subject) -> dict[str, str]:
    """Return the text of every scenario by file name. If the tested algorithm is a program, it is
    already inserted in the scenarios."""
    found = {}
    for one in chosen:
        if subject.program is not None and isinstance(one, by_packets.ByPackets):
            if one.inner.unobservable:
                continue
            found[one.scenario] = one.scenario_text(folder, subject.program)
        elif one.scenario:
            found[one.scenario] = (folder / one.scenario).read_text(encoding="utf-8")
    return found


def rejection(jobs: Iterable[Job], request: Request) -> str:
    """Return why the engine cannot run a section, or an empty text if it can."""
    runner = engines.get(request.run.engine)
    for job in jobs:
        try:
            with quiet():
                load(job.scenario, texts(job.set), job.seeds, runner, plugins=request.run.plugins)
        except InputError as error:
            return str(error.problems[0]).splitlines()[0]
    return ""


def renamed(
    failures: Iterable[str], flows: Iterable[str], program: Subject | ProgramSubject
) -> list[str]:
    """Return messages that call a program by its own name. In the scenarios of sections, the
    program has the name of the flow that it replaces."""
    pattern = re.compile(rf"\bprogram (?:{'|'.join(map(re.escape, sorted(flows)))})(?=[/ ])")
    return [pattern.sub(lambda _: f"program {program.name}", failure) for failure in failures]


def refuse_without_runs(name: str, own: Iterable[Results], failures: Sequence[str]) -> None:
    """Raise `InputError` if no run of a program ended.

    The likely cause is a wrong argument or a missing file. Such an error is not a property of the
    algorithm, so it must not decide a verdict.
    """
    if failures and not any(len(one) for one in own):
        raise InputError(
            f"{name}: no run of this program ended, so there is no verdict; check the arguments "
            f"and files of the program: {failures[0]}"
        )


def with_failures(
    result: SectionResult, own: Iterable[Results], failures: Sequence[str]
) -> SectionResult:
    """Return the section's result. Replace the verdict by `fail` if the tested algorithm crashed or
    hung in a run."""
    absent = {run_id for one in own for run_id in _absent(one)} if failures else set()
    lost = [failure for failure in failures if any(run_id in failure for run_id in absent)]
    if not lost:
        return result
    note = f"{_runs(len(lost))} failed: {lost[0].splitlines()[0]}"
    return replace(result, verdict="fail", note=note)


def _absent(results: Results) -> list[str]:
    index = layout.read_index(layout.index_path(results.root, results.id))
    stored = {run.run_id for run in results}
    return [point.run_id for point in index.points if point.run_id not in stored]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
