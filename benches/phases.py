"""Measures phase effects at drop-tail queues, and the effect of host jitter on them.

    python benches/phases.py                    two CUBIC flows, 10 ms beside X ms
    python benches/phases.py --published        errors against the L4S tests (2020)
    python benches/phases.py --pam FILE         errors against PAM 2025
    python benches/phases.py --cost             instructions per packet with jitter and without

Without jitter, each packet reaches a full FIFO at a fixed time relative to the departures of other
packets. The round-trip times modulo the transmission time of a packet decide which flow's packets
are dropped. For each X and each value of `host_jitter`, the first table shows the ratio of the two
flows' rates. The first table also shows by how much this ratio changes from each X to the next X.
Without phase effects, this change is small.

The other tables compare the drop-tail rows of published measurements with the simulator, for the
same values of jitter. FILE is a CSV of the rows that the authors of PAM 2025 published, with the
columns `experiment`, `rtt_ms`, `rate_mbit`, `aqm`, `buffer_bdp`, `l4s_cc`, `classic_cc`,
`ecn_mode`, `n_l4s`, `n_classic`, `tput_l4s_mbit` and `tput_classic_mbit`. Runs are stored in
`results`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import tempfile
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import instructions

import tailback
from tailback.errors import ScenarioWarning
from tailback.metrics.statistics import nearest_rank
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import points
from tailback_studies.experiments.l4s_tests_2020.layout import ROWS, published_names

FRAME_BITS = 1514 * 8
RTTS_MS = range(20, 101, 5)
"""Round-trip times of the second flow, in ms. The round-trip time of the first flow is
`FIRST_MS`."""
FIRST_MS = 10
MOST_PACKETS = 0.9
"""Largest jitter in transmission times of a packet. With a larger jitter, packets that a link has
spaced could leave back to back."""
QUEUES = ((10, "100p"), (50, "1bdp"))
"""Rate in Mbit/s and limit of each queue."""


@dataclass(frozen=True)
class Jitter:
    """A setting of `host_jitter`: a time in microseconds, or a fraction of a packet's
    transmission time."""

    us: float = math.inf
    packets: float = MOST_PACKETS

    def at(self, rate_mbit: float) -> str:
        """Return the value of `host_jitter` for a link of this rate. The value is always below a
        packet's transmission time."""
        packet_us = FRAME_BITS / rate_mbit
        return f"{round(1000 * min(self.us, self.packets * packet_us))}ns"

    def __str__(self) -> str:
        return f"{self.packets:g} packets" if math.isinf(self.us) else f"{self.us:g} us"


JITTERS = (
    Jitter(0),
    Jitter(10),
    Jitter(30),
    Jitter(100),
    Jitter(packets=0.5),
    Jitter(packets=MOST_PACKETS),
)


def beside(rate_mbit: int, limit: str, jitter: Jitter, rtt_ms: int) -> dict[str, Any]:
    """Return a scenario with a CUBIC flow at 10 ms and another CUBIC flow at a given round-trip
    time."""
    return {
        "duration": "60s",
        "warmup": "20s",
        "host_jitter": jitter.at(rate_mbit),
        "bottleneck": {"rate": f"{rate_mbit}Mbit", "queue": {"aqm": "fifo", "limit": limit}},
        "path": {"rtt": f"{FIRST_MS}ms"},
        "record": {"series": False},
        "flows": [{"cc": "cubic"}, {"cc": "cubic", "rtt": f"{rtt_ms}ms"}],
    }


def ratio(results: Results) -> float:
    """Return the geometric mean over seeds of the second flow's rate divided by the first flow's
    rate."""
    rates = [[flow["throughput_mbit"] for flow in run.summary["flows"]] for run in results]
    return math.exp(sum(math.log(second / first) for first, second in rates) / len(rates))


def neighbours(ratios: Sequence[float]) -> list[float]:
    """Return the relative change between each ratio and the next."""
    pairs = itertools.pairwise(ratios)
    return [math.exp(abs(math.log(after / before))) - 1 for before, after in pairs]


def artefact(seeds: int, jitters: Sequence[Jitter]) -> None:
    cases = [(rate, limit, jitter) for rate, limit in QUEUES for jitter in jitters]
    batch = [Job(beside(*case, rtt), {}, seeds) for case in cases for rtt in RTTS_MS]
    results = iter(tailback.run_many(batch))
    print(f"Rate of CUBIC at X ms over that of CUBIC at {FIRST_MS} ms; {seeds} seeds.\n")
    shown = [rtt for rtt in RTTS_MS if rtt % 20 == 0 or rtt == 30]
    print("| queue | jitter | packet times |", *(f"{rtt} |" for rtt in shown), end="")
    print(" median step | largest step |")
    print("|---|---|--:|" + "--:|" * (len(shown) + 2))
    for rate, limit, jitter in cases:
        by_rtt = {rtt: ratio(next(results)) for rtt in RTTS_MS}
        share = float(jitter.at(rate)[:-2]) / 1000 / (FRAME_BITS / rate)
        cells = [f"{rate} Mbit/s, {limit}", str(jitter), f"{share:.2f}"]
        cells += [f"{by_rtt[rtt]:.2f}" for rtt in shown]
        steps = neighbours(list(by_rtt.values()))
        cells += [f"{100 * value:.0f} %" for value in (median(steps), max(steps))]
        print("| " + " | ".join(cells) + " |", flush=True)


@dataclass(frozen=True)
class Published:
    """A published measurement: its kind, its scenario, and the rates of both congestion
    controls."""

    kind: str
    rate_mbit: float
    scenario: Mapping[str, Any]
    rates: Sequence[float]


