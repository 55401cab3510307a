"""Measures how much CPU time a program that polls costs on the kernel engine, for each way of
waiting.

    python benches/polling.py

benches/polling/media.c sends 8 Mbit/s through DualPI2 for 10 s, beside a CUBIC flow. Like the test
tools of SCReAM, this program checks in a loop whether a datagram is due. CPU time is the time of
the guest with all its processes, in seconds per simulated second. The host divides this time into
user and system time. For the host, the guest's kernel is a user process. The fastest of three runs
is used, because host load can only slow down a run. The script needs a C compiler.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import tailback

SOURCE = Path(__file__).resolve().parent / "polling" / "media.c"
RUNS = 3
SECONDS = 10
RATE_KBIT = 8000
# The slack of timers is 50 us unless a program changes it.
SLACK = 'echo {ns} > /proc/$$/timerslack_ns && exec "$@"'
CASES: tuple[tuple[str, str, int | None], ...] = (
    ("sleeps until the next datagram", "until", None),
    ("sleeps 1 us in a loop", "sleep", None),
    ("the same, timer slack 500 us", "sleep", 500_000),
    ("the same, timer slack 1 ms", "sleep", 1_000_000),
    ("reads the clock in a loop", "clock", None),
)


def scenario(folder: Path, wait: str, slack_ns: int | None) -> dict[str, Any]:
    send = ["media", "send", "{receiver}", str(RATE_KBIT), str(SECONDS), wait]
    if slack_ns is not None:
        send = ["sh", "-c", SLACK.format(ns=slack_ns), "sh", *send]
    return {
        "duration": f"{SECONDS + 1}s",
        "bottleneck": {
            "rate": "20Mbit",
            "queue": {"aqm": "dualpi2", "step_thresh": "2ms"},
        },
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
        "programs": [
            {
                "name": "media",
                "files": [str(folder / "media")],
                "sender": {"run": send},
                "receiver": {"run": ["media", "receive"], "ready": "udp:5000"},
            }
        ],
    }


def cost(folder: Path, wait: str, slack_ns: int | None) -> tuple[float, float, float, Any]:
    """Run once. Return the user and system time per simulated second, the polls per second, and the
    program's summary."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        [run] = tailback.run(
            scenario(folder, wait, slack_ns), engine="kernel", out=Path(out), progress=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = run.summary["duration_s"]
        [program] = run.summary["programs"]
        stdout = run.path / "programs/media/sender/stdout.txt"
        polls = json.loads(stdout.read_text(encoding="utf-8"))["polls"] / SECONDS
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return user / seconds, system / seconds, polls, program


def main() -> None:
    warnings.simplefilter("ignore")
    print(
        f"{'the sender':<32} {'polls/s':>9} {'Mbit/s':>7} {'p99 ms':>7} {'CPU':>6} {'user':>6} "
        f"{'system':>6}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiler = os.environ.get("CC", "cc")
        words = [compiler, "-O2", "-static", "-pthread", str(SOURCE), "-o", str(folder / "media")]
        subprocess.run(words, check=True)
        for case, wait, slack_ns in CASES:
            found = [cost(folder, wait, slack_ns) for _ in range(RUNS)]
            user, system, polls, program = min(found, key=lambda one: one[0] + one[1])
            print(
                f"{case:<32} {polls:>9,.0f} {program['throughput_mbit']:>7.2f} "
                f"{program['rtt_ms']['p99']:>7.2f} {user + system:>6.3f} {user:>6.3f} "
                f"{system:>6.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
