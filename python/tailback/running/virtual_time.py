"""Runs the same scenarios in virtual and real time, to show how the results differ.

In real time, the kernel boots without time travel and uses the machine's clock. Runs in real time
take as long as the simulated time, and the machine's load affects them. This module writes the page
`docs/evidence/virtual-time.md`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tailback.base import machine
from tailback.base.revision import revision
from tailback.interop.pcapng import PACKET, blocks
from tailback.running import batch, engines
from tailback.store.results import Results

CLOCKS = {"virtual": "kernel", "real": "kernel-realtime"}
"""The engine that runs scenarios with each clock."""

MEASURED = 0.75
"""The measured share of a run. The measured time is at the end of the run."""

FRAME_BYTES = 1514
"""Size of a full segment in bytes, including the Ethernet header."""


@dataclass(frozen=True)
class ClockCell:
    """A scenario of the comparison: congestion control, queue, rate and RTT."""

    cc: str
    queue: str
    ecn: bool
    rate_mbit: int
    rtt_ms: int

    @property
    def name(self) -> str:
        """The scenario's name in tables."""
        queue = f"{self.queue} + ECN" if self.ecn else self.queue
        return f"{self.cc}, {queue}, {self.rate_mbit} Mbit/s, {self.rtt_ms} ms"

    def scenario(
        self, duration_s: float, *, offloads: bool = False, packets: bool = False
    ) -> dict[str, object]:
        """Return the scenario for the engine. The first quarter of the run is not measured."""
        queue: dict[str, object] = {"aqm": self.queue}
        if self.queue == "fifo":
            queue["limit"] = "1bdp" if self.rtt_ms * self.rate_mbit >= 800 else "50p"
        if self.ecn:
            queue["ecn"] = True
        return {
            "title": self.name,
            "duration": f"{duration_s:g}s",
            "warmup": f"{duration_s * (1 - MEASURED):g}s",
            "bottleneck": {"rate": f"{self.rate_mbit}Mbit", "queue": queue},
            "path": {"rtt": f"{self.rtt_ms}ms", "offloads": offloads},
            "record": {"series": "off", "packets": packets},
            "flows": [{"cc": self.cc, "ecn": self.ecn}],
        }


CELLS = (
    ClockCell("cubic", "fifo", False, 10, 20),
    ClockCell("cubic", "codel", False, 10, 80),
    ClockCell("cubic", "codel", True, 50, 20),
    ClockCell("cubic", "pie", False, 50, 80),
    ClockCell("reno", "fifo", False, 50, 20),
    ClockCell("reno", "codel", False, 10, 20),
    ClockCell("reno", "pie", True, 10, 80),
    ClockCell("dctcp", "codel", True, 50, 20),
    ClockCell("dctcp", "codel", True, 10, 80),
    ClockCell("dctcp", "pie", True, 50, 80),
)

OFFLOADED = (
    ClockCell("cubic", "fifo", False, 10, 20),
    ClockCell("cubic", "codel", True, 50, 20),
    ClockCell("reno", "codel", False, 10, 20),
    ClockCell("dctcp", "codel", True, 50, 20),
)
"""Scenarios that the page also shows with `path.offloads = true`."""

TIMED = ClockCell("cubic", "fifo", False, 10, 20)
"""The scenario for which every departure time is compared."""


@dataclass(frozen=True)
class ClockMeasures:
    """The quantities that were measured in a scenario, each with one value for each seed."""

    throughput_mbit: list[float]
    delay_mean_ms: list[float]
    delay_p99_ms: list[float]
    signals: list[float]
    """Number of marks and drops."""
    packets: list[float]
    frame_bytes: list[float]
    """Mean length of the packets that left the queue, in bytes."""
    cpu: list[float]
    """CPU time of the guest divided by the duration of the run."""

    @classmethod
    def of(cls, cell: ClockCell, results: Results) -> ClockMeasures:
        """Compute the measured quantities from the runs of a scenario."""
        summaries = [run.summary for run in results.points]
        queues = [summary["queue"] for summary in summaries]
        # Bytes that the link can carry in the measured time.
        capacity = [cell.rate_mbit / 8e-6 * MEASURED * s["duration_s"] for s in summaries]
        return cls(
            [sum(f["throughput_mbit"] for f in s["flows"]) for s in summaries],
            [q["delay_ms"]["mean"] for q in queues],
            [q["delay_ms"]["p99"] for q in queues],
            [q["marks"] + q["drops"] for q in queues],
            [q["packets"] for q in queues],
            [
                q["utilisation"] * most / max(1, q["packets"])
                for q, most in zip(queues, capacity, strict=True)
            ],
            [run.timing["cpu_s"] / run.summary["duration_s"] for run in results.points],
        )


