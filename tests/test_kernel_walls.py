"""Tests the confinement of a guest's process on this machine.

The probes (tests/modules/probes) are system calls with which code could try to escape. A program
makes them under the launcher, and a kernel module makes them in a guest."""

from __future__ import annotations

import contextlib
import errno
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, ROOT, SCENARIO, guests, wait_for
from tailback.errors import RunsFailed, ScenarioWarning
from tailback.kernel import confine, console, guest
from tailback.kernel import kit as kits
from tailback.kernel.kit import Kit

MIB = 64
LIMITS = {
    # A process may use as much memory as the guest, plus the memory that the launcher allows in
    # addition.
    "memory-mib": MIB + confine.SPARE_MIB,
    "file-gib": 16,
    "processes": 512,
}
"""The largest amount of a resource that a probe may get. Probes of limited resources report how
much they got."""

PROBES = 54
"""The number of probes that do not report an amount. All of these probes must fail."""


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """Compile the launcher, the probes and a program that disables individual confinements. The
    folder is open to all users.
    """
    folder = Path(tempfile.mkdtemp(prefix="tailback-walls-", dir="/var/tmp"))
    folder.chmod(0o755)
    here = ROOT / "python/tailback/kernel"
    sources = [here / text for text in kits.PROGRAMS[kits.LAUNCHER] if text.endswith(".c")]
    for words in (
        [*sources, "-o", folder / "launch"],
        [ROOT / "tests/modules/probes/plain.c", "-static", "-o", folder / "plain"],
        [ROOT / "tests/walls/without.c", "-o", folder / "without"],
    ):
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", *map(str, words)]
        subprocess.run(command, check=True)
    yield folder
    shutil.rmtree(folder)


