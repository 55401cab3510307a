"""Measures speed and memory of the kernel engine, for `make bench-kernel`.

Each case boots one guest, except one case that boots two guests at once. A case runs through the
command line, as a user would run it, into a temporary folder. Wall time and CPU time cover the
processes that run the guest, from start to end, including boot. Packets are data packets of TCP
senders. "x real time" is simulated time divided by wall time. The table shows the best of several
runs, because host load can only slow down a run. On a busy machine, compare CPU times. Wall time is
reliable on a busy machine only if the script runs at a higher priority (`nice`).

`--competitors` measures one case instead, alternately alone and with one competitor on each core.
A competitor is a process that only computes. With a competitor, the fair share of a guest is half a
core. Therefore the script compares half of the guest's wall time with two times without
competitors. These times are the guest's wall time, and its CPU time, which equals its wall time on
an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
count = {flows}
cc = "cubic"
ecn = true

[sweep]
seeds = {seeds}
"""


@dataclass(frozen=True)
class Case:
    """A scenario, and the goal for its wall time."""

    name: str
    rate: str
    duration_s: float
    captures: bool = False
    goal_s: float | None = None
    flows: int = 1
    seeds: int = 1


ONE = Case("100 Mbit/s", "100Mbit", 300, goal_s=6)
MANY = Case("100 Mbit/s, 64 flows", "100Mbit", 300, flows=64)
TWO = Case("100 Mbit/s, two guests at once", "100Mbit", 300, seeds=2)
BOOT = Case("boot, first packet, end", "100Mbit", 0.01, goal_s=0.15)
CASES = (
    ONE,
    Case("100 Mbit/s, captures", "100Mbit", 300, captures=True, goal_s=8),
    Case("10 Mbit/s", "10Mbit", 300, goal_s=1.2),
    Case("10 Mbit/s, captures", "10Mbit", 300, captures=True),
    Case("1 Gbit/s", "1Gbit", 10, goal_s=4),
    Case("1 Gbit/s, captures", "1Gbit", 10, captures=True),
    MANY,
    TWO,
    BOOT,
)
COMPETITORS_GOAL = 1.3
"""Goal for the time with one competitor on each core, divided by the time without competitors."""
MANY_GOAL = 1.2
"""Goal for the CPU time of a packet with many flows, divided by the CPU time of a packet with one
flow."""
TWO_GOAL = 1.9
"""Goal for the packets per second of two guests at once, divided by the packets per second of one
guest."""


@dataclass(frozen=True)
class Measured:
    wall_s: float
    cpu_s: float
    packets: int
    memory_mb: float


def measure(case: Case, scale: float) -> Measured:
    """Run a case once. If a case has several guests, its wall time is the wall time of the slowest
    guest."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.toml"
        text = SCENARIO.format(
            duration=f"{round(case.duration_s * (scale if case is not BOOT else 1) * 1e3)}ms",
            rate=case.rate,
            captures=str(case.captures).lower(),
            flows=case.flows,
            seeds=case.seeds,
        )
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "tailback", "run", str(file), "--engine", "kernel"]
        subprocess.run(
            [*command, "--jobs", str(case.seeds), "--out", folder],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        timings = [
            json.loads(path.read_bytes()) for path in Path(folder).glob("runs/*/timing.json")
        ]
    return Measured(
        wall_s=max(t["wall_s"] for t in timings),
        cpu_s=sum(t["cpu_s"] for t in timings),
        packets=sum(t["data_packets"] for t in timings),
        memory_mb=max(t["memory_bytes"] for t in timings) / 1e6,
    )


def row(case: Case, scale: float, runs: list[Measured]) -> str:
    best = min(runs, key=lambda run: run.cpu_s)
    wall_s = min(run.wall_s for run in runs)
    goal = f"{case.goal_s:g}" if case.goal_s and (scale == 1 or case is BOOT) else "–"
    each, times = "–", "–"
    if case is not BOOT:
        each = f"{best.cpu_s / best.packets * 1e6:.2f}"
        times = f"{case.seeds * case.duration_s * scale / wall_s:.1f}"
    return (
        f"| {case.name} | {wall_s:.2f} | {goal} | {times} | {best.cpu_s:.2f} | {each} "
        f"| {best.memory_mb:.0f} |"
    )


@contextmanager
def competitors() -> Iterator[None]:
    """Keep each core busy with one process while the block runs."""
    processes = []
    try:
        for core in os.sched_getaffinity(0):
            # Linux shares a core between sessions, and a guest has a session of its own.
            process = subprocess.Popen(
                [sys.executable, "-c", "while True: pass"], start_new_session=True
            )
            processes.append(process)
            os.sched_setaffinity(process.pid, {core})
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def compare_competitors(scale: float, repeat: int) -> None:
    """Measure one case alone and with competitors, in turn, and print a table."""
    alone: list[Measured] = []
    loaded: list[Measured] = []
    for _ in range(repeat):
        alone.append(measure(ONE, scale))
        with competitors():
            loaded.append(measure(ONE, scale))
    print(f"load {os.getloadavg()[0]:.0f}\n")
    print("| 100 Mbit/s | alone, s | competitors, s | ratio | least to most | goal |")
    print("|---|--:|--:|--:|--:|--:|")
    cpu = [run.cpu_s for run in alone]
    wall = [run.wall_s for run in alone]
    halves = [run.wall_s / 2 for run in loaded]
    rows = {
        "CPU time": (cpu, [run.cpu_s for run in loaded]),
        "wall time, halved with competitors": (wall, halves),
        "CPU time alone, and half of the wall time with competitors": (cpu, halves),
    }
    for name, (base, times) in rows.items():
        ratios = [time / least for least, time in zip(base, times, strict=True)]
        cells = (
            name,
            f"{statistics.median(base):.2f}",
            f"{statistics.median(times):.2f}",
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{COMPETITORS_GOAL}",
        )
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=2, help="runs of each case")
    parser.add_argument(
        "--scale", type=float, default=1, help="of the durations, for a quick look without goals"
    )
    parser.add_argument(
        "--competitors",
        action="store_true",
        help="measure one case alone and with one competitor on each core",
    )
    given = parser.parse_args()
    scale = given.scale
    if given.competitors:
        compare_competitors(scale, given.repeat)
        return
    print("| case | wall s | goal | x real time | CPU s | us per packet | memory MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    measured: dict[Case, list[Measured]] = {}
    for case in CASES:
        measured[case] = [measure(case, scale) for _ in range(given.repeat)]
        print(row(case, scale, measured[case]), flush=True)

    def least(case: Case, what: Callable[[Measured], float]) -> float:
        return min(what(run) for run in measured[case])

    def each_s(run: Measured) -> float:
        return run.cpu_s / run.packets

    def between_s(run: Measured) -> float:
        return run.wall_s / run.packets

    print()
    many = least(MANY, each_s) / least(ONE, each_s)
    cost = f"CPU time per packet with 64 flows, divided by the time with one flow: {many:.2f}"
    print(f"{cost} (goal: at most {MANY_GOAL})")
    two = least(ONE, between_s) / least(TWO, between_s)
    gain = f"two guests at once, packets/s divided by those of one: {two:.2f}"
    print(f"{gain} (goal: at least {TWO_GOAL})")


if __name__ == "__main__":
    main()
