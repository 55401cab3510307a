"""Compares the CPU time per data packet of other simulators with the CPU time of tailback. The
script runs tailback and each other simulator (peer) alternately in the same scenario on one core,
and prints medians. The ratio of two times is the median over pairs of consecutive runs. The load of
the machine changes less within a pair than within the whole comparison.

The time of tailback excludes its start and the writing of results. The time of a peer is the CPU
time of its whole process, because its start takes a few milliseconds. A further column compares
whole processes.

- ns-3: one CUBIC flow through CoDel. The wheel of ns-3 from PyPI is compiled for any x86-64
  processor, so a build for this machine's processor would be faster. ns-3 leaves out RACK-TLP,
  histograms and series.
- csg-htsim: Reno flows through a FIFO, compiled from git for this processor. csg-htsim leaves out
  SACK, delayed ACKs, RACK, CoDel, histograms and series.
- ccsim: one CUBIC flow through CoDel, compiled from git by Go. ccsim leaves out histograms.

csg-htsim and ccsim exist only as source code, so building them needs access to github.com, git, g++
and Go. `--htsim DIR` and `--ccsim DIR` name folders with the sources of csg-htsim and ccsim, which
need not be clones. csg-htsim needs only the files for TCP and a FIFO, and a `sim/Makefile` that
builds `libhtsim.a` with `CFLAGS`. The output lists the peers that could not be built, and why.

    python benches/peers/side_by_side.py [--seconds 10] [--turns 3] [--peers NAME ...] [--cache DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import measure, processor  # noqa: E402 (it lies beside this folder)

CASE = HERE.parent / "a.toml"
NS3 = "ns3==3.44.post0"
HTSIM = "https://github.com/Broadcom/csg-htsim"
CCSIM = "https://github.com/apoxy-dev/ccsim"
MODULES = (
    *("core", "network", "internet", "point-to-point", "applications", "traffic-control"),
    *("stats", "mpi", "bridge", "config-store"),
)
"""Libraries of ns-3 that the program uses, and their dependencies."""
SEGMENT = 1448
PACE = 30
"""tailback and csg-htsim simulate this many times as long, so that start-up is only a small part of
their run."""


@dataclass(frozen=True)
class Turn:
    packets: int
    cpu_s: float
    """CPU time without the start of Python, in seconds."""
    process_s: float
    """CPU time of the whole process, in seconds."""
    peak_mb: float
    least_peak_mb: float = 0
    """The smallest peak memory that can be measured, in MB."""
    lost: float | None = None
    """Share of data packets that the queue dropped. None if the simulator does not print it."""

    @property
    def ns(self) -> float:
        """Return the CPU time per data packet, in ns."""
        return 1e9 * self.cpu_s / self.packets

    @property
    def process_ns(self) -> float:
        """Return the CPU time of the whole process per data packet, in ns."""
        return 1e9 * self.process_s / self.packets


@dataclass(frozen=True)
class Pair:
    """A peer and tailback in the same scenario."""

    scenario: str
    peer: str
    run: Callable[[], Turn]
    seconds: float
    values: tuple[str, ...] = ()
    """Values of tailback's scenario that differ from the scenario "case a"."""


class Unavailable(Exception):
    """Raised if a peer cannot be built on this machine."""


def need(program: str) -> None:
    if shutil.which(program) is None:
        raise Unavailable(f"{program} is not installed")


