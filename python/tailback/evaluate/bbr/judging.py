"""Turns the runs of the cases into the sections of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailback.errors import InputError
from tailback.evaluate.bbr import running, subject, trace
from tailback.evaluate.bbr.case import CASES as FOLDER
from tailback.evaluate.bbr.case import Case, Finding, missed
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.bbr.running import Played
from tailback.evaluate.model import Evaluation, Request, SectionResult

if TYPE_CHECKING:
    from tailback.report.model import Block

KERNEL_GAUGES = ("cwnd", "in_flight", "acked_bytes")
"""The quantities that the kernel engine records for a BBR sender after every ACK."""


@dataclass(frozen=True)
class CaseResult(SectionResult):
    """The result of a case: a section with the states that decided its verdict."""

    trace: Sequence[dict[str, float | str]] = field(default=(), kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as `--json` prints it, with its `trace`."""
        return super().to_dict() | {"trace": list(self.trace)}


def judged(request: Request) -> Evaluation:
    """Run the requested cases, and return a section with a verdict for each."""
    if request.name.startswith("program="):
        raise InputError(
            f"{request.name}: the cases need BBR's states after each ACK, which tailback cannot "
            "record in a program; evaluate a congestion control such as bbr3"
        )
    if request.worst:
        raise InputError("--worst: a case passes or fails with every seed already; remove it")
    if request.against is not None:
        raise InputError("--against: a case is compared with the draft; remove it")
    kernel = request.run.engine != "sim"
    chosen = subject.parse(request.name, traced=not kernel)
    cases = [case for case in CASES if not request.parts or case.id in request.parts]
    runnable = [c for c in cases if not kernel or set(c.needs) <= set(KERNEL_GAUGES)]
    seeds = range(1, (request.run.seeds or 1) + 1)
    played, version = running.play(runnable, chosen, seeds, request.run)
    by_case: dict[str, list[Played]] = {}
    for one in played:
        by_case.setdefault(one.case.id, []).append(one)
    results = [
        _result(case, by_case[case.id]) if case.id in by_case else _unseen(case, case.needs, kernel)
        for case in cases
    ]
    shown = [r for r in results if r.trace and (r.verdict == "fail" or request.parts)]
    tables = tuple("\n".join([f"{r.id}:", *trace.table(r.trace)]) for r in shown)
    return Evaluation(
        suite="bbr",
        subject=request.name,
        engine=request.run.engine,
        version=version,
        sections=tuple(results),
        flags=request.flags,
        scenarios=FOLDER,
        notes=(_seeds_note(len(seeds)), *tables),
    )


def _seeds_note(seeds: int) -> str:
    if seeds == 1:
        return "One run of each case; --seeds N repeats it, and one failure fails the case."
    return f"{seeds} seeds of each case; one failure fails the case."


def _unseen(case: Case, lacking: Sequence[str], kernel: bool) -> CaseResult:
    who = "Linux's tcp_info" if kernel else "this congestion control"
    why = f"{who} does not report {', '.join(lacking)}."
    return CaseResult(
        case.id, case.title, case.source, "not observable", "", None, None, None, "", why
    )


def _result(case: Case, played: Sequence[Played]) -> CaseResult:
    """Return the result of a case from the first seed that fails, or from the first seed if none
    fails."""
    findings: list[tuple[Finding, Played]] = []
    for one in played:
        if one.lacks:
            return _unseen(case, one.lacks, False)
        if one.observed is None:
            findings.append((missed(case.measure, "The state of the event is never entered."), one))
        else:
            findings.append((case.judge(one.observed), one))
    order = {"fail": 0, "undecided": 1}
    found, one = min(findings, key=lambda pair: order.get(pair[0].verdict, 2))
    rows: Sequence[dict[str, float | str]] = ()
    if one.observed is not None and found.at is not None:
        rows = trace.around(one.observed.traces[found.flow], found.at)
    note = " ".join(filter(None, [found.note, case.note]))
    return CaseResult(
        case.id,
        case.title,
        case.source,
        found.verdict,
        found.measure,
        found.value,
        found.bound,
        None,
        case.file.name,
        note,
        tuple(p.sweep for p in played if p.sweep),
        at_least=case.side == "at least",
        is_exact=case.side == "exactly",
        blocks=lambda: _blocks(case, rows),
        trace=rows,
    )


def _blocks(case: Case, rows: Sequence[dict[str, float | str]]) -> Sequence[Block]:
    """Return a table of the states around the decision, for the report."""
    from tailback.report.model import Column, Table

    if not rows:
        return ()
    columns = [
        Column(head, "" if isinstance(value, str) else ".6g") for head, value in rows[0].items()
    ]
    caption = "Samples at changes of state, the one that decides and the one before it."
    name = f"states-{case.id.replace('.', '-')}"
    return (
        Table(
            name, "States around the decision", columns, [list(r.values()) for r in rows], caption
        ),
    )
