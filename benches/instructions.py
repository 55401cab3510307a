"""Counts instructions per data packet. Unlike time, this number is stable, so regressions are
visible.

A shortened run of each case runs under valgrind's callgrind. Its counts do not depend on host load.
`make bench` compares the counts with benches/instructions.json, and fails if a count is more than 3
% higher. `--update` writes that file after an intended change."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
ALLOWED = 1.03
# The runs are long enough that start-up is below 1 %, and short enough for valgrind.
DURATIONS = {
    "a": "20s",
    "b": "20s",
    "c": "100s",
    "d": "2s",
    "e": "2s",
    "cake": "20s",
    "cake-1000": "2s",
    "codel": "20s",
    "dualpi2": "20s",
}
# The goals of the project. docs/evidence/performance.md compares them with the counts.
GOALS = {"a": 1000, "b": 1100, "e": 1300, "cake": 1300, "dualpi2": 1150}
# DualPI2's goal is a multiple of the count of CoDel with the same flows.
TIMES = {"dualpi2": (1.4, "codel")}


def build() -> Path:
    """Compile the runner. Return its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-scenario"]
    subprocess.run([*command, "--example", "count"], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "release" / "examples" / "count"


def callgrind(command: Sequence[str]) -> float:
    """Return the instructions per data packet of a command that prints its number of packets."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = subprocess.run([*tool, *command], check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if found is None:
        raise SystemExit(f"valgrind printed no count:\n{run.stderr}")
    return int(found[1]) / int(run.stdout)


def count(runner: Path, case: str, file: Path | None = None) -> float:
    """Return the instructions per data packet of a case, or of a file that runs for the duration of
    that case."""
    return callgrind([str(runner), str(file or HERE / f"{case}.toml"), DURATIONS[case]])


def main() -> None:
    """Print a line for each case. Return exit status 1 after a regression."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is found as the record")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions per packet: valgrind is not installed, not counted")
        return
    runner = build()
    record: dict[str, int] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found: dict[str, int] = {}
    worse = False
    print(f"{'case':<10} {'instructions/packet':>19} {'recorded':>8} {'goal':>5}")
    for case in DURATIONS:
        found[case] = round(count(runner, case))
        known = record.get(case)
        note = ""
        if known is not None and found[case] > known * ALLOWED and not args.update:
            worse = True
            note = f"  {found[case] / known - 1:+.1%}: more than {ALLOWED - 1:.0%} over the record"
        numbers = f"{found[case]:>19} {known or '':>8} {GOALS.get(case, ''):>5}"
        print(f"{case:<10} {numbers}{note}", flush=True)
    for case, (most, other) in TIMES.items():
        times = found[case] / found[other]
        note = ""
        if times > most:
            worse = True
            note = f": more than {most}"
        print(f"{case} needs {times:.2f} times what {other} needs{note}")
    if args.update:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    if worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