Row = tuple[ClockCell, dict[str, ClockMeasures]]
"""A scenario, and its measures on each clock."""


@dataclass(frozen=True)
class Gaps:
    """How much later packets leave a busy link than they would at exactly the link's rate."""

    slot_us: float
    count: int
    late_mean_us: float
    """The mean of the time between departures minus a packet's transmission time."""
    off_p50_us: float
    off_p99_us: float
    off_max_us: float
    """The largest difference between the time between departures and a packet's transmission
    time.
    """


@dataclass(frozen=True)
class ClockComparison:
    """The results of all scenarios in virtual and real time."""

    duration_s: float
    seeds: int
    jobs: int
    version: str
    cores: int
    load: tuple[float, float]
    """Load of the machine (mean over a minute) before and after the runs in real time."""
    first: bool
    """Whether the runs in real time had priority over all other processes of the machine."""
    cells: list[Row]
    offloaded: list[Row]
    gaps: dict[str, Gaps]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""

        def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
            return [
                {"cell": cell.name, **{clock: vars(m) for clock, m in both.items()}}
                for cell, both in rows
            ]

        return {
            "duration_s": self.duration_s,
            "seeds": self.seeds,
            "jobs": self.jobs,
            "version": self.version,
            "cores": self.cores,
            "load": list(self.load),
            "first": self.first,
            "cells": table(self.cells),
            "offloaded": table(self.offloaded),
            "gaps": {clock: vars(gaps) for clock, gaps in self.gaps.items()},
        }


def compare(
    out: Path, *, duration_s: float, seeds: int, jobs: int, quick: bool = False
) -> ClockComparison:
    """Run all scenarios in virtual and in real time. In real time, `jobs` runs are executed at the
    same time."""
    plain = CELLS[:3] if quick else CELLS
    loaded = OFFLOADED[:1] if quick else OFFLOADED
    scenarios = [cell.scenario(duration_s) for cell in plain]
    scenarios += [cell.scenario(duration_s, offloads=True) for cell in loaded]
    timed = TIMED.scenario(duration_s, packets=True)
    planned = [batch.Job(s, seeds=seeds) for s in scenarios] + [batch.Job(timed, seeds=1)]
    by_clock: dict[str, list[Results]] = {}
    by_clock["virtual"] = batch.run_many(planned, out=out, engine=CLOCKS["virtual"])
    before = os.getloadavg()[0]
    with _before_others() as first:
        by_clock["real"] = batch.run_many(planned, jobs=jobs, out=out, engine=CLOCKS["real"])
    after = os.getloadavg()[0]
    rows = [
        (cell, {clock: ClockMeasures.of(cell, results[i]) for clock, results in by_clock.items()})
        for i, cell in enumerate((*plain, *loaded))
    ]
    return ClockComparison(
        duration_s,
        seeds,
        jobs,
        engines.get("kernel").version,
        machine.cores(),
        (before, after),
        first,
        rows[: len(plain)],
        rows[len(plain) :],
        {clock: gaps(results[-1], TIMED) for clock, results in by_clock.items()},
    )


@contextmanager
def _before_others() -> Iterator[bool]:
    """Give processes that start in the `with` block real-time priority, if the system allows it.
    Yield whether the processes have this priority."""
    usual = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *usual)


