"""Reads a guest's console, which has lines from tailback and warnings of the guest's kernel."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tailback.base.foreign import shown
from tailback.kernel import confine
from tailback.kernel.programs.said import Said

SAYS = "tailback: "

TAIL = 40
"""How many of the console's last lines an error shows."""

LONGEST_LINE = 1 << 16
"""After this many bytes without a line break, the output counts as a line."""

POLL_S = 0.2

LONGEST_WAIT_S = 1.0
"""If one poll takes longer than this time, in seconds, this process or the machine was suspended.
The excess does not count as waiting for the guest."""

FAILURE = re.compile(
    r"Kernel panic|Out of memory|\bBUG\b[: !]|\bOops\b"
    r"|general protection fault|stack is corrupted|KASAN|scheduling while atomic"
)
"""Matches lines that a kernel prints when it fails. A failure makes the measurements of the run
invalid."""

WARNING = re.compile(
    r"WARNING: |possible (circular|recursive|irq)\b.*\b(lock|detected)|inconsistent lock state"
    r"|INFO: .*(\bstall|self-detected|lock|blocked for more than|non-static key)"
    r"|suspicious RCU usage|UBSAN|refcount_t: |unregister_netdevice: waiting|corruption"
    r"|page allocation failure|soft lockup|hung_task|KCSAN|Object already free"
)
"""Matches lines that a kernel prints if it finds an error and continues."""

VARYING = re.compile(r"\bCPU#?:?\s*\d+|\bPID:?\s*\d+|/\d+\b|\+?0x[0-9a-f]+|\d+ seconds|\s+")
"""Matches the parts of a warning that differ each time. Without these parts, repeated warnings are
equal."""

TAINT_FAILED = 1 << 5 | 1 << 7
"""Bits of the kernel's taint that mean a failure: a bad page, or an oops."""
TAINT_WARNED = 1 << 9 | 1 << 14
"""Bits of the kernel's taint that mean a warning: a WARN, or a CPU that hung for a while."""

MOST_WARNINGS = 10
"""The largest number of different warnings to store."""

DOUBTFUL = re.compile(r"\s*\[<[0-9a-f]+>\] \? ")
"""Matches lines of a stack trace that the kernel itself marks as unreliable ("?")."""


@dataclass
class Console:
    """Collects progress, errors and warnings from a guest's console."""

    duration_ns: int
    progress: Callable[[float], None]
    last: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL))
    walls: confine.Walls | None = None
    error: str | None = None
    alarm: str | None = None
    done: bool = False
    at_ns: int | None = None
    programs: Said = field(default_factory=Said)
    quiet_s: float = 0.0
    """Seconds that this process has waited since virtual time last advanced."""
    _counts: dict[str, int] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def line(self, text: str) -> None:
        """Process one line of the console."""
        text = shown(text)
        if self.walls is None and text.startswith(confine.SAYS):
            # The launcher writes this line before a guest exists, so no guest can forge it.
            self.walls = confine.Walls.parse(text)
        elif text.startswith(SAYS):
            self._own(text.removeprefix(SAYS))
        elif self.programs.line(text.strip()):
            return
        elif text.strip() and not DOUBTFUL.match(text):
            self.last.append(text)
            self._judge(text.strip())

    def waited(self, seconds: float) -> None:
        """Add the time (in seconds) that the reader waited for output."""
        self.quiet_s += min(seconds, LONGEST_WAIT_S)

    @property
    def warnings(self) -> list[str]:
        """Each different warning of the kernel, with the number of times that it was repeated."""
        found = []
        for key, text in self._texts.items():
            times = self._counts[key]
            found.append(f"kernel: {text}" + (f" ({times} times)" if times > 1 else ""))
        return found + self.programs.warnings(self.duration_ns)

    def _own(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if word in ("start", "at"):
            self.quiet_s = 0.0
        if word == "at" and rest.isdecimal():
            self.at_ns = int(rest)
            self.progress(min(1.0, self.at_ns / max(1, self.duration_ns)))
        elif word == "error":
            self.error = rest.replace("\\n", "\n")
        elif word == "tainted" and rest.isdecimal():
            # The kernel's taint flags show a failure even if the console lines that explain it are
            # lost.
            if int(rest) & TAINT_FAILED:
                self.alarm = self.alarm or f"it is tainted ({rest})"
            elif int(rest) & TAINT_WARNED and not self._counts:
                self._note(f"it is tainted ({rest})")
        elif word == "done":
            self.done = True

    def _judge(self, text: str) -> None:
        if FAILURE.search(text):
            self.alarm = self.alarm or text
        elif WARNING.search(text):
            self._note(text)

    def _note(self, text: str) -> None:
        key = VARYING.sub("", text)
        if key in self._counts or len(self._counts) < MOST_WARNINGS:
            self._counts[key] = self._counts.get(key, 0) + 1
            self._texts.setdefault(key, text)


def lines(child: subprocess.Popen[bytes]) -> Iterator[tuple[str | None, float]]:
    """Yield lines as they arrive, and None a few times a second.

    Each item is paired with the time (in seconds) that this function waited for it.
    """
    assert child.stdout is not None
    rest = b""
    ended = False
    with child.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        os.set_blocking(pipe.fileno(), False)
        since = time.monotonic()
        while True:
            ready = selector.select(0 if ended else POLL_S)
            now = time.monotonic()
            waited, since = now - since, now
            if not ready:
                if ended:
                    # The guest has ended, but one of its child processes keeps the console open.
                    break
                # Output from before the guest's end may arrive only now, so poll once more.
                ended = has_ended(child)
                yield None, waited
                continue
            data = b""
            with contextlib.suppress(BlockingIOError):
                data = os.read(pipe.fileno(), 1 << 16)
                if not data:
                    break
            *whole, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE:
                whole, rest = [*whole, rest], b""
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r"), waited
                waited = 0.0
    if rest:
        yield rest.decode(errors="replace"), 0.0


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Return whether the process has ended. The process is not reaped, so the system cannot give
    its id to another process."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