def build(*command: str, cwd: Path | None = None) -> None:
    """Run a command that fetches or compiles."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"{' '.join(command[:3])}: {last}")


def cloned(url: str, cache: Path, given: Path | None) -> Path:
    """Return a clone of a repository: the given clone, or a clone in the cache."""
    if given is not None:
        return given.resolve()
    folder = cache / Path(url).name
    if not folder.exists():
        need("git")
        build("git", "clone", "--quiet", "--depth", "1", url, str(folder))
    return folder


def ns3(cache: Path) -> Path:
    """Compile the ns-3 program, and copy its libraries into the same folder. Return the program's
    path."""
    folder = cache / NS3.replace("==", "-")
    program = folder / "case-a"
    if program.exists() and program.stat().st_mtime > (HERE / "ns3.cc").stat().st_mtime:
        return program
    need("g++")
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels]
        build(*command, NS3)
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            wheel.extractall(folder)
    libraries = folder / "ns3" / "lib64"
    known = {path.name for path in libraries.glob("libns3*.so")}
    release = NS3.partition("==")[2].partition(".post")[0]
    names = [f"ns{release}-{module}" for module in MODULES]
    build(
        *("g++", "-O2", "-std=c++23", "-o", str(program), str(HERE / "ns3.cc")),
        f"-I{folder / 'ns3' / 'include'}",
        f"-L{libraries}",
        f"-Wl,-rpath,{libraries}",
        f"-Wl,-rpath-link,{libraries}",
        *(f"-l{name}" for name in names if f"lib{name}.so" in known),
    )
    return program


def htsim(cache: Path, given: Path | None) -> Path:
    """Compile csg-htsim and the program that uses it. Return its path."""
    need("g++")
    need("make")
    sources = cloned(HTSIM, cache, given) / "sim"
    flags = ("-O3", "-march=native", "-std=c++17", "-w")
    build("make", f"-j{os.cpu_count()}", f"CFLAGS={' '.join(flags)}", "libhtsim.a", cwd=sources)
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / "htsim-reno"
    files = (str(HERE / "htsim.cc"), str(sources / "libhtsim.a"))
    build("g++", *flags, f"-I{sources}", "-o", str(program), *files)
    return program


def ccsim(cache: Path, given: Path | None) -> Path:
    """Compile ccsim. Return its path."""
    need("go")
    sources = cloned(CCSIM, cache, given)
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / "ccsim-run"
    build("go", "build", "-o", str(program), "./cmd/ccsim", cwd=sources)
    return program


def peer(command: Sequence[str], read: Callable[[str], tuple[int, float | None]]) -> Turn:
    """Run a peer once. `read` returns the number of data packets and the share of lost packets from
    the peer's output."""
    # A child process inherits the peak memory of its parent, so no smaller peak can be measured.
    # Writing 5 to clear_refs resets the peak to the current use.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    own_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]}: exit status {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    packets, lost = read(output)
    return Turn(packets, cpu_s, cpu_s, usage.ru_maxrss * 1024 / 1e6, own_mb, lost)


def last_number(output: str) -> tuple[int, None]:
    return int(output.split()[-1]), None


def sent_and_dropped(output: str) -> tuple[int, float]:
    """Read the last line of htsim.cc's output."""
    sent, dropped, _ = (int(word) for word in output.splitlines()[-1].split())
    return sent, dropped / sent


def goodput(output: str) -> tuple[int, None]:
    """Return the number of data packets that ccsim's goodput corresponds to. Retransmissions are
    not in the goodput, so add them."""
    summary = json.loads(output)
    flows = summary["flows"]
    sent_bytes = sum(flow["goodput_mbps"] for flow in flows) * 1e6 / 8 * summary["dur_s"]
    return int(sent_bytes / SEGMENT) + int(sum(flow["retransmits"] for flow in flows)), None


def ccsim_scenario(seconds: float, cache: Path) -> Path:
    """Write the scenario "case a" in the format of ccsim. Return the file."""
    path = cache / "case-a.json"
    link = {"rate_mbps": 100, "owd_ms": 10, "loss": 0, "queue": {"kind": "codel"}}
    flow = {"cc": "cubic", "start_at_s": 0, "app": {"kind": "bulk"}}
    case = {"seed": 1, "dur_s": seconds, "link": link, "flows": [flow], "sample": {}}
    path.write_text(json.dumps(case))
    return path


def settings(seconds: float, *values: str) -> list[str]:
    return [word for value in (f"duration={seconds}s", *values) for word in ("--set", value)]


def ours(seconds: float, *values: str) -> Turn:
    """Run tailback once."""
    done = measure(CASE, "--quiet", *settings(seconds, *values))
    return Turn(done.packets, done.cpu_s, done.process_s, done.peak_mb)