def gaps(results: Results, cell: ClockCell) -> Gaps:
    """Measure how much the time between departures exceeds the time to send a packet at the link's
    rate.
    """
    slot_ns = FRAME_BYTES * 8e3 / cell.rate_mbit
    times = []
    with (results.points[0].path / "packets.pcapng").open("rb") as file:
        for kind, block in blocks(file):
            if kind == PACKET:
                interface, high, low, _, length = struct.unpack_from("<5I", block, 8)
                if interface == 1 and length == FRAME_BYTES:
                    times.append(high << 32 | low)
    # Skip gaps of at least two transmission times, because the queue was empty in between.
    late = [
        (later - earlier - slot_ns) / 1e3
        for earlier, later in pairwise(times)
        if later - earlier < 2 * slot_ns
    ]
    off = sorted(map(abs, late))
    if not off:
        return Gaps(slot_ns / 1e3, 0, 0.0, 0.0, 0.0, 0.0)
    return Gaps(
        slot_ns / 1e3, len(off), fmean(late), median(off), off[len(off) * 99 // 100], off[-1]
    )


QUANTITIES = (
    ("throughput, Mbit/s", "throughput_mbit"),
    ("mean delay, ms", "delay_mean_ms"),
    ("99 % delay, ms", "delay_p99_ms"),
    ("marks and drops", "signals"),
)

FIRST = """\
The guests had priority over every other process (SCHED_RR). Therefore host load affects the numbers
only through caches. Guests that share a core also affect each other."""

SHARED = """\
If the load exceeds the cores, a guest waits for the processor, and this affects the numbers of
real time. If root runs the command, guests have priority over every other process.
"""

PAGE = """\
# Virtual against real time

- **command**: tailback kernel clock {options} --page docs/evidence/virtual-time.md
- **revision**: {revision}

All numbers on this page come from one run of the command above.
{priority}

| condition of the measurement | |
|---|--:|
| Linux | {kernel} |
| seeds | {made.seeds} |
| duration of a run, s | {made.duration_s:g} |
| warm-up, excluded from the results, s | {unmeasured:g} |
| guests at once in real time | {made.jobs} |
| cores of the machine | {made.cores} |
| one-minute load average before the runs in real time (guests included) | {made.load[0]:.1f} |
| one-minute load average after the runs in real time | {made.load[1]:.1f} |

The same kernel, agent and scenarios run in virtual time and in real time. Virtual time stops while
code runs, and jumps to the next timer when all processes wait. In real time
(`--engine kernel-realtime`) the guest uses the machine's clock. tailback never mixes results of the
two engines, because the version of the engine `kernel-realtime` ends in `-realtime`.

## Results

The table shows means over the seeds. For virtual time, brackets show the smallest and the largest
value over the seeds.

{cells}

The next table shows by how much results in real time differ from results in virtual time, over all
rows of the table above:

| quantity | median, % | at most, % |
|---|--:|--:|
| throughput | {throughput} |
| mean delay | {delay} |

## What virtual time hides

- **The cost of processing.** Processing a packet in the network stack and the queue takes no
  virtual time. Therefore a flow does not become slower on a busy machine, or with a queue
  discipline that needs ten times as many instructions. The table shows the processor time that a
  guest needs, including its boot (mean over the scenarios):

| clock | CPU time per simulated second, s |
|---|--:|
| virtual | {cpu_virtual:.3f} |
| real | {cpu_real:.3f} |

- **Timers that fire late.** In virtual time, a timer fires exactly when it is due. In real time, a
  timer fires late. A *slot* is the time that the link needs to send a packet. While packets are
  queued, one packet should leave in each slot. The table compares the time between two departures
  with the length of a slot. The data come from the capture of `{timed}`. The table excludes times
  of two slots or more, because the queue may have been empty. The shaper allows no burst. Therefore
  the link cannot make up for a late departure, and late timers reduce the rate.

| | virtual | real |
|---|--:|--:|
| slot, µs | {virtual.slot_us:.1f} | {real.slot_us:.1f} |
| number of times | {virtual.count} | {real.count} |
| difference, median, µs | {virtual.off_p50_us:.3f} | {real.off_p50_us:.1f} |
| difference, 99th percentile, µs | {virtual.off_p99_us:.3f} | {real.off_p99_us:.1f} |
| difference, largest, µs | {virtual.off_max_us:.3f} | {real.off_max_us:.1f} |
| rate lost through late timers, % | {lost_virtual:.2f} | {lost_real:.2f} |

- **Batches of the hardware.** The guest has no network card, in virtual time or in real time.
  Interrupt coalescing, byte queue limits, a card's transmit ring and Wi-Fi aggregation therefore
  affect no number on this page. You can switch on segmentation and merging of packets, as the next
  section shows.
- **Other processes on the machine.** A guest has only one processor. In virtual time, caches and
  other processes on the machine affect no result.

## With TSO, GSO and GRO

`path.offloads = true` lets the guest combine TCP segments into larger packets. The queue then holds
packets of up to `64 kB`. The shaper sends such a packet as a whole, and the queue marks or drops it
as a whole. In the mean delay, such a large packet counts as one packet. Cake and DualPI2 split
packets by default. On links with Cake or DualPI2, tailback counts each segment as a packet.

{offloaded}
"""


def page(comparison: ClockComparison) -> str:
    """Return the page `docs/evidence/virtual-time.md`."""
    virtual, real = comparison.gaps["virtual"], comparison.gaps["real"]
    cpu = {
        clock: fmean(value for _, both in comparison.cells for value in both[clock].cpu)
        for clock in CLOCKS
    }
    return PAGE.format(
        options=f"--seeds {comparison.seeds} --jobs {comparison.jobs}",
        revision=revision(),
        kernel=comparison.version.partition("+")[0],
        unmeasured=comparison.duration_s * (1 - MEASURED),
        made=comparison,
        priority=FIRST if comparison.first else SHARED,
        virtual=virtual,
        real=real,
        lost_virtual=_lost(virtual),
        lost_real=_lost(real),
        cpu_virtual=cpu["virtual"],
        cpu_real=cpu["real"],
        timed=TIMED.name,
        throughput=_apart(comparison.cells, "throughput_mbit"),
        delay=_apart(comparison.cells, "delay_mean_ms"),
        cells=_table(comparison.cells, QUANTITIES),
        offloaded=_table(
            comparison.offloaded,
            (*QUANTITIES, ("packets", "packets"), ("mean frame, bytes", "frame_bytes")),
            without=dict(comparison.cells),
        ),
    )


def _lost(found: Gaps) -> float:
    """Return the percentage by which late departures reduce the link's rate."""
    return 100 * found.late_mean_us / (found.slot_us + found.late_mean_us)


def _apart(rows: Sequence[Row], name: str) -> str:
    """Return the median and the largest difference (in percent) of a quantity between real and
    virtual time, over all scenarios."""
    means = ([fmean(getattr(both[clock], name)) for clock in CLOCKS] for _, both in rows)
    apart = [abs(real / virtual - 1) * 100 for virtual, real in means if virtual]
    return f"{median(apart):.2f} | {max(apart):.2f}"


def _table(
    rows: Sequence[Row],
    quantities: Sequence[tuple[str, str]],
    without: Mapping[ClockCell, dict[str, ClockMeasures]] | None = None,
) -> str:
    plain = without or {}
    columns = ["clock, offloads" if plain else "clock", *(label for label, _ in quantities)]
    lines = [
        "| scenario | " + " | ".join(columns) + " |",
        "|---|---|" + "--:|" * len(quantities),
    ]
    for cell, both in rows:
        for offloads, by_clock in ((False, plain.get(cell)), (bool(plain), both)):
            for clock in CLOCKS if by_clock is not None else ():
                assert by_clock is not None
                word = f"{clock}, {'on' if offloads else 'off'}" if plain else clock
                shown = [
                    _values(getattr(by_clock[clock], name), spread=clock == "virtual")
                    for _, name in quantities
                ]
                lines.append(f"| {cell.name} | {word} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _values(values: Sequence[float], *, spread: bool) -> str:
    text = _number(fmean(values))
    if spread and len(values) > 1:
        text += f" ({_number(min(values))} to {_number(max(values))})"
    return text


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}" if value < 10 else f"{value:.1f}"