@dataclass
class Machine:
    """The targets that the probes try to reach: files, sockets, memory, a terminal, a process."""

    folder: Path
    victim: subprocess.Popen[bytes]
    udp: socket.socket
    shared: Path
    terminal: int
    words: list[str]
    """The arguments of the probes, in the order of plain.c."""

    def is_untouched(self) -> None:
        """Check that no probe reached any of these targets."""
        assert self.victim.poll() is None
        assert self.shared.read_text() == "theirs"
        assert not (self.folder / "outside").exists()
        assert not Path("/mine").exists()
        assert (self.folder / "kit/init").read_text() == ""
        with pytest.raises(BlockingIOError):
            self.udp.recv(1)
        os.set_blocking(self.terminal, False)
        with pytest.raises(BlockingIOError):
            os.read(self.terminal, 1)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Make the targets. The user that runs the probes owns these targets."""
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="tailback-walls-", dir="/var/tmp"))
        stack.callback(shutil.rmtree, folder)
        folder.chmod(0o777)
        for name in ("work", "work/results", "kit"):
            (folder / name).mkdir()
            (folder / name).chmod(0o777)
        (folder / "kit/init").touch()
        (folder / "kit/init").chmod(0o666)
        (folder / "secret").write_text("seen")
        path = stack.enter_context(socket.socket(socket.AF_UNIX))
        path.bind(str(folder / "socket"))
        path.listen()
        (folder / "socket").chmod(0o777)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{folder.name}")
        abstract.listen()
        tcp = stack.enter_context(socket.socket())
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        shared = Path("/dev/shm") / folder.name
        shared.write_text("theirs")
        stack.callback(shared.unlink, missing_ok=True)
        ours, theirs = pty.openpty()
        stack.callback(os.close, ours)
        stack.callback(os.close, theirs)
        victim = subprocess.Popen(["sleep", "600"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        words = [
            *(folder / "secret", folder / "outside", folder / "kit/init"),
            *(folder / "work/results", folder / "socket", folder.name, shared),
            *(os.ttyname(theirs), victim.pid, tcp.getsockname()[1], udp.getsockname()[1]),
        ]
        yield Machine(folder, victim, udp, shared, ours, list(map(str, words)))


def launch(
    programs: Path,
    machine: Machine,
    without: list[str],
    confined: str,
    user: int | None,
    mode: str = "seccomp",
) -> tuple[int, str]:
    """Run the probes under the launcher. Return the launcher's exit status and output."""
    words: list[object] = [programs / "launch", os.getpid(), MIB, confined, mode]
    words += ["-r", machine.folder / "kit"]
    words += ["-x", programs / "plain", "-w", machine.folder / "work", "--", programs / "plain"]
    if without:
        words = [programs / "without", *without, "--", *words]
    said = machine.folder / "said"
    with said.open("w") as file:
        child = subprocess.Popen(
            [str(word) for word in (*words, *machine.words)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        status = child.wait(60)
        # Kill the whole process group, as tailback does. Without a PID namespace, the launcher's
        # descendants would survive.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return status, said.read_text()


def judged(said: str) -> tuple[dict[str, str], dict[str, int]]:
    """Return the result of every probe, and the amount of each resource that a probe got."""
    found = {name: int(value) for name, value in re.findall(r"probe: (\S+) (-?\d+)", said)}
    amounts = {name: found.pop(name) for name in LIMITS if name in found}
    shown = {n: errno.errorcode[-v] if v < 0 else f"done ({v})" for n, v in found.items()}
    for name, value in {**shown, **amounts}.items():
        print(f"{name:18} {value}")
    return shown, amounts


def refused(said: str, *, processes: bool = True) -> None:
    """Check that every probe failed, and that limited resources are within their limits."""
    shown, amounts = judged(said)
    assert len(shown) == PROBES
    assert [name for name, value in shown.items() if value.startswith("done")] == []
    assert amounts.keys() == LIMITS.keys()
    for name, amount in amounts.items():
        if name != "processes" or processes:
            assert 0 < amount <= LIMITS[name], name


def counts_processes() -> bool:
    """Return whether this machine limits how many processes root may have in a namespace."""
    major, minor = map(int, re.findall(r"\d+", os.uname().release)[:2])
    return os.geteuid() != 0 or (major, minor) >= (6, 14)


def sleepers(programs: Path) -> list[str]:
    """Return processes of the probes that still exist."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if line.read_bytes().startswith(bytes(programs / "plain") + b"\0"):
                found.append(line.parent.name)
    return found


@pytest.mark.parametrize("mode", ["seccomp", "ptrace"])
@pytest.mark.parametrize("without", [[], ["landlock"], ["namespaces"]])
def test_nothing_of_the_machine_is_reached(
    programs: Path, machine: Machine, without: list[str], mode: str
) -> None:
    """Landlock must confine file access without namespaces, and namespaces must confine it without
    Landlock. The system call filter must also work if it allows ptrace.
    """
    status, said = launch(programs, machine, without, "confined", None, mode)
    assert status == 0, said
    walls = confine.Walls.parse(said.splitlines()[0])
    expected = {
        "landlock": {"landlock", "scopes"},
        "namespaces": {"user", "mount", "pid", "ipc", "uts", "net"},
    }
    assert walls.missing.keys() == set().union(*(expected[name] for name in without))
    assert (walls.warning is None) == (not without)
    # Without namespaces, there is no limit on the number of root's processes.
    refused(said, processes="namespaces" not in without and counts_processes())
    machine.is_untouched()
    wait_for(lambda: sleepers(programs) == [])


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as a user already")
def test_nothing_is_reached_as_another_user_either(programs: Path, machine: Machine) -> None:
    nobody = 65534
    machine.shared.chmod(0o666)
    status, said = launch(programs, machine, [], "confined", nobody)
    assert status == 0, said
    assert confine.Walls.parse(said.splitlines()[0]).missing == {}
    refused(said)
    machine.is_untouched()


def test_without_any_wall_nothing_is_started(programs: Path, machine: Machine) -> None:
    status, said = launch(programs, machine, ["landlock", "namespaces"], "confined", None)
    assert status == confine.UNCONFINED
    assert len(said.splitlines()) == 1
    # The system call filter and the limits remain, because every machine supports them.
    status, said = launch(programs, machine, ["landlock", "namespaces"], "unconfined", None)
    assert status == 0
    shown, _ = judged(said)
    assert shown["read-secret"].startswith("done")
    assert shown["udp"] == shown["unix-path"] == shown["ptrace"] == "ENOSYS"
    for path in ("/mine", "/dev/shm/tailback-probe"):
        Path(path).unlink(missing_ok=True)


def test_a_module_in_a_guest_reaches_nothing(
    own_kit: Kit, machine: Machine, tmp_path: Path
) -> None:
    names = ["secret", "outside", "kit", "results", "socket", "abstract", "shared", "terminal"]
    names += ["victim", "tcp", "udp"]
    workplace = tmp_path / "work"
    workplace.mkdir()
    words = dict(zip(names, machine.words, strict=True))
    words |= {"kit": str(own_kit.root / "init"), "results": str(workplace / "results")}
    parameters = " ".join(f"{name}={value}" for name, value in words.items())
    agent = (
        "#!/usr/bin/busybox sh\n"
        f"/usr/bin/busybox insmod /extra/probes/probes.ko {parameters}\n"
        "echo tailback: done\n"
        "/usr/bin/busybox poweroff -f\n"
    )
    lines: list[str] = []
    take = console.Console.line

    def listen(of: console.Console, text: str) -> None:
        lines.append(text)
        take(of, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console.Console, "line", listen)
        finished = guest.run(
            own_kit,
            agent.encode(),
            workplace,
            job="{}",
            seed=1,
            duration_ns=1,
            cancelled=lambda: False,
            progress=lambda _: None,
            memory_mib=MIB,
        )
    assert finished.walls.missing == {}
    refused("\n".join(lines), processes=counts_processes())
    machine.is_untouched()
    # A program has started a process that tries to outlive the run. This process has ended, too.
    wait_for(lambda: guests(tmp_path) == [])


# --- machines without confinement ----------------------------------------------


def run_without(
    programs: Path, folder: Path, without: list[str], *args: str
) -> subprocess.CompletedProcess[str]:
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    words = [programs / "without", *without, "--", *COMMAND, "run", "scenario.toml"]
    words += ["--engine", "kernel", "--json", *args]
    return subprocess.run(
        list(map(str, words)), cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.usefixtures("kernel_kit")
def test_what_a_machine_lacks_is_said_and_recorded(programs: Path, tmp_path: Path) -> None:
    done = run_without(programs, tmp_path, ["landlock"])
    assert done.returncode == 0, done.stderr
    assert "warning: this machine does not support Landlock (Function not" in done.stderr
    [manifest] = tmp_path.glob("results/runs/*/manifest.json")
    assert '"landlock": "Function not implemented"' in manifest.read_text(encoding="utf-8")


@pytest.mark.usefixtures("kernel_kit")
def test_without_walls_the_user_has_to_say_so(programs: Path, tmp_path: Path) -> None:
    neither = ["landlock", "namespaces"]
    done = run_without(programs, tmp_path, neither)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {confine.REFUSED}\n".replace("; use", "\n  use")
    assert list(tmp_path.glob("results/runs/*")) == []
    done = run_without(programs, tmp_path, neither, "--unconfined")
    assert done.returncode == 0, done.stderr
    assert "a mount namespace (Operation not permitted)" in done.stderr


# --- processes end with their parent, and pauses -------------------------------

LONG = SCENARIO.replace('duration = "2s"', 'duration = "100000s"')


def everything_of(folder: Path) -> list[int]:
    """Return all processes with arguments or files in a folder. These processes are launchers,
    kernels and programs of guests."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes()
            maps = (process / "maps").read_text() if b"uml-userspace" in words else ""
            if bytes(folder) in words or "memfd:guest" in maps:
                found.append(int(process.name))
    return found


@pytest.mark.usefixtures("kernel_kit")
@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.3])
def test_nothing_outlives_a_killed_parent(tmp_path: Path, delay_s: float) -> None:
    """If the parent process is killed while guests start or run, no process of the guests may
    survive."""
    file = tmp_path / "long.toml"
    file.write_text(LONG, encoding="utf-8")
    ours = subprocess.Popen(
        [*COMMAND, "run", str(file), "--engine", "kernel", "--seeds", "2", "--jobs", "2"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: len(everything_of(tmp_path)) > 1)
        time.sleep(delay_s)
    finally:
        ours.kill()
        ours.wait()
    wait_for(lambda: everything_of(tmp_path) == [], 10)


PAUSED = """\
import os, signal, sys, threading, time
import tailback as tb

def pause():
    time.sleep(float(sys.argv[1]))
    # Another process has to wake this one.
    if os.fork() == 0:
        time.sleep(3)
        os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGSTOP)

threading.Thread(target=pause).start()
[run] = tb.run(open("scenario.toml").read(), engine="kernel", out="out")
print(run.summary["duration_s"])
"""


@pytest.mark.usefixtures("kernel_kit")
def test_a_pause_of_ours_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest ends during the pause, and its output is complete afterwards."""
    monkeypatch.setenv("TAILBACK_STALL_S", "2")
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PAUSED, "0.15"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr


def test_a_console_that_is_read_late_is_read_whole() -> None:
    """If a program's output is read only after the program has ended, it must still be complete."""
    child = subprocess.Popen(
        ["sh", "-c", "sleep 0.3; echo tailback: done; exec sleep 0.1"], stdout=subprocess.PIPE
    )
    heard = console.lines(child)
    assert next(heard)[0] is None
    child.wait()
    assert [line for line, _ in heard if line] == ["tailback: done"]


def test_time_in_which_we_were_stopped_is_not_the_guests(tmp_path: Path) -> None:
    del tmp_path
    said = console.Console(1, lambda _: None)
    said.waited(0.2)
    said.waited(3600.0)
    assert said.quiet_s == pytest.approx(1.2)
    said.line("tailback: at 5")
    assert said.quiet_s == 0.0


# --- warnings of a kernel -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "warns", "fails"),
    [
        ("WARNING: net/sched/sch_codel.c:12 at codel_init+0x1/0x2, CPU#0: tc/7", True, False),
        ("WARNING: possible circular locking dependency detected", True, False),
        ("WARNING: inconsistent lock state", True, False),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", True, False),
        ("UBSAN: shift-out-of-bounds in net/x.c:1:2", True, False),
        ("refcount_t: underflow; use-after-free.", True, False),
        ("unregister_netdevice: waiting for v0 to become free. Usage count = 2", True, False),
        ("BUG: KASAN: slab-out-of-bounds in x", False, True),
        ("BUG: scheduling while atomic: swapper/0/0x100", False, True),
        ("kernel BUG at net/x.c:3!", False, True),
        ("Oops: general protection fault", False, True),
        ("tailback: done", False, False),
        ("tcp_own: loading out-of-tree module taints kernel.", False, False),
        ("DEBUG: 3 packets", False, False),
    ],
)
def test_a_kernels_complaints_are_told_apart(line: str, warns: bool, fails: bool) -> None:
    said = console.Console(1, lambda _: None)
    said.line(line)
    assert (bool(said.warnings), said.alarm is not None) == (warns, fails)


