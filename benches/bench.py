"""Measures speed, memory and start-up, for `make bench`.

Each case is a `tailback run` with one thread into a temporary folder, and no other case runs at the
same time. Packets per second are data packets of TCP senders divided by the CPU time of the
simulation, without start-up. Peak memory is the peak memory of the whole process, including Python.
The table shows the best of several runs, because host load can only slow down a run.

Speed depends on the machine. The goals are therefore numbers of instructions, which are the same on
all machines (benches/instructions.py)."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Measured:
    packets: int
    events: int
    cpu_s: float
    peak_mb: float
    wall_s: float
    process_s: float
    """CPU time of the whole process, in seconds."""

    @property
    def speed(self) -> float:
        """Million data packets per second of CPU time."""
        return self.packets / self.cpu_s / 1e6


def measure(case: Path, *extra: str) -> Measured:
    """Run a case once."""
    with tempfile.TemporaryDirectory() as out:
        since = time.perf_counter()
        command = [sys.executable, "-m", "tailback", "run", str(case), "--jobs", "1", "--out", out]
        # Reset the peak, because a child process inherits the peak memory of its parent. Writing 5
        # to clear_refs resets the peak to the current use.
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(
                [*command, *extra], stdout=subprocess.DEVNULL, stderr=complaints
            )
            # wait4 returns the resource usage of this child process alone.
            _, status, usage = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - since
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                complaints.seek(0)
                sys.stderr.buffer.write(complaints.read())
                raise SystemExit(f"{case.name}: exit status {process.returncode}")
        timings = [json.loads(path.read_bytes()) for path in Path(out).glob("runs/*/timing.json")]
        return Measured(
            packets=sum(t["data_packets"] for t in timings),
            events=sum(t["events"] for t in timings),
            cpu_s=sum(t["cpu_s"] for t in timings),
            peak_mb=usage.ru_maxrss * 1024 / 1e6,
            wall_s=wall_s,
            process_s=usage.ru_utime + usage.ru_stime,
        )


def processor() -> str:
    """Return this machine's processor model and its CPU family, such as "AMD EPYC, family 25"."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    name = re.sub(r"\s+(\d+-Core )?Processor$", "", facts.get("model name", "unknown"))
    return f"{name}, family {facts.get('cpu family', 'unknown')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of cases (default: all)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each case (default 3)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    cases = sorted(HERE.glob("*.toml"))
    if args.cases:
        cases = [HERE / f"{name}.toml" for name in args.cases]

    rows: dict[str, dict[str, float]] = {}
    if not args.json:
        print(f"{os.cpu_count()} cores, {processor()}")
        print(f"{'case':<10} {'M packets/s':>11} {'peak MB':>8} {'packets':>10} {'cpu s':>7}")
    for case in cases:
        runs = [measure(case) for _ in range(args.repeat)]
        best = max(runs, key=lambda run: run.speed)
        peak = max(run.peak_mb for run in runs)
        rows[case.stem] = {
            "mpackets_per_cpu_s": best.speed,
            "peak_mb": peak,
            "data_packets": best.packets,
            "events": best.events,
            "cpu_s": best.cpu_s,
        }
        if not args.json:
            print(
                f"{case.stem:<10} {best.speed:>11.2f} {peak:>8.0f} {best.packets:>10} "
                f"{best.cpu_s:>7.3f}",
                flush=True,
            )
    startup = min(
        measure(HERE / "c.toml", "--set", "duration=1ms").wall_s for _ in range(2 * args.repeat)
    )
    if args.json:
        facts = {"processor": processor(), "cases": rows, "startup_s": startup}
        print(json.dumps(facts, indent=1))
    else:
        print(f"start-up of `tailback run`: {startup:.2f} s")


if __name__ == "__main__":
    main()
