"""Lists the parameters of the set-up and their sources, and the causes of differences from the
publication."""

from __future__ import annotations

from tailback_studies.experiments.dualpi2_2022.layout import MIXED, OVERLOAD
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry

# Each row is a parameter of the set-up, its value in our scenarios, and where that value comes
# from. "Stated" means that the file `info` of each published archive contains the value.
DECLARED: tuple[tuple[str, str, str], ...] = (
    (
        "bottleneck",
        "40 Mbit/s, 100 Mbit/s in overload, counted in frames",
        "stated; a single flow fills the link in frames, also with PIE and FQ-CoDel, so no queue "
        "received packets that offloads had joined",
    ),
    (
        "link",
        "a shaper with the burst that tc computes: one frame plus the bytes of one clock tick at "
        "that rate, so that two packets leave together after an idle time",
        "stated: htb; the burst of its class is not stated. An older script of the authors sets "
        "1516 bytes",
    ),
    (
        "DualPI2",
        "limit 40000p, target 15 ms, tupdate 16 ms, step 1 ms, k 2, drop_on_overload, "
        "classic_protection 10 %; any_ect, except in overload with Prague and CUBIC",
        "stated",
    ),
    (
        "DualPI2's gains",
        "41/256 and 819/256 Hz",
        "stated as tc prints them, which cuts them to 40/256 and 818/256",
    ),
    (
        "DualPI2's step",
        "only for packets that find two or more packets in L on arrival (`min_qlen_step = 2`)",
        "the authors' module",
    ),
    (
        "PIE",
        "limit 40000p, target 15 ms, tupdate 16 ms, alpha 2, beta 20, ECN",
        "stated; the kernel counts the update in jiffies, and its timers fire one jiffy late (1 "
        "ms here). On a kernel of 250 Hz, as in the configuration in the authors' repository, "
        "`tupdate 16ms` means 20 ms",
    ),
    (
        "FQ-CoDel",
        "limit 40000p, 1024 flows, quantum 1514, target 5 ms, interval 100 ms, ECN",
        "stated",
    ),
    (
        "L",
        "TCP Prague on DualPI2, CUBIC with ECN elsewhere",
        "the names of the archives; `er` names Reno, but the published rates are those of CUBIC "
        "(see the open questions)",
    ),
    ("C", "CUBIC or Reno without ECN", "the names of the archives"),
    (
        "hosts",
        'paced by fq, in the groups of segments of GSO (`pacing = "fq-gso"`)',
        "stated: fq is the root qdisc of every host; by Linux's default, TCP joins segments for fq",
    ),
    (
        "TCP Prague",
        "rtt_scaling rate, rtt_target 25 ms, rtt_transition 500, burst_shift 12; the window is a "
        "fraction rounded up, paced by whole packets",
        "the parameters are stated. The rules of the window differ between the commits of version "
        "0.6, which cover a year (see the open questions)",
    ),
    (
        "CUBIC",
        "beta 717/1024, fast convergence, HyStart, Reno-friendly",
        "stated",
    ),
    (
        "UDP",
        "the stated rate counts payload; frames of 1512 bytes (1470 and headers), ECT(1) in L",
        "inferred: 50 and 70 Mbit/s use 51.43 and 72.00 % of the link",
    ),
    (
        "flows in overload",
        "of the five flows in each class, 4 in L and 4 in C are active with UDP in L; with UDP in "
        "C, 3 in L and 4 in C; with 140 Mbit/s of UDP in L beside CUBIC, 3 in L and 4 in C. The "
        "rates of the other flows count as 0",
        "inferred from the publication's own rates per flow. If one of five flows is idle, P1 is 0 "
        "and P25 is not; P25 is 0 in L with UDP in C. The numbers at 140 Mbit/s follow from the "
        "source's window statistics. The same numbers are used for Prague and Reno, for which "
        "there are no data",
    ),
    ("start", "within one round-trip time of the longer path", "inferred"),
    (
        "counted",
        "250 s after the first 4 s and 40 times the larger round-trip time of the two flows; "
        "flows have run for "
        "40 s before that",
        "stated; the 40 s are inferred: alone at 100 ms Prague fills the link in each of the "
        "source's samples, which takes a segment in each RTT for 33 s (the step marks its first "
        "window)",
    ),
    (
        "queue delay",
        "of each packet, from enqueue to dequeue, rounded down to a multiple of 32.8 us, and from "
        "8.4 ms on to 2/256 of the value",
        "the publication's recorder: 2^15 ns and a float of 7 binary digits in the IP header",
    ),
    (
        "windows",
        "each second's rate times (the run's mean queue delay and the base round-trip time)",
        "the publication's scripts",
    ),
    (
        "rows with Reno",
        "mixed round-trip times on all three queues, overload with Prague",
        "the publication's archives; not among the data here",
    ),
    (
        "offloads",
        "every segment is a separate packet, without TSO, GSO and GRO",
        ("inferred: see bottleneck"),
    ),
)


def cause(entry: DualPi2Entry) -> str:
    """Return the cause of a value's error as text. If the cause is not known, the text begins with
    "unexplained", or with "open" and a question."""
    if entry.chance:
        return "chance: a run with another seed could give the published value"
    stem, _, statistic = entry.column.rpartition("_")
    if stem.startswith(("rpf", "win")) and statistic in ("p1", "stddev"):
        return "two of the publication's 250 samples of rates are 0 or cut short"
    if entry.run.archive.aqm == "fq_codel" and stem.startswith("qs"):
        return "open: how many segments the hosts join (see What was corrected)"
    if entry.run.archive.kind == MIXED and entry.run.archive.aqm == "dualpi2":
        if not entry.run.rtt_nonecn:
            return "unexplained; if the shaper has no burst, the error is within its limit"
        return (
            "unexplained: the queue delay of class C differs from the published delay if the flow "
            "in L has a short round-trip time"
        )
    if entry.run.archive.kind == OVERLOAD and stem.startswith(("qs", "drops")):
        return "open: Prague's window under losses and marks"
    return "unexplained"
