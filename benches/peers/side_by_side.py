"""Compares the CPU time per data packet of other simulators and tailback on case a of `make bench`.
Their runs alternate.

The script compiles ns-3 against the headers and libraries of its wheel (PyPI, `ns3`). The wheel is
compiled for generic x86-64, so a build for this machine's processor would be faster. The output
also lists csg-htsim and ccsim, which are not in a package registry but only in source repositories.

    python benches/peers/side_by_side.py [--seconds 10] [--turns 3] [--cache DIR]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import measure  # noqa: E402 (it lies beside this folder)

CASE = HERE.parent / "a.toml"
NS3 = "ns3==3.44.post0"
LEFT_OUT = {
    "csg-htsim": "no package of it is known; its sources are at github.com/Broadcom/csg-htsim",
    "ccsim": "no package of it is known; its sources are at github.com/apoxy-dev/ccsim",
}
MODULES = (
    *("core", "network", "internet", "point-to-point", "applications", "traffic-control"),
    *("stats", "mpi", "bridge", "config-store"),
)
"""Libraries of ns-3 that the program uses, and their dependencies."""


@dataclass(frozen=True)
class Turn:
    packets: int
    cpu_s: float
    peak_mb: float

    @property
    def ns(self) -> float:
        """Return the CPU time of the whole process per data packet, ns."""
        return 1e9 * self.cpu_s / self.packets


def ns3(cache: Path) -> Path:
    """Compile the program, and copy its libraries beside it. Return its path."""
    folder = cache / NS3.replace("==", "-")
    program = folder / "case-a"
    if program.exists() and program.stat().st_mtime > (HERE / "ns3.cc").stat().st_mtime:
        return program
    if shutil.which("g++") is None:
        raise FileNotFoundError("g++ is not installed")
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels]
        subprocess.run([*command, NS3], check=True)
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            wheel.extractall(folder)
    libraries = folder / "ns3" / "lib64"
    known = {path.name for path in libraries.glob("libns3*.so")}
    release = NS3.partition("==")[2].partition(".post")[0]
    names = [f"ns{release}-{module}" for module in MODULES]
    subprocess.run(
        [
            *("g++", "-O2", "-std=c++23", "-o", str(program), str(HERE / "ns3.cc")),
            f"-I{folder / 'ns3' / 'include'}",
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries}",
            f"-Wl,-rpath-link,{libraries}",
            *(f"-l{name}" for name in names if f"lib{name}.so" in known),
        ],
        check=True,
    )
    return program


def of_ns3(program: Path, seconds: float) -> Turn:
    process = subprocess.Popen([str(program), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ns-3: exit status {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Turn(int(said), cpu_s, usage.ru_maxrss * 1024 / 1e6)


def ours(seconds: float) -> Turn:
    """Run tailback once. Its CPU time includes Python and writing the results."""
    done = measure(CASE, "--quiet", "--set", f"duration={seconds}s")
    return Turn(done.packets, done.process_s, done.peak_mb)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="simulated by the others")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "tailback" / "peers")
    args = parser.parse_args()
    # The run is longer than for the other simulators, so that start-up is only a small part of it.
    runners: dict[str, Callable[[], Turn]] = {"tailback": lambda: ours(30 * args.seconds)}
    left_out = dict(LEFT_OUT)
    try:
        program = ns3(args.cache)
        runners[f"ns-3 ({NS3.partition('==')[2]}, PyPI)"] = lambda: of_ns3(program, args.seconds)
    except (OSError, subprocess.CalledProcessError, StopIteration) as error:
        left_out["ns-3"] = str(error)
    turns: dict[str, list[Turn]] = {name: [] for name in runners}
    for _ in range(args.turns):
        for name, run in runners.items():
            turns[name].append(run())
    base = statistics.median(turn.ns for turn in turns["tailback"])
    print("| simulator | ns a data packet, median | least to most | times ours | peak, MB |")
    print("|---|--:|--:|--:|--:|")
    for name, done in turns.items():
        found = sorted(turn.ns for turn in done)
        middle = statistics.median(found)
        spread = f"{found[0]:.0f} to {found[-1]:.0f}"
        peak = max(turn.peak_mb for turn in done)
        print(f"| {name} | {middle:.0f} | {spread} | {middle / base:.2f} | {peak:.0f} |")
    for name, why in left_out.items():
        print(f"\nleft out: {name}: {why}")


if __name__ == "__main__":
    main()
