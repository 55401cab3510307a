"""Turns reports of the guest's kernel about programs into warnings.

When the guest ends, its kernel reports how much virtual time each program used by polling or
computing. A program that computes without making system calls is reported immediately.
programs.patch adds these reports to the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tailback.kernel import patches
from tailback.kernel.kit import COMMAND, Kit

TOOK = re.compile(
    r'time-travel: "(.*)" took (\d+) ns, spins (\d+), call (-?\d+), interrupts (\d+), '
    r"counter (\d+)"
)
COMPUTES = re.compile(r'time-travel: "(.*)" computes without system calls')
SEEN = "time-travel: the processor's counter cannot be trapped"

SHARE = 0.01
"""A program gets a warning if it uses more than this share of a run's duration."""

SPINS = 10_000
"""A program gets a warning after this many calls that did not wait. A program makes fewer such
calls when it starts."""

READINGS = 1000
"""A program gets a warning after this many readings of the processor's counter. A program reads the
counter less often when it starts, because the dynamic linker reads the counter only ten times.
"""

CALLS = {
    **{0: "read", 1: "write", 3: "close", 7: "poll", 16: "ioctl", 20: "writev", 23: "select"},
    **{24: "sched_yield", 35: "nanosleep", 39: "getpid", 44: "sendto", 45: "recvfrom"},
    **{46: "sendmsg", 47: "recvmsg", 61: "wait4", 96: "gettimeofday", 110: "getppid"},
    **{186: "gettid", 201: "time", 202: "futex", 228: "clock_gettime", 230: "clock_nanosleep"},
    **{87: "unlink", 133: "mknod", 231: "exit_group", 232: "epoll_wait", 233: "epoll_ctl"},
    **{257: "openat", 262: "newfstatat", 270: "pselect6", 271: "ppoll"},
    **{281: "epoll_pwait", 299: "recvmmsg", 307: "sendmmsg", 309: "getcpu", 318: "getrandom"},
    **{426: "io_uring_enter", 441: "epoll_pwait2"},
}
"""System calls with which programs poll, by number (x86-64)."""


@dataclass(frozen=True)
class Account:
    """The virtual time that a program used by each activity, such as polling."""

    program: str
    ns: int
    spins: int
    """How many calls cost virtual time. A call costs virtual time if no process has waited for a
    long time."""
    call: int
    """The system-call number of the call that cost virtual time most often."""
    interrupts: int
    """How often the program was interrupted while it computed."""
    readings: int
    """How often the program read the processor's counter."""


@dataclass
class Said:
    """Collects the kernel's reports about programs."""

    accounts: list[Account] = field(default_factory=list)
    computing: str = ""
    """The last program about which the kernel reported that it computes without entering the
    kernel."""
    counter_seen: bool = False
    """Whether programs could read the processor's counter directly."""

    def line(self, text: str) -> bool:
        """Process a line of the console. Return False if the line is not a report about
        programs."""
        if took := TOOK.fullmatch(text):
            self.accounts.append(Account(took[1], *map(int, took.groups()[1:])))
            return True
        if computes := COMPUTES.fullmatch(text):
            self.computing = computes[1]
            return True
        if text == SEEN:
            self.counter_seen = True
            return True
        return False

    def warnings(self, duration_ns: int) -> list[str]:
        warnings = [COUNTER_SEEN] if self.counter_seen else []
        for usage in self.accounts:
            name = f'program "{usage.program}"'
            if usage.interrupts:
                warnings.append(
                    f"{name} computed for so long without a system call that it was interrupted "
                    f"{_times(usage.interrupts)}: the time of the interruption, and so the "
                    f"results, depend on this machine"
                )
            if usage.spins >= SPINS:
                warnings.append(
                    f"{name} made {usage.spins} calls while no process waited, most often "
                    f"{_call(usage.call)}: on a real machine the time of these calls depends on "
                    "the processor"
                )
            if usage.readings >= READINGS:
                warnings.append(
                    f"{name} read the processor's counter (rdtsc) {_times(usage.readings)}: the "
                    "program got the virtual clock instead, at 4 GHz"
                )
            if usage.ns > SHARE * duration_ns:
                share = 100 * usage.ns / duration_ns
                warnings.append(
                    f"{name} took {usage.ns / 1e9:.3g} s of virtual time for itself "
                    f"({share:.2g} % of the run): it read the clock, or made calls that "
                    "failed or did not wait"
                )
        return warnings


COUNTER_SEEN = (
    "the processor's counter (rdtsc) cannot be hidden from programs on this machine: a program "
    "that reads it sees this machine, and results may depend on it"
)

WITHOUT_PATCH = (
    "the kernel was built without tailback's patch for programs: programs must not poll "
    "without waiting, and each reading of the clock is a system call"
)

OTHER_PATCH = (
    "the kernel was built with another version of tailback's patch for programs, so this "
    f"machine may affect programs more, and warnings may be missing; run: {COMMAND}"
)


def of_kit(kit: Kit) -> list[str]:
    """Return warnings that apply to every run with programs on this guest kernel."""
    if not kit.lets_time_pass:
        return [WITHOUT_PATCH]
    same = kit.manifest["patches"][patches.PROGRAMS.stem] == patches.sha256()
    return [] if same else [OTHER_PATCH]


def hung(said: Said, kit: Kit) -> str:
    """Explain why virtual time may not advance in a run with programs. Return an empty text if the
    reason is not known."""
    if said.computing:
        return f': program "{said.computing}" computes without system calls'
    if not kit.lets_time_pass:
        return ": a program may be polling without waiting, and this kernel has no patch for that"
    return ""


def _call(number: int) -> str:
    return CALLS.get(number, f"call number {number}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
