"""Measures the speed-up of one run on two cores (`tailback run --cores 2`), for several link
delays.

Each network runs once on one core, and once divided into two parts on two cores. Times include the
time to build the network. The script checks that both runs send the same packets. Each line is the
median of five runs. The script needs two idle cores."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
REPEATS = 5


def build() -> Path:
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-scenario"]
    subprocess.run([*command, "--example", "parts"], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "release" / "examples" / "parts"


def parking_lot(delay: str) -> str:
    """Return ten links at 10 Gbit/s in a row, with ten flows over each link and four flows over all
    links."""
    lines = ['duration = "1s"', "[path]", 'rtt = "2ms"']
    names = [f"l{link}" for link in range(10)]
    for name in names:
        lines += [f"[links.{name}]", 'rate = "10Gbit"', f'delay = "{delay}"']
        lines.append('queue = { aqm = "codel" }')
    for name in names:
        lines += ["[[flows]]", f'route = ["{name}"]', "count = 10", 'cc = "cubic"']
    route = ", ".join(f'"{name}"' for name in names)
    lines += ["[[flows]]", f"route = [{route}]", "count = 4", 'cc = "cubic"']
    return "\n".join([*lines, ""])


def tree(delay: str, *, apart: bool) -> str:
    """Return 100 links at 1 Gbit/s and 10,000 flows. Each flow uses four links, which are chosen
    from all links or from one half of the links.
    """
    lines = ['duration = "1s"', "[path]", 'rtt = "200us"']
    names = [f"l{link}" for link in range(100)]
    for name in names:
        lines += [f"[links.{name}]", 'rate = "1Gbit"', f'delay = "{delay}"']
        lines.append('queue = { aqm = "codel", target = "100us", interval = "2ms" }')
    draw = random.Random(1)
    for number in range(1000):
        half = names[:50] if number % 2 else names[50:]
        route = ", ".join(f'"{name}"' for name in draw.sample(half if apart else names, 4))
        lines += ["[[flows]]", f"route = [{route}]", "count = 10", 'cc = "cubic"']
    return "\n".join([*lines, ""])


CASES: dict[str, Callable[[str], str]] = {
    "parking lot: 10 links at 10 Gbit/s, 104 flows": parking_lot,
    "tree: 100 links at 1 Gbit/s, 10,000 flows, each within one half of the links": (
        lambda d: tree(d, apart=True)
    ),
    "tree: 100 links at 1 Gbit/s, 10,000 flows over any links": lambda d: tree(d, apart=False),
}
DELAYS = ("1ms", "100us", "10us", "1us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON, nothing else")
    args = parser.parse_args()
    runner, rows = build(), []
    if not args.json:
        print("| network | delay of a link | one core, s | two cores, s | gain |")
        print("|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.toml"
        for name, make in CASES.items():
            for delay in DELAYS:
                file.write_text(make(delay), encoding="utf-8")
                seen = []
                for _ in range(REPEATS):
                    command = [str(runner), str(file), "2"]
                    found = subprocess.run(command, check=True, capture_output=True, text=True)
                    seen.append([float(one) for one in found.stdout.split()])
                one, two, *_ = (median(column) for column in zip(*seen, strict=True))
                row = {"network": name, "delay": delay, "one_s": one, "two_s": two}
                rows.append({**row, "gain": one / two})
                if not args.json:
                    print(
                        f"| {name} | `{delay}` | {one:.2f} | {two:.2f} | {one / two:.2f} |",
                        flush=True,
                    )
    if args.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
