"""Measures the cost of a cluster with two workers, and prints the table of docs/how-to/cluster.md.

The script runs every scenario of `l4s-battery`, a set that comes with tailback, on a Dask cluster
of two processes. Each run is shortened to a tenth of its duration, with one seed. The script also
measures how long it takes to store many runs that end at the same time, and to merge two folders of
results. From the measured processor time, the script estimates how long `l4s-battery` would take on
many cores with many sets of parameters.

    python benches/cluster.py [--sets 1000] [--cores 500]
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import tailback
from tailback import _native
from tailback.base import folders
from tailback.running import batch, scenarios
from tailback.running.spread import parcel
from tailback.running.spread.shard import PartDone, Shard, using
from tailback_studies import batteries

BRIEF = {"duration": "25s"}
TINY_RUNS = 400
WORKERS = 2
SEEDS = 10

SHORT = """\
title    = "over at once"
duration = "200ms"
warmup   = "100ms"

[bottleneck]
rate  = "5Mbit"
queue = "fifo"

[path]
rtt = "10ms"

[[flows]]
cc = "reno"
"""


@contextmanager
def cluster(folder: Path, memory: Path) -> Iterator[str]:
    """Start a Dask scheduler and two workers with one thread each. The working folders of the
    scheduler and the workers are in memory."""
    file = folder / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    worker = ["worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(memory)]
    asked = [["scheduler", "--port", "0"], *([worker] * WORKERS)]
    with (folder / "log").open("ab") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *words, *common], stdout=log, stderr=log
            )
            for words in asked
        ]
    try:
        yield str(file)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def taking(runs: Mapping[str, Path], out: Path) -> float:
    """Return the mean time, in seconds, that the client needs to verify and store a run from a
    worker."""
    target, version = _native.Store(out), tailback.engine_version()
    whole = {run_id: parcel.files(path) for run_id, path in runs.items()}
    begun = time.monotonic()
    with folders.scratch(out / "runs") as scratch, ThreadPoolExecutor(parcel.THREADS) as pool:

        def take(run_id: str) -> None:
            parts = {name: [data] for name, data in whole[run_id].items()}
            parcel.take(parts, run_id, version, target, scratch)

        list(pool.map(take, whole))
    return (time.monotonic() - begun) / len(whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=500)
    asked = parser.parse_args()
    battery = batteries.get("l4s-battery")
    files = list(dict.fromkeys(file for part in battery.parts for file in part.files))
    whole = [scenarios.load(file, [], SEEDS) for file in files]
    costs = {point.run_id: point.cost for one in whole for point in one.points}
    brief = [scenarios.load(file, scenarios.texts(BRIEF), 1) for file in files]
    estimated = math.fsum(point.cost for one in brief for point in one.points)
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory(dir="/dev/shm") as memory,
    ):
        folder = Path(name)
        with cluster(folder, Path(memory)) as address, tailback.on_cluster(address):
            tailback.run(SHORT, seeds=WORKERS, out=folder / "first", progress=False)
            begun = time.monotonic()
            jobs = [batch.Job(file, BRIEF, 1) for file in files]
            found = tailback.run_many(jobs, out=folder / "brief", progress=False)
            took = time.monotonic() - begun
            runs = {run.run_id: run for results in found for run in results}
            used = math.fsum(run.timing["cpu_s"] for run in runs.values())
            computed = time.process_time()
            tiny = tailback.run(SHORT, seeds=TINY_RUNS, out=folder / "tiny", progress=False)
            computed = (time.process_time() - computed) / TINY_RUNS
        each = taking({run.run_id: run.path for run in tiny}, folder / "taken")
        for part in (1, 2):
            try:
                with using(Shard(part, 2)):
                    tailback.run(SHORT, seeds=TINY_RUNS, out=folder / f"{part}", progress=False)
            except PartDone:
                pass
        begun = time.monotonic()
        tailback.merge([folder / "1", folder / "2"], folder / "merged", progress=False)
        merged = (time.monotonic() - begun) / TINY_RUNS
        size = sum(f.stat().st_size for f in (folder / "brief/runs").rglob("*") if f.is_file())
    per_cost = used / estimated
    one_set = per_cost * math.fsum(costs.values())
    longest = per_cost * max(costs.values())
    total, many = asked.sets * one_set, asked.sets * len(costs)
    beside = (WORKERS * took - used) / len(runs)
    workers = (total + many * beside) / asked.cores
    client = many * max(each, computed)
    bytes_ = many * size / len(runs)
    rows = [
        ("measured: number of shortened runs", "", f"{len(runs)}"),
        ("measured: processor time of these runs, s", "", f"{used:.1f}"),
        (f"measured: wall-clock time of these runs on {WORKERS} workers, s", "", f"{took:.1f}"),
        (
            "measured: additional time of a worker per run, ms",
            "w",
            f"{1000 * beside:.0f}",
        ),
        (
            "measured: processor time of the client per run, ms",
            "p",
            f"{1000 * computed:.1f}",
        ),
        (
            "measured: time to verify and store a run, ms",
            "o",
            f"{1000 * each:.1f}",
        ),
        ("measured: time to merge a run, ms", "m", f"{1000 * merged:.1f}"),
        ("measured: size of a shortened run, kB", "", f"{size / len(runs) / 1000:.0f}"),
        (f"full runs of a parameter set, with {SEEDS} seeds", "", f"{len(costs)}"),
        ("estimated processor time of a parameter set, h", "", f"{one_set / 3600:.2f}"),
        (f"runs of {asked.sets} sets", "R", f"{many}"),
        (f"processor time of {asked.sets} sets, h", "C", f"{total / 3600:.0f}"),
        (f"size of the store of {asked.sets} sets, GB", "", f"{bytes_ / 1e9:.0f}"),
        ("the longest run, s", "L", f"{longest:.0f}"),
        (
            f"time if the {asked.cores} cores are the limit: (C + R w) / {asked.cores} + L, h",
            "W",
            f"{(workers + longest) / 3600:.2f}",
        ),
        (
            "time if the client is the limit: R times the larger of p and o, h",
            "S",
            f"{client / 3600:.2f}",
        ),
        (
            "time with --cluster: the larger of W and S, h",
            "",
            f"{max(workers + longest, client) / 3600:.2f}",
        ),
        (
            "time with --shard: W, plus R m for the merge, h",
            "",
            f"{(workers + longest + many * merged) / 3600:.2f}",
        ),
        (
            "runs per second that a shared store must accept if shards write into one store and "
            "are not merged",
            "",
            f"{many / (workers + longest):.0f}",
        ),
    ]
    print("| what | | value |")
    print("|---|---|--:|")
    for what, letter, value in rows:
        print(f"| {what} | {letter} | {value} |")


if __name__ == "__main__":
    main()
