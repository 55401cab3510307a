"""Tests `evaluate bbr program=FILE`, which decides cases from packets and a program's qlog."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stored_programs
from conftest import COMMAND
from tailback import interop
from tailback.errors import InputError, RunsFailed
from tailback.evaluate import logged
from tailback.evaluate.bbr import outside, programs
from tailback.evaluate.bbr.case import FLOW
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.bbr.packet_trace import PacketTrace
from tailback.evaluate.logged import LogTrace
from tailback.evaluate.model import Evaluation, Request, SectionResult
from tailback.evaluate.program import ProgramSubject
from tailback.evaluate.suites import evaluate
from tailback.programs import qlog
from tailback.running.batch import Job, run_many
from tailback.running.options import RunOptions
from tailback.store.results import Results, Run

PROGRAM = ProgramSubject("quinn.toml", {"kind": "quinn", "control": "bbr"})

DRAFT = '{ name = "bbr3", draft = "06" }'
BRANCH = '"bbr3"'
CUBIC = '"cubic"'

Doctor = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a results folder, so that tests reuse runs."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch, store: Path) -> Callable[..., Evaluation]:
    """Return a function that evaluates a "program" whose packets are the packets of a TCP flow with
    this congestion control. `log` converts the flow's qlog to the qlog of the program."""

    def call(
        cc: str,
        *parts: str,
        log: Doctor | None = None,
        out: Path = store,
        program: ProgramSubject = PROGRAM,
    ) -> Evaluation:
        def played(jobs: Sequence[Job], _: RunOptions) -> list[Results]:
            same = [replace(job, scenario=_as_flow(str(job.scenario), cc)) for job in jobs]
            found = run_many(same, out=out, progress=False)
            if log is not None:
                for run in (run for results in found for run in results):
                    _write_log(run, out, log)
            return found

        monkeypatch.setattr(programs, "read", lambda *_: program)
        monkeypatch.setattr("tailback.evaluate.execution.rejection", lambda *_: "")
        monkeypatch.setattr(programs, "run_jobs", played)
        return evaluate("bbr", Request("program=quinn.toml", parts=parts))

    return call


def _as_flow(text: str, cc: str) -> str:
    text = text.replace("[[programs]]", "[[flows]]").replace('kind = "quinn"', f"cc = {cc}")
    return text.replace('control = "bbr"\n', "").replace("qlog = true\n", "")


def _write_log(run: Run, out: Path, log: Doctor) -> None:
    [file] = interop.get("qlog").export(run.path, out / "flow.sqlog", ())
    kept = run.path / "programs" / FLOW / "sender/out/server-1.sqlog"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(log(file.read_bytes()))
    stored_programs.seal(run.path)


def sections(evaluation: Evaluation) -> dict[str, SectionResult]:
    return {one.id: one for one in evaluation.sections}


def test_packets_of_bbr_pass_every_case_that_they_show(
    evaluated: Callable[..., Evaluation],
) -> None:
    found = sections(evaluated(DRAFT))
    judged = {id_: one for id_, one in found.items() if one.verdict != "not observable"}
    assert {id_: one.verdict for id_, one in judged.items()} == dict.fromkeys(
        ("A.1", "A.3", "A.10", "A.12", "A.14", "A.17"), "pass"
    )
    # BBR has a gain of 0.5 in DRAIN (A.3), and spends about 200 ms in PROBE_RTT (A.10).
    assert judged["A.1"].value == pytest.approx(0, abs=0.5)
    assert judged["A.3"].value == pytest.approx(0.5, abs=0.02)
    assert judged["A.10"].value == pytest.approx(210, abs=20)
    assert judged["A.14"].value == 4


def test_another_gain_of_drain_fails_that_case_alone(
    evaluated: Callable[..., Evaluation],
) -> None:
    found = sections(evaluated(BRANCH))
    assert [id_ for id_, one in found.items() if one.verdict == "fail"] == ["A.3"]
    assert found["A.3"].value == pytest.approx(0.344, abs=0.02)


def test_a_control_that_is_no_bbr_fails(evaluated: Callable[..., Evaluation]) -> None:
    evaluation = evaluated(CUBIC)
    found = sections(evaluation)
    failed = [id_ for id_, one in found.items() if one.verdict == "fail"]
    assert failed == ["A.1", "A.10", "A.12", "A.15"]
    # CUBIC has no state DRAIN, so its gain in DRAIN cannot be measured.
    assert found["A.3"].verdict == "undecided"
    assert evaluation.is_bad


