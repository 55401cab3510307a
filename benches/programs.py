"""Measures the CPU time and wall time of every ready-made program (`[[programs]]`) in a guest, and
of a TCP flow for comparison.

Each case runs alone until it ends, at 20 Mbit/s and 20 ms with fq_codel and ECN. Fast programs also
run at 100 Mbit/s. The CPU time is the time of the guest with all its processes. The wall time is
the time from the guest's start to its end. `--twice` runs each case again, two cases at a time, and
prints whether the results have the same bytes."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tailback

QUEUE = {"aqm": "fq_codel", "ecn": True}


@dataclass(frozen=True)
class Case:
    """A ready-made program or a TCP flow, at one link rate."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    seconds: float = 22.0
    rate: str = "20Mbit"
    offloads: bool = False
    goal_cpu_s: float | None = None

    def scenario(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "duration": f"{self.seconds:g}s",
            "bottleneck": {"rate": self.rate, "queue": QUEUE},
            "path": {"rtt": "20ms", "offloads": self.offloads},
        }
        if self.name == "flow":
            made["flows"] = [{"name": "flow", "cc": "cubic", "ecn": True, **self.options}]
        else:
            made["programs"] = [{"kind": self.name, "name": "program", **self.options}]
        return made


SIZE = {"bytes": "20000000b"}
FIVE = {"bytes": "5000000b"}
FAST = {"bytes": "100000000b"}
CASES = (
    Case("flow", seconds=20.0),
    Case("iperf3", {"seconds": 20, "ecn": True}, goal_cpu_s=2.5),
    Case("http", {**SIZE, "ecn": True}),
    Case("http", {**SIZE, "ecn": True, "tls": True}),
    Case("quic-go", SIZE, goal_cpu_s=4.5),
    Case("quinn", SIZE, goal_cpu_s=3.0),
    Case("quinn", {**SIZE, "threads": 2}),
    Case("s2n-quic", SIZE),
    Case("quiche", SIZE),
    Case("quiche", {**SIZE, "control": "bbr2"}),
    Case("aioquic", FIVE),
    Case("ping"),
    Case("irtt"),
    Case("flent", seconds=35.0),
    Case("iperf3", {"seconds": 10, "ecn": True}, 12.0, "100Mbit"),
    Case("quic-go", FAST, 10.0, "100Mbit"),
    Case("quinn", FAST, 10.0, "100Mbit"),
    Case("s2n-quic", FAST, 10.0, "100Mbit"),
    Case("quiche", {**FAST, "control": "bbr2"}, 10.0, "100Mbit"),
    Case("quinn", SIZE, offloads=True),
    Case("quic-go", SIZE, offloads=True),
)


def bytes_of(run: Any) -> str:
    total = hashlib.sha256()
    for path in sorted(Path(run.path).rglob("*")):
        if path.is_file() and path.name not in ("timing.json", "manifest.json"):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twice", action="store_true", help="each again, two at a time")
    parser.add_argument("--only", metavar="NAME", help="cases of this entry")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    same = True
    print(
        f"{'entry':<10} {'options':<44} {'Mbit/s':>7} {'done s':>8} {'marks':>6} {'CPU s':>6} "
        f"{'goal':>5} {'wall s':>6} {'x real':>6} {'MB':>5}"
    )
    for case in CASES:
        if args.only and case.name != args.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = tailback.run(case.scenario(), engine="kernel", out=Path(folder), progress=False)
            run = next(iter(found))
            timing, summary = run.timing, run.summary
            part = (summary["flows"] or summary["programs"])[0]
            said = {**case.options, **({"offloads": True} if case.offloads else {})}
            words = " ".join(f"{key}={value}" for key, value in said.items())
            done = part["completion_s"]
            line = (
                f"{case.name:<10} {f'{case.rate} {words}':<44.44} {part['throughput_mbit']:7.2f} "
                f"{'' if done is None else f'{done:.3f}':>8} {part['marks']:6d} "
                f"{timing['cpu_s']:6.2f} {case.goal_cpu_s or '':>5} {timing['wall_s']:6.2f} "
                f"{case.seconds / timing['wall_s']:6.1f} {(timing['memory_bytes'] or 0) / 1e6:5.0f}"
            )
            if args.twice:
                seeds = 2
                both = []
                for name in ("a", "b"):
                    again = tailback.run(
                        case.scenario(),
                        engine="kernel",
                        out=Path(folder) / name,
                        seeds=seeds,
                        jobs=2,
                        progress=False,
                    )
                    both.append([bytes_of(one) for one in again])
                equal = both[0] == both[1] and both[0][0] == bytes_of(run)
                same &= equal
                line += "  same bytes" if equal else "  OTHER BYTES"
            print(line, flush=True)
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
