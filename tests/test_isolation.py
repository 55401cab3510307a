"""Checks that a hostile program inside a guest cannot reach anything on this machine.

isolation/hostile.c is the hostile program. This program tries each known way out of the guest, and
prints the result of each attempt.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import ROOT, guests, wait_for
from tailback.errors import InputError, RunsFailed, ScenarioWarning
from tailback.kernel import confine
from tailback.kernel.kit import Kit

BASE = """\
title    = "hostile"
duration = "4s"
warmup   = "1s"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "fq_codel" }

[path]
rtt = "20ms"
"""

ENTRY = """
[[programs]]
name   = "NAME"
files  = ["hostile"]
sender = { run = ["hostile", "NAME"WORDS] }
"""


def entry(name: str, *words: object) -> str:
    """Return the scenario's table for a hostile program that makes one attempt."""
    listed = "".join(f', "{word}"' for word in words)
    return ENTRY.replace("NAME", name).replace("WORDS", listed)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the hostile program into a folder."""
    folder = tmp_path_factory.mktemp("hostile")
    source = ROOT / "tests/isolation/hostile.c"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", str(source)]
    subprocess.run([*command, "-o", "hostile"], cwd=folder, check=True)
    return folder


@dataclass
class Ran:
    """A run, and the output of its programs."""

    out: Path
    said: dict[str, str]

    def results(self, name: str) -> dict[str, int]:
        """Return the result of each attempt of a program. Negative results are errno values."""
        found = re.findall(r"^hostile: (\S+) (-?\d+)$", self.said[name], re.MULTILINE)
        return {what: int(number) for what, number in found}


def run(hostile: Path, *entries: str) -> Ran:
    """Run a scenario with these programs."""
    file = hostile / "scenario.toml"
    file.write_text(BASE + "".join(entries), encoding="utf-8")
    out = hostile / f"out-{time.monotonic_ns()}"
    try:
        tb.run(file, engine="kernel", out=out)
    finally:
        # No process of the run may still exist, however the run ended.
        wait_for(lambda: guests(hostile) == [])
    said = {
        path.parent.parent.name: path.read_text(encoding="utf-8", errors="replace")
        for path in out.glob("runs/*/programs/*/sender/stdout.txt")
    }
    return Ran(out, said)


def summary(ran: Ran) -> dict[str, Any]:
    """Return the summary of a scenario with one run."""
    [path] = ran.out.glob("runs/*/summary.json")
    measured: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return measured


@pytest.fixture
def listeners() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Open a UDP and a TCP socket on this machine as targets."""
    with ExitStack() as stack:
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        tcp = stack.enter_context(socket.socket())
        for one in (udp, tcp):
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)
        tcp.listen()
        yield udp, tcp


@pytest.mark.usefixtures("kernel_kit")
def test_files_and_the_network_of_this_machine_are_not_there(
    hostile: Path, tmp_path: Path, listeners: tuple[socket.socket, socket.socket]
) -> None:
    udp, tcp = listeners
    secret = tmp_path / "secret"
    secret.write_text("a secret of this machine")
    outside = tmp_path / "outside"
    binary = (hostile / "hostile").read_bytes()
    ran = run(
        hostile,
        entry("read", secret, "/etc/passwd", Path.home(), "/home", "/../../..", "/proc/1/root"),
        entry("send", "127.0.0.1", udp.getsockname()[1], "127.0.0.1", tcp.getsockname()[1]),
        entry("write", outside, "/files/hostile", "/usr/bin/mine", "/proc/sys/kernel/hostname"),
        entry("devices"),
    )
    read = ran.said["read"]
    assert "a secret of this machine" not in read
    assert f"hostile: {secret} -2" in read
    # The guest has its own file of users, with different content.
    assert "/etc/passwd holds root:x:0:0:" in read
    mine = Path("/etc/passwd").read_text(encoding="utf-8")
    assert mine.splitlines()[1] not in read
    at_home = {one.name for one in Path.home().iterdir()} - {".cache"}
    seen = set(re.findall(rf"^hostile: {re.escape(str(Path.home()))} has (.*)$", read, re.M))
    assert not seen & at_home
    top = set(re.findall(r"^hostile: /\.\./\.\./\.\. has (.*)$", read, re.MULTILINE))
    # Even a path with many ".." ends at the guest's own root.
    assert {"files", "work", "out", "usr"} <= top
    assert not top & ({one.name for one in Path("/").iterdir()} - OWN)
    for one in listeners:
        with pytest.raises(BlockingIOError):
            one.recv(1) if one is udp else one.accept()
    written = ran.results("write")
    assert written[str(outside)] < 0 or not outside.exists()
    assert written["/files/hostile"] == written["/usr/bin/mine"] == -30
    assert written["/proc/sys/kernel/hostname"] < 0
    assert not outside.exists()
    assert (hostile / "hostile").read_bytes() == binary
    devices = ran.results("devices")
    assert {name for name, result in devices.items() if result >= 0} == set()
    assert len(devices) == 7


