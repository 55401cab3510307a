"""Evaluates a program, such as a QUIC stack, as if it were a congestion control.

A section names the flows that are its subject. This module replaces these flows by entries of
`[[programs]]`, and the section measures the programs' packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailback.evaluate.criteria import Against, Criterion, HarmTo, Within, run_command
from tailback.evaluate.model import Request, SectionResult
from tailback.evaluate.program import ProgramSubject
from tailback.evaluate.subject import Subject
from tailback.running.batch import Job
from tailback.store.results import Results

_NOT_FOR_PROGRAMS = ("cc", "ecn")
"""Keys of a flow whose values a program chooses itself."""


@dataclass(frozen=True)
class ByPackets:
    inner: Within | Against | HarmTo
    """The original section, which evaluates a congestion control."""

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def title(self) -> str:
        return self.inner.title

    @property
    def scenario(self) -> str:
        return self.inner.scenario

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        """Return the section's runs, with programs instead of flows. Return no runs if the section
        cannot observe a program."""
        if self.inner.unobservable:
            return {}
        text = (folder / self.scenario).read_text(encoding="utf-8")
        same = with_full_segments(text)
        jobs = {}
        for name, job in self.inner.jobs(folder, subject, request).items():
            program = _program_of(name, subject)
            if program is not None:
                jobs[name] = replace(
                    job, scenario=placed(same, program, self.flows), set=self._renamed(job.set)
                )
            else:
                # If the scenario has no small segments, keep it unchanged for runs without the
                # program. Stored runs of other evaluations can then be reused.
                jobs[name] = job if same == text else replace(job, scenario=same)
        return jobs

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        if self.inner.unobservable:
            return self.unsupported(self.inner.unobservable)
        if why := self._silence(subject, request, results):
            return self.unsupported(why)
        if self.inner.needs_ect and not any(map(_sent_ect, results.get("subject", ()))):
            return self.unsupported(
                f"{subject.name} sent no packet with ECT after the warm-up. A stack stops sending "
                f"ECT if ECN validation fails, for example because all of its first packets were "
                f"marked (RFC 9000 section 13.4.2)."
            )
        result = self.inner.outcome(subject, request, results)
        if self.inner.logged is not None and result.value is not None:
            said = [self.inner.logged(run) for run in results.get("subject", ())]
            result = replace(result, note=" ".join(filter(None, [result.note, *said[:1]])))
        if result.value is None and any(True for one in results.values() for _ in one):
            why = f"Neither packets nor a qlog of the program show the {result.measure}."
            return replace(self.unsupported(why), sweeps=result.sweeps)
        return result

    def _silence(self, subject: Subject, request: Request, results: Mapping[str, Results]) -> str:
        """Return why the section has no verdict if a program sent no packet in a run.

        Only the kernel engine lists the 5-tuples of a program. The list includes the warm-up, so a
        program that has correctly stopped sending does not count as silent.
        """
        if request.run.engine == "sim":
            return ""
        for name, runs in results.items():
            program = _program_of(name, subject)
            if program is None:
                continue
            silent = sum(map(_sent_nothing, runs))
            if silent:
                return (
                    f"{program.name} sent nothing in {silent} of {len(runs)} runs. Check its "
                    f"arguments and its messages in the run folder."
                )
        return ""

    def unsupported(self, why: str) -> SectionResult:
        result = self.inner.unsupported(why)
        return replace(result, scenario="") if self.inner.unobservable else result

    def command(self, subject: Subject, request: Request) -> str:  # noqa: ARG002
        if not self.scenario or self.inner.unobservable:
            return ""
        values = self._renamed(self.inner.always(request))
        return run_command(self.scenario, values, self.inner.count(request), request)

    def scenario_text(self, folder: Path, program: ProgramSubject) -> str:
        text = (folder / self.scenario).read_text(encoding="utf-8")
        return placed(with_full_segments(text), program, self.flows)

    @property
    def flows(self) -> set[str]:
        """The names of the flows that the program replaces."""
        return {path.split(".")[1] for path in self.inner.subject_at}

    def _renamed(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the values to set in the scenario. Paths of replaced flows become paths of
        programs."""
        kept = {path: v for path, v in values.items() if path not in self.inner.subject_at}
        return {_path(path, self.flows): _renamed(v, self.flows) for path, v in kept.items()}


def adapted(criterion: Criterion) -> Criterion:
    if not isinstance(criterion, Within | Against | HarmTo):
        return criterion
    return ByPackets(replace(criterion, **criterion.of_programs))


def _program_of(job: str, subject: Subject) -> ProgramSubject | None:
    """Return the program that a section's job runs. The program is either the tested algorithm or
    the reference. Return None if the job runs no program.
    """
    if job.rpartition(", ")[2] == "subject":
        return subject.program
    return subject.against.program if job == "reference" and subject.against else None


def _sent_nothing(run: Any) -> bool:
    """Return whether no program of a run sent a packet, in the warm-up or later."""
    programs = run.summary.get("programs", ())
    return bool(programs) and not any(one.get("tuples", True) for one in programs)


def _sent_ect(run: Any) -> bool:
    sent = [one["ecn_sent"] for one in run.summary.get("programs", ())]
    return any(one["ect0"] or one["ect1"] for one in sent)


def placed(scenario: str, program: ProgramSubject, flows: set[str]) -> str:
    """Return the text of a scenario with a program in place of flows."""
    blocks = []
    for block in scenario.split("\n\n"):
        if block.startswith("[[flows]]") and _value(block, "name") in flows:
            lines = block.splitlines()[1:]
            own = [line for line in lines if _key(line) not in _NOT_FOR_PROGRAMS]
            blocks.append("\n".join(["[[programs]]", *own, *program.lines]))
        elif block.startswith(("[sweep", "[[sweep")):
            for name in flows:
                block = block.replace(f'"flows.{name}.', f'"programs.{name}.')
            blocks.append(block)
        else:
            blocks.append(block)
    return "\n\n".join(blocks).rstrip("\n") + "\n"


def with_full_segments(scenario: str) -> str:
    """Return the text of a scenario without small TCP segments, because programs do not send
    them."""
    return "\n\n".join(
        block
        for block in scenario.split("\n\n")
        if not (block.startswith("[tcp]") and "mss" in map(_key, block.splitlines()))
    )


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _value(block: str, key: str) -> str:
    found = [line for line in block.splitlines() if _key(line) == key]
    return found[0].partition("=")[2].strip().strip('"') if found else ""


def _renamed(value: Any, flows: set[str]) -> Any:
    """Replace `flows.` by `programs.` in each path to one of these flows, also in nested values."""
    if isinstance(value, Mapping):
        return {_path(key, flows): _renamed(one, flows) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, flows) for one in value]
    return value


def _path(path: str, flows: set[str]) -> str:
    parts = path.split(".")
    is_subject = parts[0] == "flows" and len(parts) > 1 and parts[1] in flows
    return ".".join(["programs", *parts[1:]]) if is_subject else path
