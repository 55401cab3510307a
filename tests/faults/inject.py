"""Makes each file system call of a command fail, one at a time.

    .venv/bin/python tests/faults/inject.py [--tries N] [--fault NAME]... [--command NAME]...

Without --tries, every call fails once. With --tries N, N calls fail for each command and fault,
evenly spaced. The exit status is 1 if an error was found. If a call fails, the command must end
with status 1 (or 2 if its input cannot be read). The command must also print an error that names a
path. If the failure cannot affect the result, the command must instead end with status 0 and leave
the correct files. Whatever the exit status is, every stored file must be complete. If the command
then runs again without a fault, it must leave the correct files and no other files. The faults
`short` (an incomplete write) and `EINTR` must not affect the result. The fault `kill` ends the
process at the chosen call.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from faults import harness
from faults.harness import Command, Prepared

SHIM = Path(__file__).parent / "shim.c"
FAIL, SHORT, KILL = 0, 1, 2


@dataclass(frozen=True)
class Fault:
    """How a call fails."""

    name: str
    mode: int
    error: int = 0
    writes_only: bool = False


FAULTS = (
    Fault("ENOSPC", FAIL, errno.ENOSPC, writes_only=True),
    Fault("EIO", FAIL, errno.EIO),
    Fault("EINTR", FAIL, errno.EINTR),
    Fault("short", SHORT),
    Fault("kill", KILL),
)


def build(folder: Path) -> Path:
    """Compile the shim that makes calls fail. Return its path."""
    made = folder / "shim.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, SHIM, "-ldl"], check=True)
    return made


def _arm(made: Prepared, fault: Fault, nth: int) -> None:
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.arm.argtypes = (ctypes.c_char_p, ctypes.c_long, *[ctypes.c_int] * 3)
    shim.arm(str(made.work).encode(), nth, fault.mode, fault.error, fault.writes_only)


def _calls(made: Prepared, fault: Fault) -> int:
    """Count the file system calls of the undisturbed command."""

    def counted() -> int:
        status = made.call(lambda: _arm(made, fault, 0))()
        shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
        shim.count.restype = ctypes.c_long
        (made.place / "count").write_text(str(shim.count()))
        return status

    made.fresh()
    ended = harness.run(counted, made.work)
    assert ended.status in made.command.statuses, ended
    return int((made.place / "count").read_text())


def disturb(made: Prepared, fault: Fault, nth: int) -> list[str]:
    """Disturb a command once. Return the errors found."""
    made.fresh()
    ended = harness.run(made.call(lambda: _arm(made, fault, nth)), made.work)
    wrong = []
    if "Traceback" in ended.stderr or "panicked" in ended.stderr:
        wrong.append(ended.stderr)
    fine = ended.status in made.command.statuses
    if fault.mode == KILL:
        if ended.status not in (-9, *made.command.statuses):
            wrong.append(f"status {ended.status}: {ended.stderr}")
    elif fault.mode == SHORT or fault.error == errno.EINTR:
        if not fine:
            wrong.append(f"noticed: status {ended.status}: {ended.stderr}")
        wrong += harness.different(made.reference, harness.contents(made.work))
    elif fine:
        if not ended.stderr:
            found = harness.contents(made.work)
            # The next command removes the files that this command could not remove.
            kept = {k: v for k, v in found.items() if not re.search(r"\.tailback-\d", k)}
            wrong += harness.different(made.reference, kept)
    else:
        if ended.status not in (1, 2):
            wrong.append(f"status {ended.status}: {ended.stderr}")
        places = ["results", ".tailback-", *made.reference]
        if not any(place in ended.stderr for place in places):
            wrong.append(f"no path is named: {ended.stderr!r}")
    return wrong + harness.afterwards(made)


def spread(calls: int, tries: int | None) -> list[int]:
    """Return the numbers of the calls that fail, counted from the start of the command."""
    if tries is None or tries >= calls:
        return list(range(1, calls + 1))
    # Divide the calls into `tries` equal parts, and let the call in the middle of each part fail.
    # With another number of tries, other calls fail.
    return sorted({1 + int((i + 0.5) * calls / tries) for i in range(tries)})


def inject(
    commands: Sequence[Command], faults: Sequence[Fault], tries: int | None, *, tell: bool = True
) -> tuple[int, list[str]]:
    """Disturb each command. Return the number of tries, and the errors found."""
    harness.preload()
    count, found = 0, []
    with TemporaryDirectory(prefix="tailback-faults-", dir=harness.MEMORY) as folder:
        for command in commands:
            made = harness.prepare(command, Path(folder))
            for fault in faults:
                calls = _calls(made, fault)
                wrong = []
                chosen = spread(calls, tries)
                for nth in chosen:
                    what = disturb(made, fault, nth)
                    wrong += [f"{command.name}, {fault.name} at call {nth}: {w}" for w in what]
                count += len(chosen)
                found += wrong
                if tell:
                    named = f"{command.name:14} {fault.name:7}"
                    print(f"{named} {calls:5} calls, {len(chosen):5} tries, {len(wrong)} found")
                    print("".join(f"    {line}\n" for line in wrong), end="", flush=True)
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, help="of each command and fault [default: every call]")
    parser.add_argument("--fault", action="append", choices=[f.name for f in FAULTS])
    parser.add_argument("--command", action="append", choices=[c.name for c in harness.COMMANDS])
    chosen = parser.parse_args()
    if "shim" not in os.environ.get("LD_PRELOAD", ""):
        with TemporaryDirectory(prefix="tailback-shim-") as folder:
            environment = {**os.environ, "LD_PRELOAD": str(build(Path(folder)))}
            again = [sys.executable, *sys.argv]
            return subprocess.run(again, env=environment, check=False).returncode
    commands = [c for c in harness.COMMANDS if not chosen.command or c.name in chosen.command]
    faults = [f for f in FAULTS if not chosen.fault or f.name in chosen.fault]
    count, found = inject(commands, faults, chosen.tries)
    print(f"{count} tries, {len(found)} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