def lost_by_tailback(seconds: float, *values: str) -> float:
    """Run tailback once more, and return the share of data packets that its queue dropped."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "tailback", "run", str(CASE), "--quiet", "--out", out]
        build(*command, *settings(seconds, *values))
        folder = next(Path(out).glob("runs/*"))
        links = json.loads((folder / "account.json").read_bytes())["links"]
        packets = json.loads((folder / "timing.json").read_bytes())["data_packets"]
    dropped = sum(sum(counts) for link in links for counts in link["events"]["causes"].values())
    return float(dropped / packets)


def of_ns3(args: argparse.Namespace) -> Iterator[Pair]:
    program = ns3(args.cache)
    yield Pair(
        "1 CUBIC flow, CoDel, 100 Mbit/s",
        f"ns-3 ({NS3.partition('==')[2]}, PyPI)",
        lambda: peer([str(program), str(args.seconds)], last_number),
        PACE * args.seconds,
    )


def of_htsim(args: argparse.Namespace) -> Iterator[Pair]:
    program = htsim(args.cache, args.htsim)
    for flows, mbit, share in ((1, 100, 1.0), (100, 1000, 1 / 15), (1000, 1000, 1 / 30)):
        seconds = PACE * args.seconds * share
        values = (
            f"bottleneck.rate={mbit}Mbit",
            'bottleneck.queue={aqm = "fifo", limit = "1000p"}',
            f'flows=[{{cc = "reno", count = {flows}}}]',
        )
        yield Pair(
            f"{flows} Reno flow{'s' if flows > 1 else ''}, FIFO, {mbit} Mbit/s",
            "csg-htsim",
            lambda s=seconds, n=flows, r=mbit: peer(  # type: ignore[misc]
                [str(program), str(s), str(n), str(r)], sent_and_dropped
            ),
            seconds,
            values,
        )


def of_ccsim(args: argparse.Namespace) -> Iterator[Pair]:
    program = ccsim(args.cache, args.ccsim)
    file = ccsim_scenario(args.seconds, args.cache)
    yield Pair(
        "1 CUBIC flow, CoDel, 100 Mbit/s",
        "ccsim",
        lambda: peer([str(program), "-scenario", str(file), "-json"], goodput),
        PACE * args.seconds,
    )


PEERS: dict[str, Callable[[argparse.Namespace], Iterator[Pair]]] = {
    "ns-3": of_ns3,
    "csg-htsim": of_htsim,
    "ccsim": of_ccsim,
}


def span(numbers: Sequence[float], digits: int) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"


def compare(pair: Pair, turns: int) -> None:
    """Run tailback and the peer alternately, and print a row for each of them."""
    found: dict[str, list[Turn]] = {"tailback": [], pair.peer: []}
    for _ in range(turns):
        found["tailback"].append(ours(pair.seconds, *pair.values))
        found[pair.peer].append(pair.run())
    lost = {
        "tailback": lost_by_tailback(pair.seconds, *pair.values),
        pair.peer: found[pair.peer][0].lost,
    }
    for name, done in found.items():
        each = [turn.ns for turn in done]
        pairs = list(zip(done, found["tailback"], strict=True))
        ratios = [turn.ns / base.ns for turn, base in pairs]
        whole = [turn.process_ns / base.process_ns for turn, base in pairs]
        share = lost[name]
        peak = max(turn.peak_mb for turn in done)
        least = max(turn.least_peak_mb for turn in done)
        cells = (
            pair.scenario,
            name,
            "–" if share is None else f"{100 * share:.2f}",
            f"{statistics.median(each):.0f}",
            span(each, 0),
            f"{statistics.median(ratios):.2f}",
            span(ratios, 2),
            f"{statistics.median(whole):.2f}",
            f"{peak:.0f}" if peak > 1.05 * least else f"at most {peak:.0f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="simulated by ns-3 and ccsim")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--htsim", type=Path, metavar="DIR", help="sources of csg-htsim")
    parser.add_argument("--ccsim", type=Path, metavar="DIR", help="sources of ccsim")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "tailback" / "peers")
    args = parser.parse_args()
    # Pin this process to one core. Child processes inherit the core, so no process moves between
    # cores.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{date.today()}, load {os.getloadavg()[0]:.0f}, {processor()}\n")
    print(
        "| scenario | simulator | lost, % | ns a data packet | least to most "
        "| times tailback | least to most | whole processes, times tailback | peak, MB |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    left_out: dict[str, str] = {}
    for name in args.peers:
        try:
            for pair in PEERS[name](args):
                compare(pair, args.turns)
        except (Unavailable, OSError, StopIteration) as error:
            left_out[name] = str(error)
    for name, why in left_out.items():
        print(f"\nleft out: {name}: {why}")


if __name__ == "__main__":
    main()
