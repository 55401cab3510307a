"""Measures how much faster the engine is if compiled for x86-64-v3, with profile-guided
optimisation (PGO), or with both.

    python benches/variants.py [CASE ...]

The script prints instructions and packets per CPU second for the runner of `make bench`. The
profile is recorded in short runs of all cases, and merged by llvm-profdata. llvm-profdata must have
the same release as rustc's LLVM (`rustc -vV`). Without llvm-profdata, the columns with profiles are
left out. Times are medians over runs that alternate between the variants. Every variant must
simulate the same packets."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from instructions import DURATIONS, HERE, count

ROOT = HERE.parent
SECONDS = {"a": "300s", "e": "10s", "cake": "200s", "dualpi2": "200s"}
"""Simulated time of the timed runs. Each run takes about a second."""
ROUNDS = 5
V3 = "-Ctarget-cpu=x86-64-v3"


def build(name: str, flags: str) -> Path:
    """Compile the runner with these flags. Return its path."""
    target = ROOT / "target" / "variants" / name
    command = ["cargo", "build", "--release", "--quiet", "-p", "tailback-scenario"]
    command += ["--example", "count", "--target-dir", str(target)]
    subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"RUSTFLAGS": flags})
    return target / "release" / "examples" / "count"


def profdata() -> str | None:
    """Return the llvm-profdata that can read the profiles of this rustc, if it is installed."""
    told = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    major = told.split("LLVM version: ")[1].split(".")[0]
    places = (f"llvm-profdata-{major}", f"/usr/lib/llvm-{major}/bin/llvm-profdata")
    return next(filter(None, map(shutil.which, places)), None)


def profile(tool: str, folder: Path) -> Path:
    """Make the profile of short runs of every case. Return its path."""
    runner = build("profiled", f"-Cprofile-generate={folder}")
    for case in DURATIONS:
        scenario = [str(HERE / f"{case}.toml"), "3s"]
        subprocess.run([str(runner), *scenario], check=True, stdout=subprocess.DEVNULL)
    merged = folder / "all.profdata"
    subprocess.run([tool, "merge", "-o", str(merged), str(folder)], check=True)
    return merged


def timed(runner: Path, case: str) -> tuple[float, int]:
    """Run a case with one build of the runner. Return its CPU seconds and packets."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [str(runner), str(HERE / f"{case}.toml"), SECONDS[case]]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, int(told)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(SECONDS)}")
    cases = parser.parse_args().cases or list(SECONDS)
    runners = {"as it is": build("plain", ""), "x86-64-v3": build("v3", V3)}
    tool = profdata()
    with tempfile.TemporaryDirectory() as folder:
        if tool is None:
            print("no llvm-profdata of this rustc's release: no profiles", file=sys.stderr)
        else:
            use = f"-Cprofile-use={profile(tool, Path(folder))}"
            runners["PGO"] = build("pgo", use)
            runners["both"] = build("both", f"{use} {V3}")
    print("| case | " + " | ".join(f"{name}: instructions | M/s" for name in runners) + " |")
    print("|---|" + "--:|--:|" * len(runners))
    for case in cases:
        rates: dict[str, list[float]] = {name: [] for name in runners}
        packets = set()
        for _ in range(ROUNDS):
            for name, runner in runners.items():
                seconds, sent = timed(runner, case)
                rates[name].append(sent / seconds / 1e6)
                packets.add(sent)
        if len(packets) != 1:
            sys.exit(f"{case}: not the same packets: {packets}")
        cells = [
            f"{count(runner, case).instructions} | {statistics.median(rates[name]):.2f}"
            for name, runner in runners.items()
        ]
        print(f"| {case} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
