"""Boots the kernel as a process of this machine and watches it.

The guest sees only its own root file system (read-only), the folder with its job, and
the folder for its results. The kernel option `hostfs=` limits mounts of this machine's files to the
run's folder, called its workplace. The launcher denies the kernel access to all other files
(confine.py). The guest's time is virtual, but in runs of the engine `kernel-realtime` it is the
time of the machine's clock. The seed determines the guest's random numbers.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailback.base.foreign import shown
from tailback.errors import Cancelled, GuestFailed, InputError
from tailback.kernel import confine, core, releases
from tailback.kernel.console import Console, has_ended, lines
from tailback.kernel.kit import Kit
from tailback.kernel.programs import said
from tailback.kernel.programs.places import FOLDER, Places

Clock = Literal["virtual", "real"]
"""The clock of a guest: virtual time, which stops while the guest computes, or the machine's
clock."""

MEMORY_MIB = 2048
"""Memory of a guest, in MiB. The machine provides only the pages that the guest touches."""

STALL_S = 120.0
"""If virtual time does not advance for this wall time, in seconds, the guest counts as hung."""

START_NS = 1_700_000_000
"""Start of a guest's clock, in ns since 1970. This time is fixed, so that two runs with the same
seed see the same times. Only programs read the date.
"""

PROGRAM_WORDS = ("tt-vdso=64", "tt-spin=1000,2000,1000", "tt-counter=1")
"""Words on the kernel's command line for guests with programs.

After 64 consecutive readings of the clock, each further reading takes 2 us. After 1000 calls
without waiting, each further call also takes 2 us. A program that uses a processor for 1 s is
interrupted. The processor's counter shows virtual time to programs.
"""

END_S = 10.0
"""Seconds of wall time within which a kernel must end after it has closed its console. Also the
time within which the guest's processes must end after they were killed."""

MEMORY = re.compile(r"memory|oom", re.IGNORECASE)

WRITTEN_BYTES = 16 << 30
"""How many bytes a guest may write to this machine's disk."""

WRITTEN_FILES = 1000
"""How many files a guest may create."""

LOOK_S = 1.0
"""Seconds of real time between two checks of the files of a guest."""

HERE = "/proc/self/cwd"
"""The path of the workplace as the kernel's process sees it. The path is the same in every run, and
has no character that is special on the kernel's command line.
"""


@dataclass(frozen=True)
class Finished:
    """The time and memory that a guest used, and the warnings of its kernel."""

    wall_s: float
    cpu_s: float
    memory_bytes: int
    warnings: list[str]
    """Warnings that the guest's kernel printed."""
    walls: confine.Walls
    """The layers of isolation between the guest and the rest of this machine."""


def run(
    kit: Kit,
    agent: Path | bytes,
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
    places: Places | None = None,
) -> Finished:
    """Boot a guest that runs a job in its own workplace. The guest leaves its results in
    `workplace / "results"`.

    `agent` is the program that the guest runs as its first process, or its path. `places` maps
    files of this machine into the guest, for the programs of the scenario. Raises `GuestFailed`,
    with the last lines of the console, if the guest fails. Raises `InputError` if this machine
    cannot protect its files from the guest, and `Cancelled` if the run is cancelled. Every process
    of the guest has ended when the function returns.
    """
    for name in ("job", "results"):
        (workplace / name).mkdir()
    (workplace / "root").symlink_to(kit.root.resolve())
    (workplace / "extra").symlink_to((kit.path / "modules").resolve())
    (workplace / "job/job.json").write_text(job, encoding="utf-8")
    if places is not None:
        places.make(workplace)
    program = workplace / "job/agent"
    program.write_bytes(agent if isinstance(agent, bytes) else agent.read_bytes())
    program.chmod(0o755)
    console = Console(duration_ns, progress)
    began = looked = time.monotonic()
    with contextlib.ExitStack() as stack:
        words = command(kit, workplace, memory_mib, seed, clock, places)
        with core.on(stack.enter_context(core.reserved())):
            child = _start(words, workplace, environment(kit, seed))
        stack.callback(_end, child)
        for line, waited in lines(child):
            console.waited(waited)
            if line is not None:
                console.line(line)
            if cancelled():
                raise Cancelled
            if console.quiet_s > stall_s:
                why = said.hung(console.programs, kit) if places is not None else ""
                raise GuestFailed(_failure(_stalled(stall_s, console) + why, console))
            if time.monotonic() - looked > LOOK_S:
                _check_written(workplace)
                looked = time.monotonic()
        usage = _wait(child)
    if console.walls is None:
        raise GuestFailed(_failure(console.error or "the guest could not be started", console))
    if console.walls.refused:
        raise InputError(confine.REFUSED)
    if console.error is not None:
        raise GuestFailed(console.error)
    if not console.done or console.alarm is not None:
        what = _early_end(child.returncode, console, memory_mib)
        raise GuestFailed(_failure(what, console))
    _check_written(workplace)
    return Finished(
        wall_s=time.monotonic() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_bytes=usage.ru_maxrss * 1024,
        warnings=console.warnings + (said.of_kit(kit) if places is not None else []),
        walls=console.walls,
    )


