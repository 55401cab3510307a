"""Runs commands and checks the results, while tests disturb the commands by failing calls or
signals.

A command runs in a fork of this process. The process has already imported tailback, so a command
takes only a few hundredths of a second. The command works in a copy of a folder that was prepared
for it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

SCENARIO = """\
title    = "two flows"
duration = "400ms"
seed     = 1
[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel", ecn = true }
[path]
rtt = "20ms"
[record]
packets = true
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
[sweep]
seeds = 2
"""

TIMEOUT_S = 300.0

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""The folder for tries. This folder is in memory if possible, so that no try waits for a disk."""


@dataclass(frozen=True)
class Command:
    """A command that tests disturb, and the commands that must run before it."""

    name: str
    args: Sequence[str]
    before: Sequence[Sequence[str]] = ()
    statuses: Sequence[int] = (0,)
    """Exit statuses that the undisturbed command may have."""


RUN = ("run", "SCENARIO")
COMPARE = ("compare", "SCENARIO", "--variant", "a", "--variant", "b:path.rtt=30ms")

COMMANDS = (
    Command("run", RUN),
    Command("run-again", RUN, before=[RUN]),
    Command("report", ("report", "results"), before=[RUN]),
    Command("report-again", ("report", "results"), before=[RUN, ("report", "results")]),
    Command("compare", COMPARE),
    Command("export-csv", ("export", "RUN", "--format", "csv"), before=[RUN]),
    Command("export-flent", ("export", "RUN", "--format", "flent"), before=[RUN]),
    Command("export-pcapng", ("export", "RUN", "--format", "pcapng"), before=[RUN]),
    Command("verify", ("verify",), before=[RUN]),
    Command("plot", ("plot", "--out", "x.svg"), before=[RUN]),
    Command("baseline", ("baseline", "SCENARIO", "x.tailback.json"), before=[RUN]),
)

REPRODUCE = Command("reproduce", ("reproduce", "dctcp-internet-2014", "--quick", "--part", "fig2"))
"""A published experiment. This command takes minutes and runs only on request."""


@dataclass
class Ended:
    """How a command ended."""

    status: int
    """Exit status, or the negated number of the signal that ended the command."""
    stdout: str
    stderr: str
    seconds: float


@dataclass
class Prepared:
    """A command, the folder in which it starts, and its results without a disturbance."""

    command: Command
    place: Path
    """A folder of the command. The subfolder `start` has the starting state, and the command runs
    in the subfolder `work`."""
    reference: dict[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    stdout: str = ""

    @property
    def work(self) -> Path:
        """The folder in which the command runs."""
        return self.place / "work"

    def fresh(self) -> None:
        """Reset the working folder to its starting state."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.place / "start", self.work, symlinks=True)

    def call(self, within: Callable[[], None] | None = None) -> Callable[[], int]:
        """Return the function that the forked child runs. This function calls `within` just before
        the command."""
        return lambda: tailback(self.args(), within)

    def args(self) -> list[str]:
        """Return the command line with placeholders replaced."""
        return _filled(self.command.args, self.place, self.work)


def preload() -> None:
    """Before the first fork, import what the commands need. Otherwise imports would take most of
    each fork's time."""
    import altair  # noqa: F401
    import polars  # noqa: F401

    import tailback.cli.main
    import tailback.comparison
    import tailback.report.comparison
    import tailback.report.sweep  # noqa: F401


def prepare(command: Command, folder: Path) -> Prepared:
    """Run the preceding commands, then the command once without a disturbance."""
    made = Prepared(command, Path(mkdtemp(prefix=f"{command.name}-", dir=folder)))
    (made.place / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    start = made.place / "start"
    start.mkdir()
    for args in command.before:
        ended = run(lambda args=args: tailback(_filled(args, made.place, start)), start)  # type: ignore[misc]
        assert ended.status == 0, ended
    made.fresh()
    ended = run(made.call(), made.work)
    assert ended.status in command.statuses, ended
    made.reference = contents(made.work)
    made.seconds, made.stdout = ended.seconds, ended.stdout
    return made


def _filled(args: Sequence[str], place: Path, work: Path) -> list[str]:
    runs = sorted(path.name for path in (work / "results" / "runs").glob("[!.]*"))
    known = {"SCENARIO": str(place / "scenario.toml"), "RUN": runs[0] if runs else ""}
    return [known.get(word, word) for word in args]


def tailback(args: list[str], within: Callable[[], None] | None = None) -> int:
    """Run the command in this process. Return its exit status."""
    from tailback.cli.main import main

    sys.argv = ["tailback", *args]
    if within is not None:
        within()
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def run(call: Callable[[], int], folder: Path, *, kill_after: float | None = None) -> Ended:
    """Run a function in a fork with the current folder `folder`. Kill the fork after `kill_after`
    seconds."""
    said = folder.parent / "said"
    out, err = said.with_suffix(".out"), said.with_suffix(".err")
    since = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setsid()
            os.chdir(folder)
            for number, path in ((1, out), (2, err)):
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(handle, number)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            status = call()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            import traceback

            traceback.print_exc()
            with contextlib.suppress(OSError):
                sys.stderr.flush()
        finally:
            os._exit(status)
    status = _wait(child, since + (TIMEOUT_S if kill_after is None else kill_after))
    seconds = time.monotonic() - since
    return Ended(status, out.read_text("utf-8"), err.read_text("utf-8"), seconds)


def _wait(child: int, until: float) -> int:
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file in a folder except files that always differ, and every empty folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # `run` moves damaged folders to `.damaged`, so the contents of `.damaged` vary.
        if "/.damaged" in name or name.startswith("runs/.damaged"):
            continue
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            found[name] = b"neither a file nor a folder"
        elif path.is_dir():
            if not any(path.iterdir()):
                found[name + "/"] = b""
        else:
            # Wall times vary, so check only that the file exists.
            found[name] = b"" if path.name == "timing.json" else path.read_bytes()
    return found


def afterwards(made: Prepared) -> list[str]:
    """Return the errors that a disturbance left in the folder, and the errors of the next
    command."""
    wrong = []
    before = run(lambda: tailback(["verify"]), made.work)
    # The disturbed command must have stored either nothing or complete results.
    nothing = "no such folder" in before.stderr or "no results" in before.stderr
    if before.status != 0 and not nothing:
        wrong.append(f"verify after it: {before.status} {before.stderr}")
    again = run(made.call(), made.work)
    if again.status not in made.command.statuses:
        wrong.append(f"the next command: {again.status} {again.stderr}")
    if "Traceback" in again.stderr:
        wrong.append(again.stderr)
    wrong += different(made.reference, contents(made.work))
    return wrong


def different(expected: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    """Return the files that are missing, unexpected or different."""
    names = sorted(expected.keys() | found.keys())
    wrong = []
    for name in names:
        if name not in found:
            wrong.append(f"{name}: missing")
        elif name not in expected:
            wrong.append(f"{name}: left behind")
        elif expected[name] != found[name]:
            wrong.append(f"{name}: differs")
    return wrong