def test_what_neither_packets_nor_a_log_show_is_not_observable(
    evaluated: Callable[..., Evaluation],
) -> None:
    found = sections(evaluated(DRAFT))
    assert len(found) == 22
    assert found["A.7"].note == outside.APPLICATION
    assert found["A.4"].note == (
        "Neither packets nor a qlog show these internal values of BBR: round, bdp."
    )
    assert found["A.5"].note.endswith("and no qlog names BBR's states.")
    assert "how many rounds of UP" in found["A.15"].note
    assert "A.14: the verdict uses packets only, because no qlog was kept" in " ".join(
        evaluated(DRAFT, "A.14").notes
    )


@pytest.mark.parametrize(
    ("case", "doctored", "verdict", "note"),
    [
        ("A.1", lambda log: log, "pass", "STARTUP led to DRAIN 3"),
        (
            "A.1",
            lambda log: log.replace(b'"new": "drain"', b'"new": "probe_rtt"'),
            "fail",
            "STARTUP led to PROBE_RTT",
        ),
        ("A.10", lambda log: log, "pass", "PROBE_RTT began at 5.0"),
        (
            "A.10",
            lambda log: log.replace(b'"probe_rtt"', b'"probe_bw_cruise"').replace(
                b'"new": "drain"', b'"new": "probe_rtt"', 1
            ),
            "fail",
            "before the 5 s had passed",
        ),
        ("A.5", lambda log: log, "pass", "UP led to DOWN after 3.2 rounds; 0 packets"),
        (
            "A.5",
            lambda log: log.replace(b'"new": "probe_bw_down"', b'"new": "probe_bw_cruise"'),
            "fail",
            "UP led to CRUISE",
        ),
        ("A.14", lambda log: log, "pass", "smallest window is taken from the qlog"),
        (
            "A.14",
            lambda log: re.sub(rb'"congestion_window": \d+', b'"congestion_window": 2896', log),
            "fail",
            "smallest window is taken from the qlog",
        ),
    ],
)
def test_the_log_decides(
    evaluated: Callable[..., Evaluation],
    tmp_path: Path,
    case: str,
    doctored: Doctor,
    verdict: str,
    note: str,
) -> None:
    evaluation = evaluated(DRAFT, case, log=doctored, out=tmp_path)
    [section] = evaluation.sections
    assert (section.verdict, note in section.note) == (verdict, True), section.note
    assert "The program's qlog shows its window and BBR's states." in evaluation.notes


def test_only_a_program_without_the_option_qlog_is_advised_to_set_it(
    evaluated: Callable[..., Evaluation],
) -> None:
    hint = "set qlog = true"
    assert any(hint in note for note in evaluated(DRAFT, "A.14").notes)
    program = replace(PROGRAM, entry={**PROGRAM.entry, "qlog": True})
    notes = evaluated(DRAFT, "A.14", program=program).notes
    assert any("because no qlog with windows was kept." in note for note in notes)
    assert not any(hint in note for note in notes)


def test_a_file_that_is_no_qlog_does_not_decide(
    evaluated: Callable[..., Evaluation], tmp_path: Path
) -> None:
    evaluation = evaluated(DRAFT, "A.14", log=lambda _: b"no log", out=tmp_path)
    assert "data in flight, measured from packets" in evaluation.sections[0].note
    assert any(
        note.startswith(
            "A.14: the verdict uses packets only, because no log could be read: out/server-1.sql"
        )
        for note in evaluation.notes
    )


def trace(mbit: Sequence[float], **more: Any) -> PacketTrace:
    """Return the packets of a sender that sends at these rates, each for 10 ms, through a queue
    that never drops."""
    sent = [0.0]
    for rate in mbit:
        sent.append(sent[-1] + rate * 1e6 / 8 * 0.01)
    out = [0.0]
    for whole in sent[1:]:
        out.append(min(whole, out[-1] + 20e6 / 8 * 0.01))
    backlog = [a - b for a, b in zip(sent, out, strict=True)]
    times = [0.01 * i for i in range(len(sent))]
    rtts = [0.04 + queued * 8 / 20e6 for queued in backlog]
    values = {"drops": (), "base_s": 0.04, "frame": 1500.0, "header": 42, **more}
    return PacketTrace(times, sent, out, backlog, rtts, **values)


