"""Measures how long `tailback reproduce` takes for each published experiment, and how much of this
time it spends on the report.

    python benches/reproduce.py [NAME ...] [--jobs N] [--seeds N]

Each experiment runs twice, as a user would run it, in a temporary folder. Unless `--seeds` sets a
number, the run uses all seeds of the experiment. The second command finds every run in the store
and only makes the report again. The report therefore takes most of the second command's time.
Modules are compiled beforehand, like the modules of an installed package.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python/tailback"
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
"""The experiments that repeat a publication and for which the goal was set. `pam-2025-l4s` and
`imc-bbr-2023` are newer than the goal, and each takes several minutes."""
GOAL_S = 600
"""Goal for the total time of all experiments on two cores, in seconds."""
REPORT_GOAL = 0.1
"""Goal for the time of the second run, divided by the time of the first run."""


@dataclass(frozen=True)
class Took:
    wall: float
    cpu: float


def compiled(cache: str) -> dict[str, str]:
    """Compile tailback's modules, and return the environment in which commands find them.

    The environment's cache contains the JavaScript of report pages, but no figures. The first run
    therefore has to draw the figures.
    """
    compileall.compile_dir(PACKAGE, quiet=2)
    found = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    found["XDG_CACHE_HOME"] = cache
    code = "from tailback.figures import export; export.javascript()"
    subprocess.run([sys.executable, "-c", code], env=found, check=True)
    return found


def take(name: str, options: list[str], environment: dict[str, str]) -> Took:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = ["tailback", "reproduce", name, *options, "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "tailback.cli.main", *command[1:]],
        stdout=subprocess.DEVNULL,
        env=environment,
        check=False,
    )
    wall = time.monotonic() - begun
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu)


def row(name: str, first: Took, second: Took) -> str:
    share = second.wall / first.wall
    once, again = (f"{took.wall:.1f} | {took.cpu:.1f}" for took in (first, second))
    return f"| {name} | {once} | {again} | {share:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once [default: 2]")
    parser.add_argument("--seeds", type=int, help="seeds of every point, instead of its own")
    options = parser.parse_args()
    again = "again, of stored runs: wall, s | CPU, s"
    print(f"| experiment | wall, s | CPU, s | {again} | over the first |")
    print("|---|--:|--:|--:|--:|--:|")
    firsts, seconds = [], []
    cache = tempfile.TemporaryDirectory(prefix="tailback-")
    environment = compiled(cache.name)
    for name in options.names or EXPERIMENTS:
        with tempfile.TemporaryDirectory(prefix="tailback-") as out:
            words = ["--jobs", str(options.jobs), "--out", out]
            words += ["--seeds", str(options.seeds)] if options.seeds else []
            first = take(name, words, environment)
            second = take(name, words, environment)
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
