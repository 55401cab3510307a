"""Evaluates a program with the test cases for BBR.

The program replaces the BBR flow, and its packets and its qlog decide the verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailback.errors import RunsFailed
from tailback.evaluate import execution, logged
from tailback.evaluate.bbr import outside, results, trace
from tailback.evaluate.bbr.case import FLOW, Case, Finding
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.bbr.outside import Seen
from tailback.evaluate.bbr.packet_trace import STEP_S, PacketTrace
from tailback.evaluate.bbr.results import CaseResult
from tailback.evaluate.by_packets import placed
from tailback.evaluate.criteria import run_command
from tailback.evaluate.logged import LogTrace
from tailback.evaluate.model import Evaluation, Request, SectionResult
from tailback.evaluate.program import PREFIX, ProgramSubject, read
from tailback.running import engines
from tailback.running.batch import Job, run_jobs
from tailback.running.scenarios import quiet
from tailback.store.results import Results, Run

CAPTION = (
    "Packets around the decision, over 50 ms each, and the window by the qlog if there is one."
)

AROUND, EVERY = 5, 5
"""In the table of samples, the number of rows before and after the decision, and the number of
intervals that each row covers."""

_RECORD = f'\n[record]\ninterval = "{1e3 * STEP_S:.0f}ms"\nevents = true\n'


def judged(request: Request) -> Evaluation:
    """Run the requested cases with a program, and return a section with a verdict for each."""
    program = read(request.name.removeprefix(PREFIX), request)
    cases = [case for case in CASES if not request.parts or case.id in request.parts]
    seeds = request.run.seeds or 1
    rejected = {case.id: outside.unobservable(case) for case in cases}
    jobs: dict[str, Job] = {}
    for case in cases:
        if not rejected[case.id]:
            job = Job(scenario_text(case, program), {}, seeds)
            rejected[case.id] = execution.rejection([job], request).replace(
                "<text>", case.file.name
            )
            jobs |= {} if rejected[case.id] else {case.id: job}
    failures: list[str] = []
    try:
        with quiet():
            found = run_jobs(list(jobs.values()), request.run)
    except RunsFailed as error:
        found, failures = error.results, execution.renamed(error.failures, {FLOW}, program)
        execution.refuse_without_runs(program.name, found, failures)
    ran = dict(zip(jobs, found, strict=True))
    sections: list[SectionResult] = []
    log_notes: list[str] = []
    for case in cases:
        if case.id not in ran:
            sections.append(unseen(case, rejected[case.id]))
            continue
        seen = [observed(run, FLOW) for run in ran[case.id]]
        log_notes += [_log_note(case, program, one) for one in seen]
        result = verdict(case, seen, ran[case.id])
        command = run_command(case.file.name, {}, seeds, request)
        # Report failed runs too: the program may have crashed.
        sections.append(
            execution.with_failures(replace(result, command=command), [ran[case.id]], failures)
        )
    shown = [
        one
        for one in sections
        if isinstance(one, CaseResult) and one.trace and (one.verdict == "fail" or request.parts)
    ]
    tables = ("\n".join([f"{one.id}:", *trace.table(one.trace)]) for one in shown)
    return Evaluation(
        suite="bbr",
        subject=program.name,
        engine=request.run.engine,
        version=found[0].version if found else engines.get(request.run.engine).version,
        sections=tuple(sections),
        flags=request.flags,
        notes=(
            results.seeds_note(seeds),
            *dict.fromkeys(log_notes),
            *(f"run failed: {failure}" for failure in failures),
            *tables,
        ),
        argument=request.name,
        texts={case.file.name: scenario_text(case, program) for case in cases if case.id in jobs},
    )


def _log_note(case: Case, program: ProgramSubject, seen: Seen) -> str:
    if seen.log is None and seen.unread:
        return (
            f"{case.id}: the verdict uses packets only, because no log could be read: "
            f"{seen.unread[0]}."
        )
    if seen.log is None:
        # Do not suggest an option that the program already sets.
        is_asked = program.entry.get("qlog") is True
        kept = "no qlog with windows was kept" if is_asked else "no qlog was kept; set qlog = true"
        return f"{case.id}: the verdict uses packets only, because {kept}."
    if seen.log.states:
        return "The program's qlog shows its window and BBR's states."
    return (
        "The program's qlog shows its window but not BBR's states. tailback infers the states from "
        "packets."
    )


def scenario_text(case: Case, program: ProgramSubject) -> str:
    """Return the scenario of a case, with the flow replaced by the program, and packets recorded
    in short intervals."""
    blocks = case.file.read_text(encoding="utf-8").split("\n\n")
    kept = [block for block in blocks if not block.startswith("[record]")]
    kept.insert(1, _RECORD.strip("\n"))
    return placed("\n\n".join(kept), program, {FLOW})


def observed(run: Run, name: str) -> Seen:
    """Read the packets and the qlog that a run recorded for a flow or program."""
    packets = PacketTrace.of(run, name)
    # A packet arrives half of the base RTT after it was sent. Assume that the packet arrives in the
    # middle of its recording interval.
    sent_s = packets.first_s - packets.base_s / 2 - STEP_S / 2
    return Seen(packets, *LogTrace.of(run, name, sent_s))


def unseen(case: Case, why: str) -> CaseResult:
    return CaseResult(
        case.id, case.title, case.source, "not observable", "", None, None, None, "", why
    )


def verdict(case: Case, seen: Sequence[Seen], ran: Results) -> CaseResult:
    """Return the result of a case. The result comes from the first seed that fails, or from the
    first seed if no seed fails.
    """
    judge, side = outside.JUDGES[case.id], outside.SIDES.get(case.id, case.side)
    findings = [(finding(judge, one), one) for one in seen]
    if not findings:
        return replace(unseen(case, "No run ended."), scenario=case.file.name)
    found, one = results.worst(findings)
    shown = rows(one, found.at) if found.at is not None else ()
    return results.decided(
        case, found, (ran.id,), shown, side=side, note=found.note, caption=CAPTION
    )


def finding(judge: outside.Judge, seen: Seen) -> Finding:
    """Return the result of a case. A program that sends nothing has no result, because its
    arguments may be wrong."""
    if not seen.packets.times or not seen.packets.sent[-1]:
        note = "The program sent nothing. Check its arguments and its messages in the run folder."
        return Finding("not observable", "", None, None, note)
    return judge(seen)


def rows(seen: Seen, index: int) -> list[dict[str, float | str]]:
    """Return the data from the packets and the qlog around an interval, with a row for every 50
    ms."""
    p, log = seen.packets, seen.log
    wanted = range(index - AROUND * EVERY, index + AROUND * EVERY + 1, EVERY)
    found: list[dict[str, float | str]] = []
    for i in wanted:
        if not 0 <= i < len(p.times):
            continue
        row: dict[str, float | str] = {
            "time_s": round(p.times[i], 3),
            "sent_mbit": round(p.mbit(p.sent, i, EVERY * STEP_S), 2),
            "delivered_mbit": round(p.mbit(p.delivered, i, EVERY * STEP_S), 2),
            "in_flight": round(p.in_flight[i] / p.frame, 1),
            "queued": round(p.backlog[i] / p.frame, 1),
            "rtt_ms": round(1e3 * p.rtts[i], 1),
        }
        if log is not None:
            row["cwnd_bytes"] = logged.at(log.cwnd, p.times[i]) or 0.0
            if log.states:
                row["state"] = logged.state(log, p.times[i])
        found.append(row)
    return found