OWN = {
    *("bin", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp"),
    *("usr", "var", ".", "..", "files", "work", "out"),
}
"""Entries that every root file system has, including the root of this machine."""


@pytest.mark.usefixtures("kernel_kit")
def test_nobody_sends_in_the_name_of_another(hostile: Path) -> None:
    flow = '[[flows]]\ncc = "reno"\n'
    quiet = entry("quiet")
    alone = summary(run(hostile, flow, quiet))
    with pytest.warns(ScenarioWarning, match=r'"spoof": \d+ frames .* were dropped before') as told:
        ran = run(hostile, flow, entry("spoof", "10.1.0.1", "10.2.0.1", "fd00:4::1", "fd00:3::99"))
    tried = ran.results("spoof")
    # With its rights, the program can send frames between the flow's hosts, packets with a false
    # address, and packets on paths without a route. Every device drops them.
    assert tried["frames"] == 1000
    [number] = (re.search(r'"spoof": (\d+) frames', str(one.message)) for one in told)
    assert number is not None
    sent = [tried[way] for way in ("frames", "borrowed", "reached", "around")]
    assert int(number[1]) == sum(sent) == 1300
    beside = summary(ran)
    [mine], [other] = beside["flows"], alone["flows"]
    for what in ("throughput_mbit", "retransmits", "drops", "packets"):
        assert mine[what] == other[what] > 0
    # The program's system calls take time, which shifts the phase of the guest's clock. RTTs may
    # therefore differ slightly.
    assert mine["rtt_ms"]["mean"] == pytest.approx(other["rtt_ms"]["mean"], rel=1e-4)
    assert beside["queue"]["packets"] == alone["queue"]["packets"]
    assert beside["programs"][0]["packets"] == 0


@pytest.mark.usefixtures("kernel_kit")
def test_disk_and_processes_of_a_program_are_few(hostile: Path) -> None:
    with pytest.warns(ScenarioWarning, match=r'program "hostile" made \d+ calls while no process'):
        ran = run(hostile, entry("fill", "/work"), entry("processes"))
    filled = ran.results("fill")
    assert 100 < filled["mib"] <= 512
    assert 1000 < filled["files"] <= 110_000
    assert 10 < ran.results("processes")["processes"] <= 512
    written = sum(path.stat().st_size for path in ran.out.rglob("*") if path.is_file())
    assert written < 10 << 20


@pytest.mark.usefixtures("kernel_kit")
def test_who_forks_for_ever_and_wants_to_survive_ends_with_the_run(hostile: Path) -> None:
    before = set(os.listdir("/proc"))
    run(hostile, entry("forks"), entry("survive"))
    # Look for any new process with this name, inside or outside guests.
    left = [
        number
        for number in set(os.listdir("/proc")) - before
        if number.isdecimal() and b"hostile" in _words(number)
    ]
    assert left == []


@pytest.mark.usefixtures("kernel_kit")
def test_who_takes_all_memory_takes_the_guests(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_GUEST_MIB", "256")
    with pytest.raises(RunsFailed, match=r"memory|signal|status|ended"):
        run(hostile, entry("memory"))


def test_a_program_is_not_run_where_a_wall_is_missing(
    hostile: Path, kernel_kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = confine.Walls({"landlock": "Function not implemented"})
    monkeypatch.setitem(confine._found, kernel_kit.launcher, missing)
    with pytest.raises(InputError, match=r"Landlock .*--trust-programs"):
        run(hostile, entry("devices"))


def _words(number: str) -> bytes:
    try:
        return Path("/proc", number, "cmdline").read_bytes()
    except OSError:
        return b""
