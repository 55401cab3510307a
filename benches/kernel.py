"""Speed and memory of the kernel engine: what `make bench-kernel` prints.

Each case is one guest (the last, two at once), through the command line as a
user would, into a folder that is thrown away. Times are those of the guest's
process from its start to its end, boot included; packets are data packets of
TCP senders. The best of several runs is shown: other work on the machine only
ever slows one down.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SCENARIO = """
title = "speed of the kernel engine"
duration = "{duration}"

[bottleneck]
rate = "{rate}"
queue = {{ aqm = "codel", ecn = true }}

[path]
rtt = "20ms"

[record]
captures = {captures}

[[flows]]
cc = "cubic"
ecn = true

[sweep]
seeds = {seeds}
"""


@dataclass(frozen=True)
class Case:
    """What is run, and what it should take at most."""

    name: str
    rate: str
    captures: bool
    goal_s: float
    duration: str = "300s"
    seeds: int = 1


CASES = (
    Case("100 Mbit/s, 300 s", "100Mbit", False, 10),
    Case("100 Mbit/s, 300 s, captures", "100Mbit", True, 20),
    Case("10 Mbit/s, 300 s", "10Mbit", False, 2),
    Case("10 Mbit/s, 300 s, captures", "10Mbit", True, 4),
    Case("boot, first packet, end", "100Mbit", False, 0.5, duration="10ms"),
    Case("two guests at once", "100Mbit", False, 10, seeds=2),
)


@dataclass(frozen=True)
class Measured:
    """One run of a case."""

    wall_s: float
    cpu_s: float
    packets: int
    memory_mb: float


def measure(case: Case) -> Measured:
    """Runs a case once; several guests count from the first's start to the last's end."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.toml"
        text = SCENARIO.format(
            duration=case.duration,
            rate=case.rate,
            captures=str(case.captures).lower(),
            seeds=case.seeds,
        )
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "tailback", "run", str(file), "--engine", "kernel"]
        since = time.perf_counter()
        subprocess.run(
            [*command, "--jobs", str(case.seeds), "--out", folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        whole_s = time.perf_counter() - since
        timings = [
            json.loads(path.read_bytes()) for path in Path(folder).glob("runs/*/timing.json")
        ]
    return Measured(
        wall_s=whole_s if case.seeds > 1 else timings[0]["wall_s"],
        cpu_s=sum(t["cpu_s"] for t in timings),
        packets=sum(t["data_packets"] for t in timings),
        memory_mb=max(t["memory_bytes"] for t in timings) / 1e6,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=2, help="runs of each case")
    repeat = parser.parse_args().repeat
    print("| case | wall s | goal | CPU s | us per packet | memory MB |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        runs = [measure(case) for _ in range(repeat)]
        best = min(runs, key=lambda run: run.cpu_s)
        wall = min(run.wall_s for run in runs)
        each = f"{best.cpu_s / best.packets * 1e6:.2f}" if best.packets > 1000 else "–"
        print(
            f"| {case.name} | {wall:.2f} | {case.goal_s:g} | {best.cpu_s:.2f} | {each} "
            f"| {best.memory_mb:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
