"""Counts instructions and cache misses per data packet. Unlike time, these numbers are stable, so
regressions are visible.

A shortened run of each case runs under valgrind's callgrind, which also simulates a second-level
cache of 1 MB. The counts of callgrind do not depend on host load. `make bench` compares the counts
with benches/instructions.json. `make bench` fails if a case needs over 3 % more instructions. `make
bench` also fails if the cache misses per packet of a case rise by more than 5 % plus 0.1. After an
intended change, `--update` writes new counts to benches/instructions.json.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
ALLOWED = 1.03
ALLOWED_MISSES = 1.05
LEAST_MISSES = 0.1
"""Increase in misses per packet that is allowed in addition to `ALLOWED_MISSES`."""

CACHES = ("--D1=32768,8,64", "--LL=1048576,16,64")
"""The simulated data caches: size in bytes, associativity, and line size in bytes. These sizes are
fixed, because callgrind would otherwise simulate the caches of the machine."""

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
# A second goal for DualPI2: at most this multiple of CoDel's instructions with the same flows.
TIMES = {"dualpi2": (1.4, "codel")}


def build() -> Path:
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-scenario"]
    subprocess.run([*command, "--example", "count"], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "release" / "examples" / "count"


@dataclass(frozen=True)
class Counts:
    """Instructions and cache misses per data packet."""

    instructions: int
    misses: float
    """Data accesses that miss the simulated second-level cache."""

    def regressions(self, known: Counts) -> list[str]:
        """Return a message for each count that exceeds the stored count by more than the
        tolerance."""
        found = []
        if self.instructions > known.instructions * ALLOWED:
            more = self.instructions / known.instructions - 1
            found.append(f"{more:+.1%} instructions, more than {ALLOWED - 1:.0%} over the record")
        if self.misses > known.misses * ALLOWED_MISSES + LEAST_MISSES:
            found.append(f"{self.misses - known.misses:+.2f} misses over the record")
        return found


def callgrind(command: Sequence[str]) -> Counts:
    """Run a command under callgrind, and return its counts per data packet. The command must print
    the number of data packets."""
    tool = ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES]
    run = subprocess.run(
        [*tool, "--callgrind-out-file=/dev/null", *command],
        check=True,
        capture_output=True,
        text=True,
    )
    names = re.search(r"Events +: (.+)", run.stderr)
    numbers = re.search(r"Collected : (.+)", run.stderr)
    if names is None or numbers is None:
        raise SystemExit(f"valgrind printed no count:\n{run.stderr}")
    events = dict(zip(names[1].split(), map(int, numbers[1].split()), strict=True))
    packets = int(run.stdout)
    misses = (events["DLmr"] + events["DLmw"]) / packets
    return Counts(round(events["Ir"] / packets), round(misses, 2))


def count(runner: Path, case: str, file: Path | None = None) -> Counts:
    """Return the counts of a case. With `file`, run that scenario instead, for the duration of the
    case."""
    return callgrind([str(runner), str(file or HERE / f"{case}.toml"), DURATIONS[case]])


def main() -> None:
    """Print a line for each case. Return exit status 1 after a regression."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is found as the record")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed, so instructions and misses are not counted")
        return
    runner = build()
    stored = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record = {case: Counts(**counts) for case, counts in stored.items()}
    found: dict[str, Counts] = {}
    worse = False
    print("per packet; recorded values in parentheses")
    print(f"{'case':<10} {'instructions':>20} {'goal':>5} {'L2 misses':>20}")
    for case in DURATIONS:
        counts = found[case] = count(runner, case)
        known = record.get(case)
        notes = [] if known is None or args.update else counts.regressions(known)
        worse = worse or bool(notes)
        instructions, misses = str(counts.instructions), f"{counts.misses:.2f}"
        if known is not None:
            instructions += f" ({known.instructions})"
            misses += f" ({known.misses:.2f})"
        numbers = f"{instructions:>20} {GOALS.get(case, ''):>5} {misses:>20}"
        print("  ".join([f"{case:<10} {numbers}", *notes]), flush=True)
    for case, (most, other) in TIMES.items():
        times = found[case].instructions / found[other].instructions
        note = ""
        if times > most:
            worse = True
            note = f": more than {most}"
        print(f"{case} takes {times:.2f} times the instructions of {other}{note}")
    if args.update:
        RECORD.write_text(json.dumps({c: asdict(n) for c, n in found.items()}, indent=1) + "\n")
    if worse:
        sys.exit(1)


if __name__ == "__main__":
    main()
