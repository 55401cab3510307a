"""Runs the cases.

Some cases need an event while BBR is in a certain state. For such a case, a first run without the
event shows when BBR is in that state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.evaluate.bbr.case import Case, Observed
from tailback.evaluate.bbr.subject import BbrSubject
from tailback.evaluate.bbr.trace import StateTrace
from tailback.running.batch import Job, run_jobs
from tailback.running.options import RunOptions


@dataclass(frozen=True)
class Played:
    """The outcome of a case with one seed: the observations, or the reason why nothing could be
    observed."""

    case: Case
    seed: int
    observed: Observed | None
    lacks: tuple[str, ...] = ()
    """Quantities that the case needs and that the run did not record."""
    sweep: str = ""


def play(
    cases: Sequence[Case], subject: BbrSubject, seeds: Sequence[int], options: RunOptions
) -> tuple[list[Played], str]:
    """Run cases with all seeds. Return the results in the order of the cases, and the version of
    the engine."""
    options = replace(options, seeds=1)
    wanted = [(case, seed) for case in cases for seed in seeds]
    aimed = [(case, seed) for case, seed in wanted if case.aim is not None]
    first = run_jobs([_job(c, subject, s, c.aim.quiet) for c, s in aimed if c.aim], options)
    quiet = {
        (case.id, seed): StateTrace.of(results.points[0], case.flows[0])
        for (case, seed), results in zip(aimed, first, strict=True)
    }
    times = {(c.id, s): _time(c, quiet[c.id, s]) for c, s in aimed}
    ready = [(c, s) for c, s in wanted if c.aim is None or times[c.id, s] is not None]
    jobs = [_job(c, subject, s, _event(c, times.get((c.id, s)))) for c, s in ready]
    second = run_jobs(jobs, options)
    done = {(c.id, s): results for (c, s), results in zip(ready, second, strict=True)}
    played = []
    for case, seed in wanted:
        results = done.get((case.id, seed))
        if results is None:
            lacks = tuple(quiet[case.id, seed].lacks(case.needs))
            played.append(Played(case, seed, None, lacks))
            continue
        run = results.points[0]
        traces = {flow: StateTrace.of(run, flow) for flow in case.flows}
        lacking = dict.fromkeys(name for t in traces.values() for name in t.lacks(case.needs))
        observed = Observed(run, traces, times.get((case.id, seed)))
        played.append(Played(case, seed, observed, tuple(lacking), results.id))
    versions = [results.version for results in (*first, *second)]
    return played, versions[0] if versions else ""


def _time(case: Case, trace: StateTrace) -> float | None:
    """Return the time of the case's event in seconds, or None if the case has no event."""
    if case.aim is None or trace.lacks(("mode",)):
        return None
    return case.aim.find(trace)


def _event(case: Case, at: float | None) -> Mapping[str, object]:
    return {} if case.aim is None or at is None else case.aim.set(at)


def _job(case: Case, subject: BbrSubject, seed: int, values: Mapping[str, object]) -> Job:
    cc: dict[str, Any] = {f"flows[{n}].cc": subject.cc for n in range(len(case.flows))}
    return Job(case.file, {"seed": seed, **cc, **values})
