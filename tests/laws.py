"""Compares the responses of congestion controls with formulas ("laws"), in the simulator and on
Linux.

One flow runs on a link without a queue. The link's `schedule` loses or marks packets by number. An
early lost or marked packet ends slow start. After that packet, the link loses or marks every n-th
packet, or each packet with probability p. A case with a probability has five runs, each with
another random list of packets. On both engines, the link loses or marks the same packets,
identified by their numbers. The result of a case is the mean number of packets in flight, measured
as packets that arrive per round-trip time.

    python tests/laws.py    writes laws/linux.tsv, from the kernel engine

test_laws.py and crates/engine/tests/laws.rs compare the simulator with laws/linux.tsv. `python
tests/responses.py --page` writes the numbers of both engines to docs/evidence/response.md.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tailback
from tailback.metrics.statistics import t_quantile

TABLE = Path(__file__).resolve().parent / "laws/linux.tsv"

MSS = 1448
LISTS = 5
"""The number of random lists of a case. Each list is drawn with its own seed."""
MOST = 4000
"""Length of a list. The kernel engine's module has space for 4096 numbers."""

SCENARIO = """\
title = "a response function"
duration = "{seconds}s"
warmup = "{warmup}s"
start_jitter = "0s"

[bottleneck]
rate = "10Gbit" # no queue builds up
queue = {{ aqm = "fifo", limit = "100000p" }}
schedule.{signal} = {numbers}

[path]
rtt = "{rtt_ms}ms"

[[flows]]
name = "flow"
cc = {cc}
ecn = {ecn}

[tcp]
rwnd = "1gb"

[record]
captures = false
"""


@dataclass(frozen=True)
class Case:
    """A case: a congestion control, and the packets that the link loses or marks."""

    cc: str
    signal: str
    """Whether packets are lost or marked: `drops` or `marks`."""
    every: int
    """Distance between lost or marked packets. For a random case, this value is the mean
    distance."""
    random: bool
    law: float
    """Mean number of packets in flight according to the formula."""
    formula: str
    rtt_ms: int
    seconds: int
    warmup: int
    first: int
    """The number of the packet that ends slow start."""
    fast_convergence: bool = True
    seed: int = 1
    """The seed of the first list."""

    @property
    def name(self) -> str:
        """The case in words, as in the tables."""
        done = "lost" if self.signal == "drops" else "marked"
        which = f"1 in {self.every} {done}" if self.random else f"every {self.every}th {done}"
        fast = self.cc == "cubic" and self.fast_convergence
        return f"{self.cc}, {which}{', fast convergence' if fast else ''}"

    @property
    def lists(self) -> int:
        return LISTS if self.random else 1

    def numbers(self, seed: int) -> list[int]:
        """Return the numbers of the packets to lose or mark."""
        if not self.random:
            many = MOST if self.signal == "marks" else 400
            return [self.first + i * self.every for i in range(many)]
        draw = random.Random(seed)
        numbers = [self.first]
        while len(numbers) < MOST:
            # If each packet is drawn with probability 1 / `every`, the distances between drawn
            # packets have a geometric distribution.
            u = 1.0 - draw.random()
            numbers.append(numbers[-1] + 1 + int(math.log(u) / math.log1p(-1 / self.every)))
        return numbers

    def scenario(self, seed: int) -> str:
        fast = "" if self.fast_convergence else ", fast_convergence=false"
        return SCENARIO.format(
            seconds=self.seconds,
            warmup=self.warmup,
            signal=self.signal,
            numbers=self.numbers(seed),
            rtt_ms=self.rtt_ms,
            cc=f'{{ name = "{self.cc}"{fast} }}',
            ecn=str(self.signal == "marks").lower(),
        )


MATHIS = "sqrt(3/2) / sqrt p (Mathis et al. 1997)"
RFC_9438 = "1.054 (RTT/p)^0.75 (RFC 9438 section 5.2)"
FLUID = "2/p: growth of one segment per round balances a cut of alpha W/2"


