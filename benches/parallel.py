"""What one run on two cores could gain at most.

A conservative parallel simulation cuts a network where links have delay: that delay is how far
one part may run ahead of the other. The bound is measured, not estimated: both halves of a network
that has no traffic between them run on a thread each and wait for one another after every
lookahead; nothing is handed over, which a real one would have to do on top. Compared with the whole
network on one core. Each line is the median of three; needs two idle cores."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
REPEATS = 3


def build() -> Path:
    """Compiles the runner and returns its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-scenario"]
    subprocess.run([*command, "--example", "lockstep"], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "release" / "examples" / "lockstep"


def parking_lot(parts: Iterable[int], delay: str) -> str:
    """Of ten links at 10 Gbit/s those of some halves: ten flows over each, two over a half."""
    lines = ['duration = "300ms"', "[path]", 'rtt = "2ms"']
    flows = []
    for part in parts:
        own = range(5 * part, 5 * part + 5)
        for link in own:
            lines += [f"[links.l{link}]", 'rate = "10Gbit"', f'delay = "{delay}"']
            lines.append('queue = { aqm = "codel" }')
            flows += ["[[flows]]", f'route = ["l{link}"]', "count = 10", 'cc = "cubic"']
        route = ", ".join(f'"l{link}"' for link in own)
        flows += ["[[flows]]", f"route = [{route}]", "count = 2", 'cc = "cubic"']
    return "\n".join([*lines, *flows, ""])


def fat_tree(parts: Iterable[int], delay: str) -> str:
    """Of a hundred links at 1 Gbit/s those of some halves: 5,000 flows over four links of one."""
    lines = ['duration = "300ms"', "[path]", 'rtt = "200us"']
    flows = []
    for part in parts:
        own = [f"l{link}" for link in range(50 * part, 50 * part + 50)]
        for link in own:
            lines += [f"[links.{link}]", 'rate = "1Gbit"', f'delay = "{delay}"']
            lines.append('queue = { aqm = "codel", target = "100us", interval = "2ms" }')
        draw = random.Random(part)
        for _ in range(500):
            route = ", ".join(f'"{link}"' for link in draw.sample(own, 4))
            flows += ["[[flows]]", f"route = [{route}]", "count = 10", 'cc = "cubic"']
    return "\n".join([*lines, *flows, ""])


CASES: dict[str, tuple[Callable[[Iterable[int], str], str], tuple[str, ...]]] = {
    "parking lot, 10 links at 10 Gbit/s, 104 flows": (parking_lot, ("1ms", "100us", "10us")),
    "fat tree, 100 links at 1 Gbit/s, 10,000 flows": (fat_tree, ("100us", "10us", "1us")),
}
NANOSECONDS = {"ms": 1_000_000, "us": 1_000}


def main() -> None:
    """Prints a line for each network and lookahead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON, nothing else")
    args = parser.parse_args()
    runner, rows = build(), []
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("whole.toml", "first.toml", "second.toml")]
        for name, (make, delays) in CASES.items():
            for delay in delays:
                for file, parts in zip(files, ((0, 1), (0,), (1,)), strict=True):
                    file.write_text(make(parts, delay))
                window = int(delay[:-2]) * NANOSECONDS[delay[-2:]]
                seen = []
                for _ in range(REPEATS):
                    command = [str(runner), *map(str, files), str(window)]
                    found = subprocess.run(command, check=True, capture_output=True, text=True)
                    seen.append([float(one) for one in found.stdout.split()])
                whole, apart, both = (median(column) for column in zip(*seen, strict=True))
                rows.append(
                    {
                        "network": name,
                        "lookahead": delay,
                        "whole_s": whole,
                        "halves_s": apart,
                        "at_once_s": both,
                        "gain_at_most": whole / both,
                    }
                )
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'network':<46} {'lookahead':>9} {'whole':>7} {'halves':>7} {'at once':>7} {'gain':>5}")
    for row in rows:
        print(
            f"{row['network']:<46} {row['lookahead']:>9} {row['whole_s']:>7.2f} "
            f"{row['halves_s']:>7.2f} {row['at_once_s']:>7.2f} {row['gain_at_most']:>5.2f}"
        )


if __name__ == "__main__":
    main()
