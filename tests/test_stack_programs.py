"""Tests transport stacks as kinds of `[[programs]]` in the simulator.

The tests build one copy of the engine with quinn, smoltcp, str0m and a stack that makes mistakes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import COMMAND, ROOT
from pages.reference import adapters
from tailback import _native
from tailback.cli.tables.listing import type_of
from tailback.errors import InputError, RunsFailed, ScenarioError
from tailback.evaluate import suites
from tailback.evaluate.model import Request
from tailback.plugins import asked, begin, copies, crate, locks
from tailback.programs import kept, qlog
from tailback.running.options import RunOptions

QUINN, SMOLTCP, STR0M = (ROOT / "stacks" / name for name in ("quinn", "smoltcp", "str0m"))

ALONE = """\
duration = "12s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[programs]]
kind = "quinn"
bytes = 20_000_000
"""

BESIDE = """\
duration = "30s"
warmup = "5s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
ecn = true
[[programs]]
kind = "quinn"
"""

CALL = """\
duration = "30s"
warmup = "10s"
[bottleneck]
rate = "1Mbit"
queue = { aqm = "fifo", limit = "37500b" }
[path]
rtt = "100ms"
[[programs]]
kind = "str0m"
"""

MISTAKES = """
impl Endpoint for Rogue {
    fn wake(&mut self, now: Time) {
        assert!(self.0 != "panics", "on purpose");
        if now >= self.1 {
            self.1 = now + Time::from_ms(1);
            self.2 = true;
        }
    }

    fn receive(&mut self, _now: Time, _datagram: &[u8], _ecn: Ecn) {}

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        datagram.push(0);
        if self.0 == "ignores" && std::mem::take(&mut self.2) {
            datagram.resize(SIZE, 0);
            return Some(Transmit::one(Ecn::Ect0));
        }
        (self.0 == "floods").then_some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        match self.0 {
            "spins" => Some(Time::ZERO),
            "ignores" => Some(self.1),
            _ => None,
        }
    }
}

