"""Measures the speed of the stacks in the simulator: data packets per CPU second, and instructions
per data packet.

    python benches/stacks.py

Each stack transfers 200 MB over a bottleneck of 100 Mbit/s with fq_codel. The RTT is 20 ms, and
there are no other flows. quinn uses encryption and ECN, and smoltcp does not. A data packet is a
packet of the sender. The CPU time is the time of the whole run. This time includes the sender, the
receiver, the network and the writing of files. The fastest of three runs is used, because host load
can only slow down a run.

Instructions are counted in the example `count` of the stack's crate, under valgrind, for 20 MB over
the same path. Host load does not affect these counts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from instructions import callgrind

import tailback

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3
COUNTED_BYTES = 20_000_000
# The goals of the project, in data packets per CPU second.
GOALS = {"quinn": 300_000, "smoltcp": 700_000}


def scenario(stack: str) -> dict[str, Any]:
    return {
        "duration": "60s",
        "bottleneck": {"rate": "100Mbit", "queue": {"aqm": "fq_codel", "ecn": True}},
        "path": {"rtt": "20ms"},
        "programs": [{"kind": stack, "name": "program", "bytes": "200MB"}],
    }


def speed(stack: str, plugins: Sequence[Path]) -> float:
    found: list[float] = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            [run] = tailback.run(scenario(stack), out=Path(folder), plugins=plugins)
            [program] = run.summary["programs"]
            if program["completion_s"] is None:
                raise SystemExit(f"{stack}: the transfer did not finish")
            [file] = (Path(folder) / "runs").glob("*/timing.json")
            cpu_s: float = json.loads(file.read_text(encoding="utf-8"))["cpu_s"]
            found.append(program["packets"] / cpu_s)
    return max(found)


def instructions(stack: str) -> int | None:
    """Return the instructions per data packet, or None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    target = ROOT / "target" / "stacks"
    manifest = ROOT / "stacks" / stack / "Cargo.toml"
    build = ["cargo", "build", "--locked", "--release", "--quiet", "--example", "count"]
    build += ["--manifest-path", str(manifest), "--target-dir", str(target)]
    subprocess.run(build, check=True, cwd=ROOT)
    return callgrind([str(target / "release/examples/count"), str(COUNTED_BYTES)]).instructions


def main() -> None:
    plugins = [ROOT / "stacks" / stack for stack in GOALS]
    print(f"{'stack':<10} {'packets/CPU s':>13} {'goal':>8} {'instructions/packet':>19}")
    for stack, goal in GOALS.items():
        counted = instructions(stack)
        text = "-" if counted is None else f"{counted:,.0f}"
        print(f"{stack:<10} {speed(stack, plugins):>13,.0f} {goal:>8,} {text:>19}", flush=True)


if __name__ == "__main__":
    main()
