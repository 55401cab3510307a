"""How long the published experiments take, and what of it is their reports.

    python benches/reproduce.py [NAME ...] [--jobs N]

Each is run as a user would, with its full seeds, into a folder that is thrown
away, and then once more: the second time every run is read from the store, so
that what it takes is all that is not a run, the report above all.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

EXPERIMENTS = (
    "dctcp-internet-2014",
    "sce-2019",
    "abe-2017",
    "dualpi2-2022",
    "dualpi2-2019-wrr",
    "dualpi2-2019-refactoring",
    "l4s-tests-2020",
    "ccafct-2020",
)
"""Those of the catalogue that repeat somebody's publication."""
GOAL_S = 720
"""All of them, on two cores."""
REPORT_GOAL = 0.1
"""The second time over the first."""


@dataclass(frozen=True)
class Took:
    """What a command took, in seconds."""

    wall: float
    cpu: float


def take(name: str, out: str, jobs: int) -> Took:
    """Runs one of them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = ["tailback", "reproduce", name, "--jobs", str(jobs), "--out", out, "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "tailback.cli.main", *command[1:]],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    wall = time.monotonic() - begun
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu)


def row(name: str, first: Took, second: Took) -> str:
    """A line of the table."""
    share = second.wall / first.wall
    return f"| {name} | {first.wall:.1f} | {first.cpu:.1f} | {second.wall:.1f} | {share:.3f} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once [default: 2]")
    options = parser.parse_args()
    print("| experiment | wall, s | CPU, s | again, of stored runs: wall, s | over the first |")
    print("|---|--:|--:|--:|--:|")
    firsts, seconds = [], []
    for name in options.names or EXPERIMENTS:
        with tempfile.TemporaryDirectory(prefix="tailback-") as out:
            first = take(name, out, options.jobs)
            second = take(name, out, options.jobs)
        print(row(name, first, second), flush=True)
        firsts.append(first)
        seconds.append(second)
    total = [
        Took(sum(t.wall for t in some), sum(t.cpu for t in some)) for some in (firsts, seconds)
    ]
    print(row("together", *total))
    print(f"\ngoals: together {GOAL_S} s, over the first {REPORT_GOAL}")


if __name__ == "__main__":
    main()
