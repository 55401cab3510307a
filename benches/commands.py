"""Measures the cost of commands apart from the simulation itself, and prints the tables of
docs/evidence/performance.md. The tables cover start-up, sweeps of short runs, the memory of large
runs, and large stores.

    python benches/commands.py [start-up] [sweep] [memory] [store] [--runs N ...] [--folder DIR]

Each table shows the CPU time of the whole process (`getrusage`). This time depends on the machine,
and a little on the machine's load. Every table states the date and the machine's load. The runs of
a store are copies of one real run, with their own ids, seeds and hashes, so filling a store
simulates nothing. A run needs 28 kB of disk and seven inodes. The script deletes what it writes,
and refuses to begin if a store would use more than half of the free disk.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench import processor

import tailback
from tailback import _native

FIRST = Path(tailback.__file__).parent / "examples" / "first.toml"
TURNS = 7
SWEEP_RUNS = 10_000
SEEDS = 5
SHORT = """\
title = "short runs {number}"
duration = "100ms"
bottleneck = {{ rate = "10Mbit", queue = {{ aqm = "fifo", limit = "100p" }} }}
path = {{ rtt = "20ms" }}
flows = [{{ cc = "reno" }}]
[sweep]
seeds = {seeds}
"path.rtt" = [{rtts}]
"""
LARGE = """\
title = "large"
bottleneck = { rate = "100Gbit", queue = { aqm = "fifo", limit = "1000p" } }
path = { rtt = "20ms" }
flows = [{ cc = "cubic", count = 100000 }]
"""
MAX_SWEEP = 100_000
"""The largest number of runs of a sweep that tailback accepts."""
DISK_B = 28_000
"""The disk space that a run needs, in bytes."""


@dataclass(frozen=True)
class Usage:
    """What one command needed."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def command(*words: str, cwd: Path, own_cache: bool = False) -> Usage:
    """Run a tailback command, and return its CPU time, wall time and peak memory.

    With `own_cache`, the cache of the user is a folder in `cwd`, so that the first report finds no
    figures of earlier measurements.
    """
    # A child process inherits the peak memory of its parent. Writing 5 to clear_refs resets the
    # peak to the current use.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    began = time.monotonic()
    # Python stores compiled modules only if this variable is not set.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if own_cache:
        environment["XDG_CACHE_HOME"] = str(cwd / "cache")
    process = subprocess.Popen(
        [sys.executable, "-m", "tailback", *words],
        cwd=cwd,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"tailback {' '.join(words)}: exit status {process.returncode}")
    return Usage(
        usage.ru_utime + usage.ru_stime,
        time.monotonic() - began,
        usage.ru_maxrss * 1024 / 1e6,
    )


def start_up(folder: Path, _args: argparse.Namespace) -> None:
    """Print the CPU time of short commands, which is the median of several repetitions."""
    shutil.copy(FIRST, folder)
    commands = {
        "run first.toml": 0.10,
        "--version": 0.06,
        "check first.toml": 0.06,
        "list": 0.06,
    }
    found: dict[str, list[float]] = {words: [] for words in commands}
    for turn in range(TURNS + 1):
        for words, times in found.items():
            shutil.rmtree(folder / "results", ignore_errors=True)
            used = command(*words.split(), cwd=folder)
            if turn:
                # Ignore the first repetition, which compiles modules and fills the cache.
                times.append(used.cpu_s)
    print("| command | CPU s, median | least to most | goal, CPU s |\n|---|--:|--:|--:|")
    for words, times in found.items():
        spread = f"{min(times):.3f} to {max(times):.3f}"
        middle = statistics.median(times)
        print(f"| `tailback {words}` | {middle:.3f} | {spread} | {commands[words]:.2f} |")


def memory(folder: Path, _args: argparse.Namespace) -> None:
    """Print the peak memory of a run of 100,000 flows, with and without recorded series."""
    file = folder / "large.toml"
    file.write_text(LARGE)
    print("| duration | series | peak, MB | CPU s |\n|---|---|--:|--:|")
    for duration, series in (("1s", "interval"), ("2s", "off"), ("2s", "interval")):
        values = (f"duration={duration}", f"record.series={series}")
        words = [word for value in values for word in ("--set", value)]
        used = command("run", file.name, *words, cwd=folder)
        shutil.rmtree(folder / "results")
        named = "every `100ms` (default)" if series == "interval" else series
        print(f"| `{duration}` | {named} | {used.peak_mb:.0f} | {used.cpu_s:.1f} |", flush=True)


def sweep(folder: Path, _args: argparse.Namespace) -> None:
    """Print the cost of a sweep of short runs, and of the commands that read it."""
    file = short_runs(folder, 0, SWEEP_RUNS)
    steps = {
        "`tailback run`": ("run", file.name),
        "`tailback run` again: all runs are stored": ("run", file.name),
        "`tailback report`": ("report", "latest"),
        "`tailback report`, again": ("report", "latest"),
        "`tailback results list`": ("results", "list"),
        "`tailback results prune --older-than 0`": ("results", "prune", "--older-than", "0"),
    }
    print(f"| {SWEEP_RUNS:,} runs | CPU s | wall s | peak, MB |\n|---|--:|--:|--:|")
    for name, words in steps.items():
        used = command(*words, cwd=folder, own_cache=True)
        print(f"| {name} | {used.cpu_s:.1f} | {used.wall_s:.1f} | {used.peak_mb:.0f} |", flush=True)