def published_rows() -> Iterator[Published]:
    """Yield the drop-tail rows of the L4S tests (2020), except rows that are wrong in the
    publication."""
    known = published_names()
    rows = [row for row in ROWS if (row.table, row.name) in known]
    for row in rows:
        if row.table == "s1" and row.queue.startswith("pfifo") and not points.note(row):
            cells = points.entries([row], [[]])[:2]
            rates = tuple(cell.cell.published or 0.0 for cell in cells)
            kind = pair(*(flow.cc for flow in row.flows))
            yield Published(kind, row.rate_mbit, points.made(row), rates)


def pair(first: str, second: str) -> str:
    return f"two {first}" if first == second else " beside ".join(sorted((first, second)))


def pam_rows(file: Path) -> Iterator[Published]:
    """Yield the drop-tail rows of PAM 2025. Each rate is the sum over all flows of one congestion
    control."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["aqm"] == "FIFO"]
    for row in rows:
        rate, rtt = float(row["rate_mbit"]), float(row["rtt_ms"])
        ecn, counts = row["ecn_mode"], (int(row["n_l4s"]), int(row["n_classic"]))
        classic: dict[str, Any] = {"name": row["classic_cc"]}
        if ecn == "ecnlow":
            classic["ecn_response"] = True
        limit = round(float(row["buffer_bdp"]) * rate * rtt * 1000 / 8)
        scenario = {
            "duration": "60s",
            "start_jitter": "500ms",
            "bottleneck": {
                "rate": f"{rate:g}Mbit",
                "burst": "tc",
                "queue": {"aqm": "fifo", "limit": f"{limit}b"},
            },
            "path": {"rtt": f"{rtt:g}ms"},
            "tcp": {"rcvbuf": "auto"},
            "record": {"series": False},
            "flows": [
                {"cc": {"name": "prague", "alpha_bits": 24}, "count": counts[0]},
                {"cc": classic, "ecn": ecn != "noecn", "count": counts[1]},
            ],
        }
        values = (float(row["tput_l4s_mbit"]), float(row["tput_classic_mbit"]))
        kind = "many prague" if sum(counts) > 2 else "prague"
        name = f"{kind} beside {row['classic_cc']}, {rtt:g} ms"
        yield Published(name, rate, scenario, values)


def compare(rows: Sequence[Published], seeds: int, jitters: Sequence[Jitter]) -> None:
    batch = [
        Job(row.scenario, {"host_jitter": jitter.at(row.rate_mbit)}, seeds)
        for jitter in jitters
        for row in rows
    ]
    results = iter(tailback.run_many(batch))
    errors: dict[tuple[str, Jitter], list[float]] = defaultdict(list)
    for jitter in jitters:
        for row in rows:
            stored = [rates(run.summary, row.scenario) for run in next(results)]
            means = [sum(column) / len(stored) for column in zip(*stored, strict=True)]
            # If the rate of one congestion control is too high, the other rate is too low by the
            # same amount. Both errors are therefore equal. Count one error for each row.
            differences = [abs(a - b) for a, b in zip(means, row.rates, strict=True)]
            for group in ("all", row.kind):
                errors[group, jitter].append(sum(differences) / 2 / row.rate_mbit)
    print("Error over the link's rate: median / 90th percentile in %, then in how many rows it")
    print(f"is smaller than without jitter; {seeds} seeds.\n")
    print("| rows | n |", *(f"{jitter} |" for jitter in jitters))
    print("|---|--:|" + "--:|" * len(jitters))
    for kind in ["all", *sorted({row.kind for row in rows})]:
        without = errors[kind, jitters[0]]
        cells = [kind, str(len(without))]
        for jitter in jitters:
            own = errors[kind, jitter]
            high = nearest_rank(own, 0.9) or 0.0
            closer = sum(a < b for a, b in zip(own, without, strict=True))
            note = f", {closer}" if jitter != jitters[0] else ""
            cells.append(f"{100 * median(own):.1f} / {100 * high:.1f}{note}")
        print("| " + " | ".join(cells) + " |", flush=True)


def rates(summary: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[float]:
    """Return the total rate of each `[[flows]]` table, in Mbit/s."""
    flows = iter(summary["flows"])
    counts = [flow.get("count", 1) for flow in scenario["flows"]]
    return [sum(next(flows)["throughput_mbit"] for _ in range(count)) for count in counts]


def cost() -> None:
    """Print instructions per data packet of cases of `make bench`, with and without jitter."""
    runner = instructions.build()
    print("| case | without jitter | with jitter | difference |\n|---|--:|--:|--:|")
    for case in ("a", "b", "c", "d"):
        text = (instructions.HERE / f"{case}.toml").read_text(encoding="utf-8")
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            # 9 us is shorter than the transmission time of a packet in every case.
            file.write(f'host_jitter = "9us"\n{text}')
            file.flush()
            with_jitter = instructions.count(runner, case, Path(file.name)).instructions
        without = instructions.count(runner, case).instructions
        title = tomllib.loads(text)["title"]
        more = with_jitter / without - 1
        print(f"| {title} | {without:.0f} | {with_jitter:.0f} | +{more:.0%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--published", action="store_true", help="the L4S tests (2020)")
    parser.add_argument("--pam", type=Path, metavar="FILE", help="PAM 2025, from FILE")
    parser.add_argument("--cost", action="store_true", help="instructions, by valgrind")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds a point")
    args = parser.parse_args()
    # Suppress the warning about phase effects, because this script measures them.
    warnings.simplefilter("ignore", ScenarioWarning)
    if args.cost:
        cost()
    elif args.published:
        compare(list(published_rows()), args.seeds, JITTERS)
    elif args.pam:
        compare(list(pam_rows(args.pam)), args.seeds, JITTERS)
    else:
        artefact(args.seeds, JITTERS)


if __name__ == "__main__":
    main()
