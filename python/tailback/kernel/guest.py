"""Boots the kernel as a process of this machine and watches it.

The guest sees the kit's root (read-only), the folder of its job and the folder
of its results: `hostfs=` makes every mount of the machine's files one below the
workplace of the run, and the launcher keeps the kernel's process itself from
opening anything else (launch.c says how). It has no network. Time in it is
virtual, unless the run asks for the machine's clock, and its random numbers
follow from the seed.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailback.errors import Cancelled, GuestFailed
from tailback.kernel.kit import Kit

Clock = Literal["virtual", "real"]
"""Virtual time, which stands still while the guest works, or the machine's."""

MEMORY_MIB = 2048
"""Memory of a guest; only what it touches is taken from the machine."""

STALL_S = 120.0
"""Wall time without progress of virtual time after which a guest is taken for hung."""

EPOCH_S = 1_700_000_000
"""Where a guest's clock starts, so that two runs of a seed see the same times."""

TAIL = 40
"""Lines of the console that an error shows."""

LONGEST_LINE = 1 << 16
"""Bytes of the console without a line break that are taken for a line."""

END_S = 10.0
"""Wall time that a kernel has for ending after the last of its console."""

SAYS = "tailback: "

ALARM = re.compile(r"Kernel panic|Out of memory|invoked oom-killer|\bBUG:|\bOops\b")
"""What a kernel in trouble says first; the lines before its end are a trace of the stack."""

MEMORY = re.compile(r"memory|oom", re.IGNORECASE)

DOUBTFUL = re.compile(r"\s*\[<[0-9a-f]+>\] \? ")
"""Lines of such a trace that are whatever lay on the stack."""

HERE = "/proc/self/cwd"
"""The workplace as the kernel's process sees it: the same in every run, and without a
character that the boot line would take for its own."""

READABLE = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/etc/ld.so.cache",
    "/proc/self",
    "/proc/cpuinfo",
    "/sys/devices/system/cpu",
)
WRITABLE = ("/dev/null", "/dev/shm", "/dev/ptmx", "/dev/pts")
"""What the kernel's process needs of this machine: libraries, what it asks of the processor,
memory, and a pseudo-terminal on which it tries signals."""


@dataclass(frozen=True)
class Finished:
    """What a guest cost."""

    wall_s: float
    cpu_s: float
    memory_bytes: int


@dataclass
class Console:
    """What the guest has printed, as far as it matters."""

    duration_ns: int
    progress: Callable[[float], None]
    last: deque[str]
    error: str | None = None
    alarm: str | None = None
    done: bool = False
    at_ns: int | None = None
    moved_at: float = 0.0

    def line(self, text: str) -> None:
        """Takes a line."""
        if not text.startswith(SAYS):
            if text.strip() and not DOUBTFUL.match(text):
                self.last.append(text)
                if self.alarm is None and ALARM.search(text):
                    self.alarm = text.strip()
            return
        word, _, rest = text.removeprefix(SAYS).partition(" ")
        if word in ("start", "at"):
            self.moved_at = time.monotonic()
        if word == "at" and rest.isdecimal():
            self.at_ns = int(rest)
            self.progress(min(1.0, self.at_ns / max(1, self.duration_ns)))
        elif word == "error":
            self.error = rest.replace("\\n", "\n")
        elif word == "done":
            self.done = True


def run(
    kit: Kit,
    agent: Path,
    workplace: Path,
    *,
    job: str,
    seed: int,
    duration_ns: int,
    cancelled: Callable[[], bool],
    progress: Callable[[float], None],
    clock: Clock = "virtual",
    memory_mib: int = MEMORY_MIB,
    stall_s: float = STALL_S,
) -> Finished:
    """Runs a job in a workplace of its own; its results are then in `workplace / "results"`.

    Raises `GuestFailed` with the last lines of the console, and `Cancelled`.
    Nothing it has started is left behind.
    """
    for name in ("job", "results"):
        (workplace / name).mkdir()
    (workplace / "root").symlink_to(kit.root.resolve())
    (workplace / "extra").symlink_to((kit.path / "modules").resolve())
    (workplace / "job/job.json").write_text(job, encoding="utf-8")
    shutil.copy2(agent, workplace / "job/agent")
    console = Console(duration_ns, progress, deque(maxlen=TAIL), moved_at=time.monotonic())
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        words = command(kit, workplace, memory_mib, clock)
        child = _start(words, workplace, environment(kit, seed, memory_mib))
        stack.callback(_end, child)
        for line in _lines(child):
            if line is not None:
                console.line(line)
            if cancelled():
                raise Cancelled
            if time.monotonic() - console.moved_at > stall_s:
                raise GuestFailed(_failure(_stalled(stall_s, console), console))
        usage = _wait(child)
    if console.error is not None:
        raise GuestFailed(console.error)
    if not console.done:
        what = _early_end(child.returncode, console, memory_mib)
        raise GuestFailed(_failure(what, console))
    return Finished(
        wall_s=time.monotonic() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_bytes=usage.ru_maxrss * 1024,
    )