def test_warnings_are_counted_and_shown_as_text() -> None:
    said = console.Console(1, lambda _: None)
    for n in range(1000):
        said.line(f"WARNING: a.c:1 at f+0x{n:x}/0x20, CPU#{n}: tc/{n}")
        said.line(f"UBSAN: number {n}\x1b]0;title\x07")
    first, *others = said.warnings
    assert first == "kernel: WARNING: a.c:1 at f+0x0/0x20, CPU#0: tc/0 (1000 times)"
    assert others[0] == r"kernel: UBSAN: number 0\x1b]0;title\x07"
    assert len(others) < 10
    # The kernel's taint flags show a warning even if its message was lost.
    for bits, warned, alarm in ((1 << 12, 0, False), (1 << 9, 1, False), (1 << 7, 0, True)):
        said = console.Console(1, lambda _: None)
        said.line(f"tailback: tainted {bits}")
        assert (len(said.warnings), said.alarm is not None) == (warned, alarm)


NASTY = SCENARIO.replace('"cubic"', '{ name = "NAME", kernel = true, module = "own" }')


@pytest.mark.usefixtures("own_kit")
def test_a_kernel_that_warns_warns_of_its_run(tmp_path: Path) -> None:
    with pytest.warns(ScenarioWarning, match=r"kernel: WARNING: .*tcp_nasty.c:\d+ at ") as w:
        [run] = tb.run(NASTY.replace("NAME", "warns"), engine="kernel", out=tmp_path)
    assert run.run_id in str(w[0].message)
    [warning] = run.manifest["environment"]["warnings"]
    assert warning in str(w[0].message)


@pytest.mark.usefixtures("own_kit")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bugs", "the guest's kernel failed: BUG: failure at .*tcp_nasty.c"),
        # If the kernel reports a bug, the run must fail, even if the guest ends as usual.
        ("says_bug", "the guest's kernel failed: BUG: KASAN"),
        ("halts", "the guest ended early"),
        ("lies", "the files that the guest left are not a result"),
    ],
)
def test_a_kernel_that_fails_fails_its_run(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(RunsFailed, match=message):
        tb.run(NASTY.replace("NAME", name), engine="kernel", out=tmp_path)
    assert [p for p in (tmp_path / "runs").glob("*") if not p.name.startswith(".")] == []
