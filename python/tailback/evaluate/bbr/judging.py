"""Turns the runs of the BBR test cases into sections with verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.errors import InputError
from tailback.evaluate.bbr import programs, results, running, subject, trace
from tailback.evaluate.bbr.case import CASES as FOLDER
from tailback.evaluate.bbr.case import Case, Finding, missed
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.bbr.results import CaseResult
from tailback.evaluate.bbr.running import Played
from tailback.evaluate.model import Evaluation, Request
from tailback.evaluate.program import PREFIX
from tailback.evaluate.subject import added

CAPTION = "Samples at changes of state, the one that decides and the one before it."

KERNEL_GAUGES = ("cwnd", "in_flight", "acked_bytes")
"""The quantities that the kernel engine records for a BBR sender after every ACK."""


def judged(request: Request) -> Evaluation:
    """Run the requested cases, and return a section with a verdict for each."""
    if request.worst:
        raise InputError("--worst: a case already fails if one seed fails; remove it")
    if request.against is not None:
        raise InputError("--against: a case is compared with the draft; remove it")
    if request.name.startswith(PREFIX):
        return programs.judged(request)
    kernel = request.run.engine != "sim"
    chosen = subject.parse(request.name, traced=not kernel, added=added("cc", request))
    cases = [case for case in CASES if not request.parts or case.id in request.parts]
    runnable = [c for c in cases if not kernel or set(c.needs) <= set(KERNEL_GAUGES)]
    seeds = range(1, (request.run.seeds or 1) + 1)
    played, version = running.play(runnable, chosen, seeds, request.run)
    by_case: dict[str, list[Played]] = {}
    for one in played:
        by_case.setdefault(one.case.id, []).append(one)
    found = [
        _result(case, by_case[case.id]) if case.id in by_case else _unseen(case, case.needs, kernel)
        for case in cases
    ]
    shown = [r for r in found if r.trace and (r.verdict == "fail" or request.parts)]
    tables = tuple("\n".join([f"{r.id}:", *trace.table(r.trace)]) for r in shown)
    return Evaluation(
        suite="bbr",
        subject=request.name,
        engine=request.run.engine,
        version=version,
        sections=tuple(found),
        flags=request.flags,
        scenarios=FOLDER,
        notes=(results.seeds_note(len(seeds)), *tables),
    )


def _unseen(case: Case, lacking: Sequence[str], kernel: bool) -> CaseResult:
    who = "Linux's tcp_info" if kernel else "this congestion control"
    why = f"{who} does not report {', '.join(lacking)}."
    return CaseResult(
        case.id, case.title, case.source, "not observable", "", None, None, None, "", why
    )


def _result(case: Case, played: Sequence[Played]) -> CaseResult:
    """Return the result of a case.

    The result comes from the first seed that fails, or from the first seed if no seed
    fails.
    """
    findings: list[tuple[Finding, Played]] = []
    for one in played:
        if one.lacks:
            return _unseen(case, one.lacks, False)
        if one.observed is None:
            findings.append((missed(case.measure, "The state of the event is never entered."), one))
        else:
            findings.append((case.judge(one.observed), one))
    found, one = results.worst(findings)
    rows: Sequence[dict[str, float | str]] = ()
    if one.observed is not None and found.at is not None:
        rows = trace.around(one.observed.traces[found.flow], found.at)
    note = " ".join(filter(None, [found.note, case.note]))
    runs = [p.sweep for p in played if p.sweep]
    return results.decided(case, found, runs, rows, side=case.side, note=note, caption=CAPTION)
