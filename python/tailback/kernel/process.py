"""Runs compilers, make and other tools of a build. Each program has its own process group, which
ends when tailback ends."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tailback.errors import TailbackError

GRACE_S = 5.0
POLL_S = 0.25
# Variables that would change the result of kbuild. make sets the first four for its child
# processes, so a build that `make test` starts would inherit them.
KBUILD_VARIABLES = (
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "ARCH",
    "SUBARCH",
    "CROSS_COMPILE",
    "KBUILD_OUTPUT",
    "KBUILD_EXTMOD",
    "KBUILD_KCONFIG",
    "KCONFIG_CONFIG",
    "KCONFIG_ALLCONFIG",
    "INSTALL_MOD_PATH",
    "KCFLAGS",
    "KCPPFLAGS",
    "O",
    "M",
    "V",
    "W",
    "C",
    "LLVM",
)


class CommandFailed(TailbackError):
    """Raised if a program exits with an error. `lines` is the whole output of the program."""

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.lines = list(lines)


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program. The result is the environment of this process without
    the variables that change a kernel build."""
    kept = {name: value for name, value in os.environ.items() if name not in KBUILD_VARIABLES}
    return {**kept, "LC_ALL": "C", **(extra or {})}


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    on_tick: Callable[[], None] | None = None,
    log: Path | None = None,
    redraws: bool = False,
) -> list[str]:
    """Run a program, and return the lines of its stdout and stderr in the order of arrival.

    With `redraws`, a carriage return also ends a line. Programs that redraw a line of progress end
    it with a carriage return.

    If an interrupt or an error ends the wait, this function also ends the program and
    all processes that it started.
    """
    try:
        child = _start([str(word) for word in command], cwd, env or environment())
    except FileNotFoundError as error:
        raise TailbackError(f"{command[0]}: {error.strerror}") from error
    lines: list[str] = []
    try:
        with contextlib.ExitStack() as stack:
            kept = (
                stack.enter_context(log.open("a", buffering=1, encoding="utf-8")) if log else None
            )
            for line in _lines(child, on_tick, redraws=redraws):
                lines.append(line)
                if kept is not None:
                    kept.write(line + "\n")
                if on_line is not None:
                    on_line(line)
        status = child.wait()
    except BaseException:
        stop(child)
        raise
    if status != 0:
        shown = "\n".join(lines[-30:])
        raise CommandFailed(
            f"{Path(str(command[0])).name} failed (status {status})\n{shown}", lines
        )
    return lines


def _start(command: list[str], cwd: Path | None, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a program.

    A SIGINT or SIGTERM that arrives during the start is delayed until the id of the new
    process is known.
    """
    pending: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            # None means that C code installed the handler. Python cannot restore such a handler.
            if signal.getsignal(number) not in (None, signal.SIG_IGN):
                before[number] = signal.signal(number, lambda number, _: pending.append(number))
    try:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if pending:
        stop(child)
        raise KeyboardInterrupt
    return child


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a program and its process group. make gets time to delete partly written files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
    if child.stdout is not None:
        child.stdout.close()


def _lines(
    child: subprocess.Popen[bytes], on_tick: Callable[[], None] | None, *, redraws: bool
) -> Iterator[str]:
    assert child.stdout is not None
    rest = b""
    with child.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            ready = selector.select(POLL_S if on_tick is not None else None)
            if on_tick is not None:
                on_tick()
            if not ready:
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                break
            if redraws:
                data = data.replace(b"\r", b"\n")
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Within the `with` block, SIGTERM ends the build and its programs, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