def cubic(every: int, first: int, *, fast: bool) -> Case:
    """Return a case of CUBIC with an RTT of 100 ms, as in crates/engine/tests/laws.rs."""
    law = 1.054 * (0.1 * every) ** 0.75
    return Case("cubic", "drops", every, False, law, RFC_9438, 100, 1000, 400, first, fast)


def dctcp(every: int, *, at_random: bool, seed: int = 1) -> Case:
    """Return a case of DCTCP with an RTT of 20 ms. Random cases end before all marks of their list
    are used."""
    law, first = 2 * every, 4 * every
    return Case("dctcp", "marks", every, at_random, law, FLUID, 20, 30, 10, first, seed=seed)


CASES = (
    Case("reno", "drops", 1_000, False, 1_500**0.5, MATHIS, 50, 300, 60, 80),
    Case("reno", "drops", 10_000, False, 15_000**0.5, MATHIS, 50, 1500, 300, 250),
    Case("reno", "marks", 1_000, False, 1_500**0.5, MATHIS, 50, 300, 60, 80),
    cubic(10_000, 400, fast=False),
    cubic(10_000, 400, fast=True),
    cubic(100_000, 2_000, fast=False),
    cubic(100_000, 2_000, fast=True),
    dctcp(100, at_random=False),
    dctcp(20, at_random=True, seed=2),
    dctcp(30, at_random=True),
)


def windows(cases: Sequence[Case], engine: str, out: Path) -> dict[str, list[float]]:
    """Return the mean number of packets in flight for each case and list."""
    jobs = [
        (case, tailback.Job(case.scenario(seed)))
        for case in cases
        for seed in range(case.seed, case.seed + case.lists)
    ]
    found: dict[str, list[float]] = {}
    batches = tailback.run_many([job for _, job in jobs], out=out, engine=engine, progress=False)
    for (case, _), [run] in zip(jobs, batches, strict=True):
        [flow] = run.summary["flows"]
        packets = flow["throughput_mbit"] * 1e6 / 8 / MSS * case.rtt_ms / 1e3
        found.setdefault(case.name, []).append(packets)
    return found


def mean(values: Sequence[float]) -> float:
    """Return the mean over the random lists."""
    return math.fsum(values) / len(values)


def half_width(values: Sequence[float]) -> float:
    """Return the half-width of the mean's 95 % confidence interval, but at least one segment."""
    if len(values) < 2:
        return 1.0
    middle = mean(values)
    variance = math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1)
    return max(1.0, t_quantile(len(values) - 1) * math.sqrt(variance / len(values)))


def linux() -> dict[str, list[float]]:
    """Read Linux's results for each case and list."""
    found: dict[str, list[float]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, window = line.split("\t")
            found.setdefault(name, []).append(float(window))
    return found


def write(out: Path, version: str) -> None:
    """Run all cases on the kernel engine, and write the table."""
    found = windows(CASES, "kernel", out)
    lines = [
        f"# Linux {version}: packets in flight on average (python tests/laws.py).",
        "# case, list, packets",
    ]
    lines += [
        f"{name}\t{i}\t{window:.3f}"
        for name, each in found.items()
        for i, window in enumerate(each, start=1)
    ]
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(out: Path) -> list[str]:
    """Return a Markdown table of the cases, with the results of the law, of the simulator and of
    Linux."""
    simulated, kernel = windows(CASES, "sim", out), linux()
    lines = [
        "| case | law | | simulator | Linux | ± | Linux over law |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for case in CASES:
        of_linux = kernel[case.name]
        spread = f"{half_width(of_linux):.1f}" if case.random else ""
        lines.append(
            f"| {case.name} | {case.formula} | {case.law:.1f} | {mean(simulated[case.name]):.1f} "
            f"| {mean(of_linux):.1f} | {spread} | {100 * (mean(of_linux) / case.law - 1):+.1f} % |"
        )
    return lines


def main(words: list[str]) -> int:
    from tailback.kernel import kit

    if words:
        print(__doc__, file=sys.stderr)
        return 2
    # Keep the results in the current folder, so that the same command resumes an interrupted run.
    write(Path("results"), kit.current().version)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
