"""Tests `tailback evaluate cc program=FILE`: the file, the scenarios, and sections that are not
observable."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stored_programs
from conftest import COMMAND
from tailback import _native
from tailback.errors import InputError
from tailback.evaluate import by_packets, cc, execution, measures, subject, suites
from tailback.evaluate.by_packets import ByPackets
from tailback.evaluate.cc import ce, nsperf, timeout
from tailback.evaluate.criteria import Against
from tailback.evaluate.model import Request
from tailback.evaluate.program import ProgramSubject
from tailback.evaluate.subject import Subject
from tailback.running.options import RunOptions
from tailback.running.scenarios import texts
from tailback.store.results import Run

KERNEL = RunOptions(engine="kernel")
QUINN = ProgramSubject("quinn.toml", {"name": "quinn", "kind": "quinn", "control": "newreno"})
SUBJECT = Subject("quinn", "quinn", program=QUINN)


def evaluated(tmp_path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    command = [*COMMAND, "evaluate", "cc", "program=p.toml", "--quick", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


def test_every_error_of_the_file_is_printed_at_once(tmp_path: Path) -> None:
    text = 'duration = "3s"\n[[programs]]\nkind = "qinn"\nstart = "3s"\nrtt = 3\n'
    done = evaluated(tmp_path, text)
    assert (done.returncode, done.stdout) == (2, "")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        "error: p.toml:1:1: `duration` is not part of a program",
        'error: p.toml:3:8: unknown stack "qinn"',
        "error: p.toml:4:1: `start` is decided by the scenario of each section",
        "error: p.toml:5:1: `rtt` is decided by the scenario of each section",
        'error: p.toml:5:7: wrong value 3 for "rtt"',
    ]
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.toml:1:1: 0 tables [[programs]]; expected one"),
        ('[[programs]]\nkind = "quinn"\n' * 2, "p.toml:1:3: 2 tables [[programs]]"),
        ("[[programs]\n", "p.toml:1:"),
        ('[[programs]]\nkind = "quinn"\n', "p.toml:2:8: the stack of quinn is not compiled"),
        ('[[programs]]\nkind = "quic-go"\n', "--engine kernel"),
    ],
)
def test_a_file_that_is_no_program_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    done = evaluated(tmp_path, text)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_scenario_is_one_error(tmp_path: Path) -> None:
    text = (
        'duration = "3s"\nwarmup = "15s"\n[bottleneck]\nrate = "1Mbit"\n[path]\nrtt = "20ms"\n'
        '[[programs]]\nkind = "qinn"\n'
    )
    done = evaluated(tmp_path, text)
    assert (done.returncode, done.stdout) == (2, "")
    [error] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert error.startswith("error: p.toml:1:1: this is a scenario; expected a file with only one")
    assert "without duration, warmup, bottleneck, path\n" in done.stderr


def test_a_key_to_remove_has_no_further_error(tmp_path: Path) -> None:
    # The validation sets a duration of 10 s, and the file does not.
    done = evaluated(tmp_path, 'warmup = "15s"\n[[programs]]\nkind = "ping"\n')
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: p.toml:1:")]
    assert errors == ["error: p.toml:1:1: `warmup` is not part of a program"]


@pytest.mark.parametrize(
    ("kind", "name", "against", "message"),
    [
        ("cc", "program=", None, r"write program=FILE\.toml"),
        ("cc", "program=none.toml", None, r"none\.toml: No such file"),
        ("cc", "quinn", None, 'kind = "quinn" to a file, and run: .* cc program=FILE'),
        ("cc", "mine.toml", None, r"write program=mine\.toml"),
        ("cc", "cubic", "program=q.toml", "only a program can be compared with a program"),
        ("aqm", "program=q.toml", None, "a program is no queue discipline"),
    ],
)
def test_a_subject_that_cannot_be_a_program(
    kind: Any, name: str, against: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        subject.resolve(kind, Request(name, against=against))


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"kind": "quinn"}, "quinn"),
        ({"kind": "quinn", "control": "newreno"}, "quinn-newreno"),
        ({"kind": "iperf3", "cc": "bbr"}, "iperf3-bbr"),
        ({"kind": "iperf3", "cc": {"name": "bbr"}}, "iperf3"),
        ({"name": "mine", "kind": "quinn", "control": "bbr"}, "mine"),
        ({"sender": {"run": ["a"]}}, "file"),
    ],
)
def test_a_report_names_the_control_of_a_program(entry: dict[str, object], name: str) -> None:
    assert ProgramSubject("folder/file.toml", entry).name == name


@pytest.mark.usefixtures("kernel_kit")
def test_files_are_those_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "probe.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "probe.sh").chmod(0o755)
    text = '[[programs]]\nname = "mine"\nfiles = ["./probe.sh"]\nsender = { run = ["probe.sh"] }\n'
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    found = subject.resolve("cc", Request(f"program={file}", KERNEL, against="reno"))
    assert found.name == "mine"
    assert found.program is not None
    assert found.program.entry["files"] == [str(tmp_path / "probe.sh")]
    assert found.against is not None
    assert (found.against.value, found.against.program) == ("reno", None)


ONLY_SIMULATED = ("5.2.1-background", "5.2.1-beside-background", "6.2", "6.4", "7.7")
"""Sections with effects of the path, or congestion controls, that the kernel engine does not
have."""

SECTIONS = [
    one for one in map(by_packets.adapted, (*cc.CRITERIA, *cc.ASKED)) if isinstance(one, ByPackets)
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.id)
def test_the_program_takes_the_place_of_the_subject(section: ByPackets) -> None:
    request = Request("quinn", KERNEL, quick=True)
    before = tomllib.loads((cc.SCENARIOS / section.scenario).read_text(encoding="utf-8"))
    text = section.scenario_text(cc.SCENARIOS, QUINN)
    after = tomllib.loads(text)
    if section.inner.unobservable:
        assert section.jobs(cc.SCENARIOS, SUBJECT, request) == {}
        assert section.outcome(SUBJECT, request, {}).verdict == "not observable"
        return
    names = {path.split(".")[1] for path in section.inner.subject_at}
    programs = {one["name"]: one for one in after["programs"]}
    assert programs.keys() == names
    # Other flows are unchanged. Each flow under test becomes a program with the same number of
    # copies, times and path.
    assert after.get("flows", []) == [one for one in before["flows"] if one["name"] not in names]
    for flow in before["flows"]:
        if flow["name"] in names:
            kept = {key: value for key, value in flow.items() if key not in ("cc", "ecn")}
            assert programs[flow["name"]] == kept | {"kind": "quinn", "control": "newreno"}
    jobs = section.jobs(cc.SCENARIOS, SUBJECT, request)
    own = [job for name, job in jobs.items() if name.rpartition(", ")[2] == "subject"]
    assert own
    for job in own:
        if section.id not in ONLY_SIMULATED:
            _native.load(str(job.scenario).encode(), "f.toml", texts(job.set), 1, engine="kernel")
    others = [job for name, job in jobs.items() if name.rpartition(", ")[2] != "subject"]
    assert not any("[[programs]]" in str(job.scenario) for job in others)
    assert not any("programs." in str(job.set) for job in others)


def test_small_segments_are_those_of_no_program() -> None:
    # A QUIC packet has at least 1200 bytes, so CUBIC must not be compared with segments of 500.
    [section] = [one for one in SECTIONS if one.id == "7.4"]
    request = Request("quinn", KERNEL, quick=True)
    for job in section.jobs(cc.SCENARIOS, SUBJECT, request).values():
        assert "tcp" not in tomllib.loads(str(job.scenario))


def run(**parts: Any) -> Any:
    return SimpleNamespace(summary={"flows": [], **parts})


def test_fairness_counts_programs() -> None:
    flows = [{"name": "cubic", "throughput_mbit": 3.0}]
    programs = [{"name": "subject/1", "throughput_mbit": 1.0}]
    both = run(flows=flows, programs=programs, jain=1.0)
    assert measures.jain(both) == pytest.approx(16 / (2 * 10))
    assert measures.lowest_share(both) == pytest.approx(0.5)
    assert measures.named(both, "subject") == programs
    assert measures.jain(run(flows=flows, jain=1.0)) == 1.0


def test_a_program_without_ect_is_not_asked_to_respond_to_it() -> None:
    section = ByPackets(ce.CRITERION)
    request = Request("quiche", KERNEL)
    silent = run(programs=[{"ecn_sent": {"not_ect": 9, "ect0": 0, "ect1": 0, "ce": 0}}])
    found = section.outcome(replace(SUBJECT, name="quiche"), request, {"subject": [silent]})  # type: ignore[dict-item]
    assert (found.verdict, found.value) == ("not observable", None)
    assert found.note.startswith("quiche sent no packet with ECT after the warm-up")


def sent(*tuples: str) -> dict[str, Any]:
    return {"packets": 0, "tuples": [*tuples]}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.id)
def test_a_program_that_sends_nothing_gets_no_verdict(section: ByPackets) -> None:
    found = section.outcome(
        SUBJECT,
        Request("program=quinn.toml", KERNEL),
        {"subject": [run(programs=[sent(), sent()])]},  # type: ignore[dict-item]
    )
    assert (found.verdict, found.value) == ("not observable", None)
    if not section.inner.unobservable:
        assert found.note.startswith("quinn sent nothing in 1 of 1 runs. Check its arguments")


def test_a_program_is_silent_only_if_no_copy_sent_in_the_whole_run() -> None:
    [section] = [one for one in SECTIONS if one.id == "5.2-silence"]
    silent, warm = run(programs=[sent()]), run(programs=[sent("udp")])
    both = run(programs=[sent(), sent("udp")])
    request = Request("program=mine.toml", KERNEL)

    def why(request: Request, name: str, *runs: Any) -> str:
        return section._silence(SUBJECT, request, {name: [*runs]})  # type: ignore[dict-item]

    assert why(request, "subject", warm, both) == ""
    assert why(request, "subject", warm, silent).startswith("quinn sent nothing in 1 of 2 runs.")
    # The runs of CUBIC have no program, and the simulator lists no 5-tuples.
    assert why(request, "reference", silent) == ""
    assert why(Request("program=mine.toml"), "subject", silent) == ""


def test_a_message_calls_a_program_by_its_own_name() -> None:
    messages = ["program bbr (sender): x", "program subject/3 (sender): x", "program bbr2: x"]
    assert execution.renamed(messages, {"bbr", "subject"}, QUINN) == [
        "program quinn (sender): x",
        "program quinn/3 (sender): x",
        "program bbr2: x",
    ]


def test_a_burst_after_an_outage_is_seen_in_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first data arrives at 12.3 s. A sender that kept its window delivers 80 datagrams within
    # the next 75 ms. A sender that began with a small window delivers three.
    value = timeout.CRITERION.of_programs["value"]
    for burst in (80, 3):
        probe = [(12.3, 1e6 + 1472), (12.37, 1e6 + 1472 * burst)]
        # An ACK of the sender (60 bytes) arrives a quarter of a second before its first data.
        series = [(11.9, 1e6), (12.05, 1e6 + 60), *probe]
        later = [*series, (12.6, 9e6)]
        monkeypatch.setattr(measures, "series", lambda *_, later=later: later)
        assert value(run()) == pytest.approx(burst)


def log_of(*events: tuple[float, str, dict[str, Any]]) -> bytes:
    """Return a qlog with these events, whose times count from the date of the run."""
    common = {"time_format": "relative", "reference_time": stored_programs.DATE * 1000}
    head = {"qlog_version": "0.3", "trace": {"common_fields": common}}
    lines = [head, *({"time": at, "name": name, "data": data} for at, name, data in events)]
    return b"".join(b"\x1e" + json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., Run]:
    """Return a function that stores a run with the program `subject` and its qlog."""

    def call(log: bytes | None, **results: float) -> Run:
        part = stored_programs.program("subject", 4.0, results=results)
        run: Run = stored_programs.stored(tmp_path / "results", part).points[0]
        if log is not None:
            file = run.path / "programs/subject/sender/out/server-1.sqlog"
            file.parent.mkdir(parents=True)
            file.write_bytes(log)
            stored_programs.seal(run.path)
        return run

    return call


def test_nsperf_compares_the_drops_of_a_program_with_those_of_cubic(
    stored: Callable[..., Run],
) -> None:
    [shallow] = [one for one in nsperf.CRITERIA if one.id == "nsperf-shallow"]
    assert isinstance(shallow, Against)
    run = stored(None)
    run.summary["queues"]["bottleneck"].update(packets=970, drops=30)
    # TCP flows report their retransmissions, but programs do not.
    [cubic] = run.summary["flows"]
    share = measures.share_of("cubic", "retransmits")(run)
    assert share == cubic["retransmits"] / cubic["packets"]
    assert shallow.value(run) is None
    section = by_packets.adapted(shallow)
    assert isinstance(section, ByPackets)
    inner = section.inner
    assert isinstance(inner, Against)
    assert inner.value(run) == 0.03
    assert inner.measure == "share of packets that the queue drops, minus CUBIC's"


def test_the_qlog_shows_the_window_after_an_outage(
    stored: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = [(0.0, 90_000), (12_100.0, 2904), (12_330.0, 4356), (12_600.0, 60_000)]
    log = log_of(
        *((at, "recovery:metrics_updated", {"congestion_window": cwnd}) for at, cwnd in windows)
    )
    # The first packet after the outage arrives at 12.3 s.
    series = [(0.0, 1e3), (11.9, 1e6), (12.2, 1e6), (12.3, 1e6 + 1472), (12.6, 9e6)]
    monkeypatch.setattr(measures, "series", lambda *_: series)
    said = timeout.CRITERION.of_programs["logged"]
    assert said(stored(log)) == "Its qlog has a window of 2904 bytes then."


def test_a_window_without_a_qlog_is_not_said(stored: Callable[..., Run]) -> None:
    assert timeout.CRITERION.of_programs["logged"](stored(None)) == ""


def test_a_measure_that_packets_do_not_have_is_not_observable() -> None:
    sections = {one.id: one for one in SECTIONS}
    [group] = [[SimpleNamespace(summary={"flows": [], "programs": []}, labels={}, seed=1)]]

    class Stored(list):  # type: ignore[type-arg]
        id = "sweep"

        def groups(self) -> list[Any]:
            return [group]

    found = sections["nsperf-ecn"].outcome(
        SUBJECT,
        Request("quinn", KERNEL),
        {"subject": Stored(group), "reference": Stored(group)},  # type: ignore[dict-item]
    )
    assert found.verdict == "not observable"
    assert found.note.startswith("Neither packets nor a qlog of the program show the median RTT")


def test_the_command_of_the_report_runs_the_scenario_beside_it() -> None:
    [section] = [one for one in SECTIONS if one.id == "7.3"]
    text = section.scenario_text(cc.SCENARIOS, QUINN)
    _native.load(text.encode(), "7.3-delay.toml", engine="kernel")
    request = Request("program=quinn.toml", KERNEL)
    command = section.command(SUBJECT, request)
    assert command == "tailback run 7.3-delay.toml --seeds 30 --engine kernel"


def test_a_rejected_section_names_its_scenario_without_the_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"{cc.SCENARIOS / '7.3-delay.toml'}:3:8: no"
    monkeypatch.setattr(execution, "rejection", lambda *_: place)
    with pytest.raises(InputError, match=r"no section can run: 7\.3-delay\.toml:3:8: no"):
        suites.evaluate("cc", Request("reno", parts=("7.3",)))