def command(kit: Kit, workplace: Path, memory_mib: int, clock: Clock = "virtual") -> list[str]:
    """The boot line, for a process in its workplace."""
    travel = ["time-travel=inf-cpu", f"time-travel-start={EPOCH_S}"]
    boot = [
        str(kit.linux.resolve()),
        f"mem={memory_mib}M",
        "rootfstype=hostfs",
        f"hostfs={HERE}",
        "rootflags=/root",
        "ro",
        "init=/init",
        *(travel if clock == "virtual" else ()),
        "seccomp=on",
        "con=null",
        "con0=fd:0,fd:1",
        "uml_dir=.",
        "umid=uml",
        "panic=-1",
        "quiet",
        "norandmaps",
    ]
    # The guest must not outlive us, whatever ends us.
    if kit.launcher.exists():
        given = [kit.path.resolve(), kit.root.resolve(), kit.linux.resolve().parent]
        given += [(kit.path / "modules").resolve()]
        words = [word for path in (*READABLE, *given) for word in ("-r", str(path))]
        words += [word for path in (*WRITABLE, workplace.resolve()) for word in ("-w", str(path))]
        return [str(kit.launcher.resolve()), str(os.getpid()), *words, "--", *boot]
    # A kit from before there was a launcher.
    if setpriv := shutil.which("setpriv"):
        return [setpriv, "--pdeathsig", "KILL", *boot]
    return boot


def environment(kit: Kit, seed: int, memory_mib: int) -> dict[str, str]:
    """As little as possible: what the kernel's process sees of ours could change a run."""
    words = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TAILBACK_SEED": str(seed)}
    if kit.seed_library.exists():
        words["LD_PRELOAD"] = str(kit.seed_library.resolve())
    # The guest's memory is a file, in /dev/shm unless there is no room.
    shared = Path("/dev/shm")
    try:
        room = shutil.disk_usage(shared).free
    except OSError:
        room = 0
    if room < memory_mib << 20:
        words["TMPDIR"] = "."
    return words


def _start(
    words: Sequence[str], workplace: Path, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        cwd=workplace,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """Lines as they come, and None a few times a second."""
    assert child.stdout is not None
    rest = b""
    with child.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(0.2):
                if _ended(child):
                    # Something it has started holds the console.
                    break
                yield None
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE:
                whole, rest = [*whole, rest], b""
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
    if rest:
        yield rest.decode(errors="replace")


def _ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the process has ended; it is not waited for, so that its number stays its own."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(child: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Waits for a guest that has closed its console; gives what it used."""
    late = time.monotonic() + END_S
    while not _ended(child) and time.monotonic() < late:
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the guest with all its processes, if it has not been waited for."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _stalled(stall_s: float, console: Console) -> str:
    where = "before the run began" if console.at_ns is None else f"at {console.at_ns / 1e9:g} s"
    return f"the guest made no progress in virtual time for {stall_s:g} s, {where}"


def _early_end(status: int | None, console: Console, memory_mib: int) -> str:
    if console.alarm is not None:
        short = MEMORY.search(console.alarm)
        hint = f" (it has {memory_mib} MiB; TAILBACK_GUEST_MIB gives it more)" if short else ""
        return f"the guest's kernel failed: {console.alarm}{hint}"
    if status is not None and status < 0:
        with contextlib.suppress(ValueError):
            return f"the guest was ended by {signal.Signals(-status).name}"
    return f"the guest ended early (status {status})"


def _failure(what: str, console: Console) -> str:
    shown = "\n".join(f"    {line}" for line in console.last)
    return f"{what}; its console ends with\n{shown}" if shown else what