def command(
    kit: Kit,
    workplace: Path,
    memory_mib: int,
    seed: int,
    clock: Clock = "virtual",
    places: Places | None = None,
) -> list[str]:
    """Return the command that starts the kernel, as a process in `workplace`."""
    boot = boot_words(kit, memory_mib, seed, clock, places)
    readable = places.links().values() if places is not None else ()
    return confine.command(kit, workplace, memory_mib, boot, readable)


def boot_words(
    kit: Kit, memory_mib: int, seed: int, clock: Clock, places: Places | None = None
) -> list[str]:
    """Return the words of the kernel's command line."""
    start_ns = places.start_ns if places is not None else START_NS
    travel = ["time-travel=inf-cpu", f"time-travel-start={start_ns}"]
    if places is not None and kit.lets_time_pass:
        travel += PROGRAM_WORDS
    release = releases.of(kit.version)
    # Without this option, every kernel traces its processes with ptrace.
    mode = ["seccomp=on"] if release >= releases.SECCOMP else []
    # Without this option, User-mode Linux expects a block device for the root file system, and
    # older kernels search for this device.
    root = ["root=hostfs"] if release < releases.ROOT_WITHOUT_DEVICE else []
    # The kernel's random_init() mixes the command line into its random pool. The word TAILBACK_SEED
    # therefore seeds the random pool of releases before `HOST_RANDOM`, which take no entropy from
    # this machine.
    seeded = [f"TAILBACK_SEED={seed}"] if release < releases.HOST_RANDOM else []
    return [
        str(kit.linux.resolve()),
        f"mem={memory_mib}M",
        *root,
        "rootfstype=hostfs",
        f"hostfs={HERE}",
        "rootflags=/root",
        "ro",
        "init=/init",
        *(travel if clock == "virtual" else ()),
        *mode,
        "con=null",
        "con0=fd:0,fd:1",
        "uml_dir=.",
        "umid=uml",
        "panic=-1",
        "quiet",
        "norandmaps",
        *seeded,
    ]


def environment(kit: Kit, seed: int) -> dict[str, str]:
    """Return the environment of the kernel's process. The environment contains only a few fixed
    variables, because inherited variables could change a run.
    """
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C",
        "TAILBACK_SEED": str(seed),
        "LD_PRELOAD": str(kit.library.resolve()),
        # The kernel looks for a folder for its memory file, and checks this path first. The kernel
        # never writes to this path, because the launcher passes it an open memory file.
        "TMPDIR": "/",
    }


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


def _check_written(workplace: Path) -> None:
    """Raise an error if a guest fills the disk, or creates anything except files and folders."""
    size = count = 0
    places = str(workplace / FOLDER)
    for base, folders, files in os.walk(workplace):
        # tailback itself made the links in the workplace and in the workplace's folder of mounted
        # files. Links anywhere else are an error.
        for name in (*files, *(folders if base != str(workplace) else ())):
            try:
                status = os.lstat(os.path.join(base, name))
            except FileNotFoundError:
                continue
            if base == places and stat.S_ISLNK(status.st_mode):
                continue
            count += 1
            size += status.st_blocks * 512
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise GuestFailed(
                    f"the guest left something that is not a file: {shown(name)}; "
                    "remove it at the end of the program"
                )
    if size > WRITTEN_BYTES or count > WRITTEN_FILES:
        raise GuestFailed(
            f"the guest wrote {size >> 20} MiB in {count} files; "
            f"expected at most {WRITTEN_BYTES >> 20} MiB and {WRITTEN_FILES} files"
        )


def _wait(child: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for a guest that has closed its console. Return the resources that the guest used."""
    late = time.monotonic() + END_S
    while not has_ended(child) and time.monotonic() < late:
        time.sleep(0.001)
    return _kill(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the guest with all its processes, unless it was already reaped."""
    if child.returncode is None:
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Kill the guest with all its processes, and wait until all of them have ended. Return the
    resources that the guest used."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    # Other processes of the guest's process group may end later than the kernel. Only the parents
    # of these processes can wait for them, so poll until no process of the group is running.
    late, pause = time.monotonic() + END_S, 0.001
    while _is_running(child.pid) and time.monotonic() < late:
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    return usage


def _is_running(group: int) -> bool:
    """Return whether a process of a group is running. Zombies do not count as running, because
    their new parent may never reap them.
    """
    with contextlib.suppress(PermissionError):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of the program is in parentheses, and may contain any character.
            state, _, number = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(number) == group and state not in "ZX":
                return True
    return False


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
    last = "\n".join(f"    {line}" for line in console.last)
    return f"{what}; its console ends with\n{last}" if last else what
