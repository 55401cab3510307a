"""Kills commands at random moments and checks the next command.

    .venv/bin/python tests/faults/kill.py [--tries N] [--command NAME]... [--seed N]

A try sends SIGKILL at a random moment while the command runs, then runs the command again. The
second command must leave the same files as without a kill, and no other files. `--command
reproduce` runs a published experiment and takes minutes. `--command processes` runs 2 to 4
processes in one folder and kills one of them. The exit status is 1 if an error was found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from faults import harness
from faults.harness import COMMANDS, REPRODUCE, Prepared

PROCESSES = "processes"


def kill(made: Prepared, moment: float) -> tuple[bool, list[str]]:
    """Kill a command once. Return whether the command was killed before its end, and the errors
    found."""
    made.fresh()
    ended = harness.run(made.call(), made.work, kill_after=moment)
    wrong = []
    if ended.status not in (-signal.SIGKILL, *made.command.statuses):
        wrong.append(f"status {ended.status}: {ended.stderr}")
    return ended.status < 0, wrong + harness.afterwards(made)


def together(made: Prepared, count: int, moment: float) -> list[str]:
    """Run several processes in one folder, and kill the first process. Return the errors found."""
    made.fresh()
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            os.chdir(made.work)
            with contextlib.suppress(OSError):
                quiet = os.open(os.devnull, os.O_WRONLY)
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
            os._exit(harness.tailback(made.args()))
        children.append(child)
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):
        os.kill(children[0], signal.SIGKILL)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    wrong = [f"status {status}" for status in statuses[1:] if status != 0]
    return wrong + harness.afterwards(made)


def main() -> int:
    names = [*(c.name for c in COMMANDS), REPRODUCE.name, PROCESSES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=20, help="of each command [default: 20]")
    parser.add_argument("--command", action="append", choices=names)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    wanted = chosen.command or [*(c.name for c in COMMANDS), PROCESSES]
    draw = random.Random(chosen.seed)
    found = 0
    harness.preload()
    with TemporaryDirectory(prefix="tailback-kill-", dir=harness.MEMORY) as folder:
        for command in (*COMMANDS, REPRODUCE):
            if command.name not in wanted:
                continue
            made = harness.prepare(command, Path(folder))
            killed, wrong = 0, []
            for _ in range(chosen.tries):
                early, what = kill(made, draw.uniform(0, made.seconds))
                killed += early
                wrong += what
            tell(command.name, chosen.tries, f"{killed} killed before their end", wrong)
            found += len(wrong)
        if PROCESSES in wanted:
            made = harness.prepare(COMMANDS[0], Path(folder))
            wrong = []
            for _ in range(chosen.tries):
                moment = draw.uniform(0, made.seconds)
                wrong += together(made, draw.randint(2, 4), moment)
            tell(PROCESSES, chosen.tries, "2 to 4 processes, one killed", wrong)
            found += len(wrong)
    return 1 if found else 0


def tell(name: str, tries: int, what: str, wrong: list[str]) -> None:
    """Print a line for the command, and a line for each error that was found."""
    print(f"{name:14} {tries:5} tries, {what}, {len(wrong)} found", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