/// An endpoint that makes a mistake; when the next datagram is due, and whether it is due now.
struct Rogue(&'static str, Time, bool);
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a cache, and next to it a stack that makes mistakes."""
    folder = tmp_path_factory.mktemp("stacks")
    begin.write("stack", folder / "rogue")
    source = folder / "rogue/src/lib.rs"
    text = source.read_text(encoding="utf-8")
    ends = text.index("        ends: |options, _| {")
    text = (
        text[:ends]
        + """        ends: |options, _| match options.word("act") {
            "works" => [
                Box::new(Sender::new(options.float("beta"))),
                Box::new(Receiver::default()),
            ],
            act => [Box::new(Rogue(act, Time::ZERO, false)), Box::new(Receiver::default())],
        },
    },
};
"""
        + text[text.index("\n/// Payload of a datagram") :]
        + MISTAKES
    )
    option = """    options: &[
        Opt {
            name: "act",
            doc: "What it does.",
            kind: Kind::Word(&["works", "panics", "spins", "floods", "ignores"]),
            default: Some("works"),
            tc: None,
        },
        Opt {"""
    source.write_text(text.replace("    options: &[Opt {", option), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _cache(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(shelf / "cache"))
    monkeypatch.delenv(asked.VARIABLE, raising=False)


@pytest.fixture
def stacks(shelf: Path) -> list[Path]:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing")
    return [QUINN, SMOLTCP, STR0M, shelf / "rogue"]


def command(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_quinn_alone_and_beside_cubic(stacks: list[Path], tmp_path: Path) -> None:
    [run] = tb.run(ALONE, out=tmp_path, plugins=stacks)
    [quinn] = run.summary["programs"]
    # In the guest, the same version of quinn took 8.638 s and got 21 marks.
    assert quinn["completion_s"] == pytest.approx(8.638, abs=0.02)
    assert 18 <= quinn["marks"] <= 24
    assert quinn["drops"] == 0
    # The throughput is the number of bytes (data and headers) divided by the time until the last
    # packet.
    assert quinn["to_s"] - quinn["from_s"] == pytest.approx(quinn["completion_s"])
    assert quinn["throughput_mbit"] == pytest.approx(18.96, abs=0.02)
    assert quinn["kind"] == "quinn"
    assert quinn["status"] == {"sender": 0, "receiver": 0}
    assert quinn["results"]["seconds"] == pytest.approx(quinn["completion_s"], abs=0.03)
    assert quinn["results"]["goodput_mbit"] == pytest.approx(160 / quinn["results"]["seconds"])
    assert quinn["rtt_of"] == "base and sojourn"
    assert 20 <= quinn["rtt_ms"]["mean"] <= 30
    assert f".tailback-quinn-{crate.read(QUINN).hash}" in run.manifest["engine_version"]
    [run] = tb.run(BESIDE, out=tmp_path, plugins=stacks)
    [quinn], [cubic] = run.summary["programs"], run.summary["flows"]
    # In the guest, the two flows had 9.81 and 9.48 Mbit/s, and 59 and 60 marks.
    assert quinn["throughput_mbit"] == pytest.approx(9.81, abs=0.1)
    assert cubic["throughput_mbit"] == pytest.approx(9.476, abs=0.1)
    assert quinn["marks"] == pytest.approx(59, abs=4)
    # The round-trip times of both flows include the delay of the queue that the flows share.
    assert quinn["rtt_ms"]["mean"] == pytest.approx(cubic["rtt_ms"]["mean"], rel=0.05)


def test_smoltcp_sends_full_packets(stacks: list[Path], tmp_path: Path) -> None:
    text = ALONE.replace("quinn", "smoltcp").replace("20_000_000", "10_000_000")
    [run] = tb.run(text, out=tmp_path, plugins=stacks)
    [smoltcp] = run.summary["programs"]
    assert smoltcp["marks"] == 0, "smoltcp does not use ECN"
    # Check the mean size of a packet in IP bytes, which is near 950 without Nagle's algorithm. With
    # Nagle's algorithm, packets with data have 1500 bytes, and one packet in 15 contains no data.
    arrived = smoltcp["packets"] - smoltcp["drops"]
    assert 1390 < smoltcp["delivered_bytes"] / arrived <= 1500


def test_str0m_fills_its_link(stacks: list[Path], tmp_path: Path) -> None:
    [run] = tb.run(CALL, out=tmp_path, plugins=stacks)
    [call] = run.summary["programs"]
    assert call["kind"] == "str0m"
    assert call["status"] == {"sender": None, "receiver": None}
    assert 0.85 < call["throughput_mbit"] < 1.0
    results = call["results"]
    # The call sends 30 frames per second for 30 s, except during the handshake.
    assert 880 < results["frames_sent"] <= 900
    assert 0.9 * results["frames_sent"] < results["frames_complete"] <= results["frames_sent"]
    assert 50 < results["frame_delay_ms_mean"] < results["frame_delay_ms_p95"]
    # The file contains every estimate of the bandwidth with its time. The last estimate is also in
    # the results.
    [file] = kept.files(run.stored, "str0m")
    assert file.path == "programs/str0m/sender/out/estimates.csv"
    head, *rows = run.stored.read(file.path).decode().splitlines()
    assert head == "time_s,estimate_mbit"
    estimates = [tuple(map(float, row.split(","))) for row in rows]
    assert estimates[-1][1] == results["last_estimate_mbit"]
    assert estimates == sorted(estimates, key=lambda pair: pair[0])
    assert 20 < estimates[-1][0] < 30


def test_two_processes_write_the_same_bytes(stacks: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    both = ALONE.replace("12s", "3s") + "qlog = true\n"
    both += '[[programs]]\nkind = "smoltcp"\ncontrol = "reno"\n[[programs]]\nkind = "str0m"\n'
    # BBR draws random numbers, which follow from the seed.
    both += '[[programs]]\nname = "bbr"\nkind = "quinn"\ncontrol = "bbr"\n'
    file.write_text(f'{both}[record]\nseries = "interval"\nevents = true\n', encoding="utf-8")
    words = [word for stack in stacks for word in ("--with", stack)]
    hashes = []
    for out in (tmp_path / "a", tmp_path / "b"):
        done = command("run", file, *words, "--json", "--out", out)
        assert done.returncode == 0, done.stderr
        [run] = (out / "runs").iterdir()
        files = [path for path in sorted(run.rglob("*.*")) if path.name != "timing.json"]
        assert "server-1.sqlog" in [path.name for path in files]
        content = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]
        hashes.append((run.name, content))
    assert hashes[0] == hashes[1]
    # Tables show error counters only if they are not 0.
    shown = command("run", file, *words, "--out", out).stdout
    assert "goodput" in shown
    assert "frames_complete" in shown
    assert "too_long" not in shown
    assert "qlog" not in shown


def test_qlog_is_a_file_of_the_run_on_its_clock(stacks: list[Path], tmp_path: Path) -> None:
    text = ALONE.replace("bytes = 20_000_000", 'bytes = "1MB"\nstart = "1s"\nqlog = true')
    [run] = tb.run(text, out=tmp_path, plugins=stacks)
    [file] = kept.files(run.stored, "quinn")
    assert file.path == "programs/quinn/sender/out/server-1.sqlog"
    [trace] = qlog.parse(run.stored.read(file.path), Path(file.name))
    [plan] = run.manifest["canonical"]["programs"]
    moved = qlog.over_run(trace, trace.smoothed_rtt, date_s=plan["date"], start_s=1.0, end_s=12.0)
    assert len(moved) == len(trace.smoothed_rtt) > 300
    # The server takes its first sample half a round trip after the client's first packet. The
    # server takes its last sample half a round trip before its last packet arrives.
    [quinn] = run.summary["programs"]
    assert moved[0][0] == pytest.approx(quinn["from_s"] + 0.01, abs=0.001)
    assert moved[-1][0] == pytest.approx(quinn["to_s"] - 0.01, abs=0.001)
    assert quinn["results"]["qlog_records_lost"] == 0


def test_copies_and_both_directions(stacks: list[Path], tmp_path: Path) -> None:
    text = ALONE.replace("bytes = 20_000_000", 'bytes = "1MB"\ncount = 3') + (
        '[[programs]]\nname = "up"\nkind = "smoltcp"\nbytes = "1MB"\nreverse = true\n'
    )
    text = text.replace("[path]", "both_directions = true\n[path]")
    [run] = tb.run(text, out=tmp_path, plugins=stacks)
    programs = {one["name"]: one for one in run.summary["programs"]}
    assert list(programs) == ["quinn/1", "quinn/2", "quinn/3", "up"]
    for one in programs.values():
        assert one["completion_s"] < 2.5
        assert one["delivered_bytes"] > 1_000_000
    # The last program sends its megabyte in the reverse direction, through the other queue.
    there, back = run.summary["queues"]["bottleneck"], run.summary["queues"]["bottleneck.back"]
    assert there["packets"] > 2_100
    assert 690 < back["packets"] < 2_100


def test_a_mistake_costs_its_run_only(stacks: list[Path], tmp_path: Path) -> None:
    text = (
        'duration = "2s"\n[bottleneck]\nrate = "20Mbit"\n[[programs]]\nkind = "rogue"\n'
        '[sweep]\n"programs.rogue.act" = ["panics", "works", "spins", "floods"]\n'
    )
    with pytest.raises(RunsFailed) as caught:
        tb.run(text, out=tmp_path, plugins=stacks)
    message = str(caught.value)
    assert re.search(r"panicked at rogue/src/lib\.rs:\d+:\d+:\s+on purpose", message)
    assert 'the sender of "rogue" asked to be woken 50001 times within a millisecond' in message
    assert 'the sender of "rogue" sent 200001 datagrams within a millisecond' in message
    runs = list((tmp_path / "runs").iterdir())
    [summary] = [json.loads((run / "summary.json").read_text()) for run in runs]
    assert summary["programs"][0]["throughput_mbit"] > 10


def test_a_stack_that_ignores_loss_and_marks_is_found(stacks: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "subject.toml"

    def values(entry: str) -> dict[str, tuple[str, Any]]:
        file.write_text(f"[[programs]]\n{entry}\n", encoding="utf-8")
        run = RunOptions.of(out=tmp_path, seeds=1, progress=False, plugins=stacks)
        parts = ("5.1.1-timeout", "5.2-silence", "7.1-ce")
        request = Request(f"program={file}", run, quick=True, parts=parts)
        found = suites.evaluate("cc", request)
        return {one.id: (one.verdict, one.value) for one in found.sections}

    found = values('kind = "quinn"')
    # quinn sends two packets at each of five probe timeouts during an outage of 29 s. After the
    # outage, it sends two full packets in a round trip.
    assert found["5.1.1-timeout"] == ("pass", pytest.approx(3, abs=2))
    assert found["5.2-silence"] == ("pass", 10.0)
    assert found["7.1-ce"] == ("pass", pytest.approx(0.0199, abs=0.001))
    found = values('kind = "rogue"\nact = "ignores"')
    # The rogue stack sends 1000 packets a second, half of the link's rate, even during outages.
    assert found["5.1.1-timeout"] == ("fail", pytest.approx(65, abs=3))
    assert found["5.2-silence"] == ("fail", pytest.approx(29_000, abs=10))
    assert found["7.1-ce"] == ("fail", pytest.approx(0.497, abs=0.01))


@pytest.mark.parametrize(
    ("entry", "place", "message"),
    [
        ('kind = "quinn"\nthreads = 1\n', "5:1", 'quinn has no option "threads"'),
        ('kind = "quinn"\ncontrol = "vegas"\n', "5:11", "expected one of cubic, newreno, bbr"),
        ('kind = "quinn"\npackages = ["curl"]\n', "5:1", '"packages" describes programs'),
        ('kind = "str0m"\nmax_rate = "200kbit"\n', "3:1", "a rate of at most max_rate is expected"),
        ('kind = "quin"\n', "4:8", 'unknown stack "quin"'),
        ('kind = "ping"\n', "4:8", "ping runs on the kernel engine only"),
        ('sender = { run = ["x"] }\n', "3:1", "programs run on the kernel engine only"),
    ],
)
def test_what_is_rejected(stacks: list[Path], entry: str, place: str, message: str) -> None:
    text = f'duration = "1s"\nbottleneck.rate = "1Mbit"\n[[programs]]\n{entry}'
    with pytest.raises(ScenarioError) as caught:
        tb.check(text, plugins=stacks)
    [problem] = caught.value.diagnostics
    assert message in problem.text
    assert place == f"{problem.line}:{problem.column}"


def test_without_the_stack_the_error_says_what_to_build(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(ALONE, encoding="utf-8")
    done = command("run", file, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "f.toml:8:8: the stack of quinn is not compiled into the simulator" in done.stderr
    assert "add --with stacks/quinn" in done.stderr
    assert not (tmp_path / "out").exists()
    listed = command("list", "programs").stdout
    assert re.search(r"(?m)^quinn +sim \(--with stacks/quinn\), kernel +Downloads data", listed)
    assert re.search(r"(?m)^smoltcp +sim \(--with stacks/smoltcp\) +Uploads data", listed)
    assert re.search(r"(?m)^str0m +sim \(--with stacks/str0m\) +Sends video", listed)
    assert re.search(r"(?m)^ping +kernel ", listed)


def test_the_kernel_engine_has_no_smoltcp() -> None:
    text = ALONE.replace("quinn", "smoltcp")
    with pytest.raises(ScenarioError, match="smoltcp is a stack of the simulator, not a program"):
        _native.load(text.encode(), "f.toml", engine="kernel")


def test_a_copy_lists_its_stacks(stacks: list[Path]) -> None:
    native = copies.native(stacks)
    listed = [entry["name"] for entry in copies.entries(native)["stacks"]]
    assert listed == ["rogue", "quinn", "smoltcp", "str0m"]


def test_the_reference_has_the_options_of_each_stack(stacks: list[Path]) -> None:
    compiled = {one["name"]: one for one in copies.entries(copies.native(stacks))["stacks"]}
    for one in json.loads(_native.registry_json())["adapters"]:
        page, own = adapters.read(one), compiled[one["name"]]
        assert (page.doc, page.follows) == (own["doc"], own["follows"])
        columns = ("name", "doc", "default")
        assert [[option[c] for c in columns] for option in page.options] == [
            [option[c] for c in columns] for option in own["options"]
        ]
        assert [type_of(option) for option in page.options] == [
            type_of(option) for option in own["options"]
        ]


def test_the_lock_file_is_part_of_the_hash(tmp_path: Path) -> None:
    folder = tmp_path / "quinn"
    shutil.copytree(QUINN, folder, ignore=shutil.ignore_patterns("target"))
    before = crate.read(folder)
    assert before.digest == crate.read(QUINN).digest
    lock = folder / "Cargo.lock"
    lock.write_text(lock.read_text().replace('version = "0.17', 'version = "0.99'))
    assert crate.read(folder).digest != before.digest


def test_the_versions_of_a_lock_file_are_those_that_are_compiled() -> None:
    def lock(*packages: tuple[str, str, str]) -> str:
        blocks = [
            f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
            f'source = "registry"\ndependencies = [\n "{needs}",\n]\n'
            for name, version, needs in packages
        ]
        return "version = 4\n\n" + "\n".join(blocks)

    engine = lock(("rand", "0.8.5", "libc"), ("libc", "0.2.1", "none"))
    own = lock(
        ("rand", "0.9.1", "libc"),
        ("libc", "0.2.9", "none"),
        ("quic", "1.2.0", "rand"),
    )
    text = locks.merged(engine, [own])
    found = re.findall(r'name = "(\w+)"\nversion = "([\d.]+)"', text)
    # If the lock files have compatible versions of a package, the engine's version is kept.
    assert found == [("libc", "0.2.1"), ("quic", "1.2.0"), ("rand", "0.8.5"), ("rand", "0.9.1")]
    # If the lock file has two versions of a package, cargo requires each dependency to name its
    # version.
    assert re.search(r'(?s)name = "quic".*? "rand 0.9.1"', text)
    assert text.startswith("version = 4\n")


def test_a_new_stack_is_formatted_and_tested(tmp_path: Path) -> None:
    begin.write("stack", tmp_path / "my-stack")
    sources = sorted(str(path) for path in (tmp_path / "my-stack").rglob("*.rs"))
    assert len(sources) == 3
    subprocess.run(["rustfmt", "--check", "--edition", "2024", *sources], check=True)
    tests = (tmp_path / "my-stack/tests/conformance.rs").read_text(encoding="utf-8")
    assert "tailback_conformance::tests!(my_stack::register);" in tests
    whole = (ROOT / "crates/conformance/src/lib.rs").read_text(encoding="utf-8")
    assert "$crate::stack::conforms(entry);" in whole
    scenario = (tmp_path / "my-stack/scenario.toml").read_text(encoding="utf-8")
    assert '[[programs]]\nkind = "my-stack"' in scenario


def test_a_new_stack_has_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="quinn is one of tailback's own"):
        begin.write("stack", tmp_path / "quinn")