def store(folder: Path, args: argparse.Namespace) -> None:
    """Print the cost of commands on stores of several sizes. All stores are deleted at the end,
    because after a deletion ext4 needs more CPU time to create files."""
    if sum(args.runs) * DISK_B > shutil.disk_usage(folder).free / 2:
        raise SystemExit(f"{sum(args.runs):,} runs need {sum(args.runs) * DISK_B / 1e9:.0f} GB")
    print("| runs in the store | command | CPU s | wall s | peak, MB |\n|--:|---|--:|--:|--:|")
    for steps in (reading, deleting):
        for runs in args.runs:
            for name, used in steps(runs, folder / str(runs)):
                print(
                    f"| {runs:,} | {name} | {used.cpu_s:.1f} | {used.wall_s:.1f}"
                    f" | {used.peak_mb:.0f} |",
                    flush=True,
                )


def reading(runs: int, root: Path) -> Iterator[tuple[str, Usage]]:
    """Fill a store. Yield each command that reads the store, with its CPU time and memory."""
    root.mkdir()
    sweeps = [
        short_runs(root, number, min(MAX_SWEEP, runs - begin))
        for number, begin in enumerate(range(0, runs, MAX_SWEEP))
    ]
    for file in sweeps:
        copy_runs(file, root / "results")
    # tailback does not catalogue a folder that was written only moments ago, because the folder may
    # still change.
    time.sleep(3)
    for file in sweeps[:-1]:
        command("run", file.name, cwd=root)
    last = ("run", sweeps[-1].name)
    size = runs - MAX_SWEEP * (len(sweeps) - 1)
    own = f"`tailback run`, {size:,} stored runs"
    yield own, command(*last, cwd=root)
    yield f"{own}, again", command(*last, cwd=root)
    for again in ("", ", again"):
        report = f"`tailback report`, {size:,} runs{again}"
        yield report, command("report", "latest", cwd=root, own_cache=True)
    yield "`tailback results list`", command("results", "list", cwd=root)
    yield "`tailback results prune`, nothing to delete", command("results", "prune", cwd=root)


def deleting(_runs: int, root: Path) -> Iterator[tuple[str, Usage]]:
    """Delete a store. Yield the command that deletes the store, with its CPU time and memory."""
    yield (
        "`tailback results prune --older-than 0`, deletes everything",
        command("results", "prune", "--older-than", "0", cwd=root),
    )


def short_runs(folder: Path, number: int, runs: int) -> Path:
    """Write a scenario with `runs` short runs. Return the path of the scenario file."""
    # The RTTs of two sweeps differ, so that they share no run.
    rtts = (20_000 + number + 10 * i for i in range(runs // SEEDS))
    text = SHORT.format(number=number, seeds=SEEDS, rtts=", ".join(f'"{rtt}us"' for rtt in rtts))
    file = folder / f"{number}.toml"
    file.write_text(text)
    return file


def copy_runs(file: Path, results: Path) -> None:
    """Run a scenario like the first run of a sweep, and write copies of its folder as the runs of
    the sweep."""
    with tempfile.TemporaryDirectory(dir=results.parent) as other:
        values = {"sweep": {"seeds": 1}}
        first = tailback.run(file, set=values, out=other, progress=False)[0].path
        manifest, summary, timing = (
            json.loads((first / name).read_text())
            for name in ("manifest.json", "summary.json", "timing.json")
        )
        rest = ("account.json", "series.parquet", "histograms.parquet")
        constant = {name: (first / name).read_bytes() for name in rest}
    for document in (manifest, timing):
        del document["sha256"]
    for point in tailback.check(file).points:
        folder = results / "runs" / point.run_id
        own = {"run_id": point.run_id, "seed": point.seed}
        short = json.dumps({**summary, **own}, indent=2).encode()
        mark = {"bytes": len(short), "sha256": hashlib.sha256(short).hexdigest()}
        marks = {**manifest["files"], "summary.json": mark}
        described = {**manifest, **own, "canonical": json.loads(point.canonical), "files": marks}
        files: dict[str, bytes] = {
            "summary.json": short,
            **constant,
            "timing.json": sealed({**timing, "run_id": point.run_id}),
            "manifest.json": sealed(described),
        }
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


def sealed(document: dict[str, Any]) -> bytes:
    return bytes(_native.seal(json.dumps(document, indent=2)))


PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "start-up": start_up,
    "sweep": sweep,
    "memory": memory,
    "store": store,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} [all]")
    parser.add_argument("--runs", nargs="+", type=int, default=[20_000, 100_000])
    parser.add_argument("--folder", type=Path, help="where to write [the usual temporary folder]")
    args = parser.parse_args()
    for name in args.parts:
        if name not in PARTS:
            parser.error(f"unknown part {name}; expected some of {', '.join(PARTS)}")
    for name in args.parts or PARTS:
        load = f"{os.getloadavg()[0]:.0f}"
        print(f"\n{name}: {date.today()}, load {load}, {os.cpu_count()} cores, {processor()}\n")
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            PARTS[name](Path(folder), args)


if __name__ == "__main__":
    main()
