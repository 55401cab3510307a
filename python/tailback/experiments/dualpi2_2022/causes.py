"""The set-up with the basis of each part, and causes of what does not come out."""

from __future__ import annotations

from tailback.experiments.dualpi2_2022.layout import MIXED
from tailback.experiments.dualpi2_2022.points import Entry

#: What, value here, basis.
DECLARED: tuple[tuple[str, str, str], ...] = (
    (
        "bottleneck",
        "40 Mbit/s, 100 Mbit/s in overload, counted in frames",
        "stated; a single flow fills 99.9 % of it in frames",
    ),
    (
        "link",
        "a shaper: a packet leaves at the start of its slot, and its delay ends there",
        "htb with a burst of 1514 bytes, as the authors' scripts have it: the queue is asked for a "
        "packet when the one before has been paid for",
    ),
    (
        "DualPI2",
        "target 15 ms, tupdate 16 ms, step 1 ms, k 2, drop_on_overload, classic_protection 10 %",
        "stated",
    ),
    (
        "DualPI2's gains",
        "41/256 and 819/256 Hz",
        "the authors' module, which prints them cut to 40/256 and 818/256 (0.15625 and 3.1953)",
    ),
    (
        "DualPI2's step",
        "only for packets that find two more in L (`min_qlen_step = 2`)",
        "the authors' module for 5.10",
    ),
    (
        "PIE",
        "target 15 ms, ECN; everything else as tc has it, but an update every 20 ms",
        "target: the name of the runs; the update: a kernel of 250 Hz (inferred, as those of the "
        "authors' reports) counts 15 ms as 4 jiffies, and its timers come one later",
    ),
    (
        "FQ-CoDel",
        "target 5 ms, interval 100 ms, ECN; everything else as tc has it",
        "tc's defaults; decided by the delays, the 20 ms in the name of the runs are of none of "
        "its options",
    ),
    ("L", "TCP Prague on DualPI2, CUBIC or Reno with ECN elsewhere", "the names of the archives"),
    ("C", "CUBIC or Reno without ECN", "the names of the archives"),
    (
        "UDP",
        "so many Mbit/s of payload in frames of 1512 bytes (1470 and headers), ECT(1) in L",
        "inferred: 50 and 70 Mbit/s use 51.43 and 72.00 % of the link",
    ),
    (
        "flows in overload",
        "of the five in each class 4 in L and 4 in C are active with UDP in L, 3 and 4 with UDP "
        "in C; the rates of the others count as 0",
        "inferred from the source's own rates per flow: P1 is 0 and P25 is not where one of five "
        "is idle, P25 is 0 in L with UDP in C",
    ),
    ("start", "within one round-trip time of the longer path", "inferred"),
    (
        "counted",
        "250 s after the first 4 s and 40 times the larger round-trip time; flows have run for "
        "40 s before that",
        "stated; the 40 s are inferred: alone at 100 ms Prague fills the link in each of the "
        "source's samples, which takes a segment in each RTT for 33 s (the step marks its first "
        "window)",
    ),
    (
        "queue delay",
        "each packet's, enqueue to dequeue",
        "stated; its multiples of 32.8 us are not",
    ),
    (
        "windows",
        "each second's rate times (the run's mean queue delay and the base round-trip time)",
        "the source's scripts",
    ),
    (
        "rows with one flow, and with Reno",
        "the cases of mixed round-trip times with Reno, overload with one flow in each class",
        "the source's scripts name their archives; not among the data here",
    ),
    ("offloads", "every segment is a packet: no TSO, GSO, GRO", "inferred"),
)


def cause(entry: Entry) -> str:
    """Why a cell is off, where that is known; what is known of it where it is not."""
    if entry.chance:
        return "chance: within what one more run would give"
    stem, _, statistic = entry.column.rpartition("_")
    if stem.startswith(("rpf", "win")) and statistic in ("p1", "stddev"):
        return "two of the source's 250 samples of rates are 0 or cut short"
    if entry.run.archive.kind == MIXED and entry.run.archive.aqm == "pie":
        return "unexplained: windows at a PIE of 5.10"
    return "unexplained"