def test_rates_rounds_and_data_in_flight_are_counted() -> None:
    packets = trace([10.0] * 50 + [40.0] * 4 + [20.0] * 50)
    assert packets.mbit(packets.sent, 40, 0.04) == pytest.approx(10)
    assert packets.rounds(10, 50) == pytest.approx(10)
    # 10 Mbit/s over 40 ms are 50 kB. In four intervals at 40 Mbit/s, the path fills and a queue of
    # 100 kB builds up.
    assert packets.in_flight[40] == pytest.approx(50_000, rel=0.01)
    assert packets.in_flight[80] == pytest.approx(200_000, rel=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_any_packets_get_a_verdict(seed: int) -> None:
    draw = random.Random(seed)
    rates: list[float] = []
    while len(rates) < 1600:
        rates += [draw.choice([0.0, 1.0, 10.0, 20.0, 60.0, 150.0])] * draw.randrange(1, 200)
    names = list(logged.STATE_NAMES.values())
    states = sorted((draw.uniform(0, 16), draw.choice(names)) for _ in range(draw.randrange(9)))
    log = draw.choice([None, LogTrace([(0.0, 9e3), (8.0, 4e3)], states)])
    drops = sorted(draw.uniform(0, 16) for _ in range(draw.choice([0, 0, 99])))
    for judge in outside.JUDGES.values():
        found = judge(outside.Seen(trace(rates, drops=drops), log))
        assert found.verdict in ("pass", "fail", "undecided", "not observable")
        assert found.note
        assert found.at is None or 0 <= found.at <= len(rates)


def test_a_program_that_sends_nothing_gets_no_verdict() -> None:
    seen = outside.Seen(trace([0.0] * 100), None)
    found = programs.finding(outside.plateau, seen)
    assert found.verdict == "not observable"
    assert "Check its arguments" in found.note


def test_a_program_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(jobs: Sequence[Job], _: RunOptions) -> list[Results]:
        results: list[Any] = [[] for _ in jobs]
        raise RunsFailed(["run 1234 (seed 1): transfer: unknown option --cc"], results)

    monkeypatch.setattr(programs, "read", lambda *_: PROGRAM)
    monkeypatch.setattr("tailback.evaluate.execution.rejection", lambda *_: "")
    monkeypatch.setattr(programs, "run_jobs", failed)
    with pytest.raises(InputError, match=r"there is no verdict; .*unknown option --cc"):
        evaluate("bbr", Request("program=quinn.toml"))


def test_a_pause_is_no_drain() -> None:
    seen = outside.Seen(trace([10.0] * 5 + [40.0] * 20 + [0.5] * 10 + [20.0] * 30), None)
    assert outside.drain(seen).verdict == "undecided"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("probe_bw_up", "UP"),
        ("bbr_probe_bw_up", "UP"),
        ("bbr_startup", "STARTUP"),
        ("bbr2_ProbeBW_Down", "DOWN"),
        ("BBRv3 Startup", "STARTUP"),
        ("ProbeRTT", "PROBE_RTT"),
        ("slow_start", "-"),
        ("application_limited", "-"),
    ],
)
def test_names_of_states(name: str, state: str) -> None:
    log = LogTrace.placed(qlog.Trace("server", None, cwnd=[(5.0, 1.0)], states=[(7.0, name)]), 1.0)
    # In a log without a reference time, the first event is at the time of the first packet.
    assert log.cwnd[0][0] == pytest.approx(1.0)
    assert logged.state(log, 1.0025) == state


def test_the_program_takes_the_place_of_the_flow() -> None:
    for case in CASES:
        if not outside.unobservable(case):
            text = programs.scenario_text(case, PROGRAM)
            assert "[[flows]]" not in text
            assert text.count("[record]") == 1
            assert 'interval = "10ms"' in text


def test_errors_come_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[[programs]]\nkind = "qinn"\nstart = "3s"\n', "utf-8")
    command = [*COMMAND, "evaluate", "bbr", "program=p.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        'error: p.toml:2:8: unknown stack "qinn"',
        "error: p.toml:3:1: `start` is decided by the scenario of each section",
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [({"worst": True}, "--worst"), ({"against": "bbr3"}, "--against"), ({}, "No such file")],
)
def test_a_request_that_makes_no_sense_is_rejected(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate("bbr", Request("program=none.toml", **more))
