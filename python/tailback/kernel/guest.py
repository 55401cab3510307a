"""Boots the kernel as a process of this machine and watches it.

The guest sees the kit's root (read-only), the folder of its job and the folder
of its results: `hostfs=` confines every mount of the machine's files to the
workplace of the run. It has no network. Time in it is virtual, unless the run
asks for the machine's clock, and its random numbers follow from the seed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
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

SAYS = "tailback: "


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
    done: bool = False
    moved_at: float = 0.0

    def line(self, text: str) -> None:
        """Takes a line."""
        if not text.startswith(SAYS):
            if text.strip():
                self.last.append(text)
            return
        word, _, rest = text.removeprefix(SAYS).partition(" ")
        if word in ("start", "at"):
            self.moved_at = time.monotonic()
        if word == "at":
            self.progress(min(1.0, int(rest) / max(1, self.duration_ns)))
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
        place = stack.enter_context(_plain(workplace.resolve()))
        words = command(kit, place, memory_mib, clock)
        child = _start(words, workplace, environment(kit, seed, memory_mib))
        stack.callback(_end, child)
        for line in _lines(child):
            if line is not None:
                console.line(line)
            if cancelled():
                raise Cancelled
            if time.monotonic() - console.moved_at > stall_s:
                raise GuestFailed(
                    _failure(f"the guest made no progress for {stall_s:.0f} s", console)
                )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if console.error is not None:
        raise GuestFailed(console.error)
    if not console.done:
        raise GuestFailed(_failure(f"the guest ended early (status {child.returncode})", console))
    return Finished(
        wall_s=time.monotonic() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_bytes=usage.ru_maxrss * 1024,
    )


@contextlib.contextmanager
def _plain(workplace: Path) -> Iterator[Path]:
    """A path of the workplace that can stand on the boot line, which has no quotes."""
    if re.fullmatch(r"[\w./+:@=~-]+", str(workplace), re.ASCII):
        yield workplace
        return
    with tempfile.TemporaryDirectory(prefix="tailback-") as folder:
        link = Path(folder) / "run"
        link.symlink_to(workplace)
        yield link


def command(kit: Kit, place: Path, memory_mib: int, clock: Clock = "virtual") -> list[str]:
    """The boot line."""
    travel = ["time-travel=inf-cpu", f"time-travel-start={EPOCH_S}"]
    boot = [
        str(kit.linux.resolve()),
        f"mem={memory_mib}M",
        "rootfstype=hostfs",
        f"hostfs={place}",
        "rootflags=/root",
        "ro",
        "init=/init",
        *(travel if clock == "virtual" else ()),
        "seccomp=on",
        "con=null",
        "con0=fd:0,fd:1",
        f"uml_dir={place}",
        "umid=uml",
        "panic=-1",
        "quiet",
        "norandmaps",
    ]
    # The guest must not outlive us, whatever ends us.
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
                yield None
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
    if rest:
        yield rest.decode(errors="replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the guest with all its processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if child.returncode is None:
        child.wait()


def _failure(what: str, console: Console) -> str:
    shown = "\n".join(f"    {line}" for line in console.last)
    return f"{what}; its console ends with\n{shown}" if shown else what
