"""Repeats a comparison from 2019: DualPI2 with WRR ratios of 10 and 15 against the stable version
of DualPI2.
"""

from __future__ import annotations

from tailback_studies.experiments.titles import TITLES
from tailback_studies.experiments.versions import Versions

_DCTCP = {"name": "dctcp", "version": "linux-3.19"}
_QUEUE = "bottleneck.queue"

EXPERIMENT = Versions(
    name="dualpi2-2019-wrr",
    title=TITLES["dualpi2-2019-wrr"],
    doc="How does DualPI2 behave with a weighted round-robin (WRR) scheduler of ratio 10 or 15? "
    "tailback runs five DualPI2 versions in all scenarios of the set `l4s-battery`.",
    versions={
        "stable": {f"{_QUEUE}.version": "dualpi2-2019-02-21"},
        "counter-10": {f"{_QUEUE}.version": "dualpi2-2019-wrr-counter", f"{_QUEUE}.wrr_ratio": 10},
        "counter-15": {f"{_QUEUE}.version": "dualpi2-2019-wrr-counter", f"{_QUEUE}.wrr_ratio": 15},
        "percent-10": {
            f"{_QUEUE}.version": "dualpi2-2019-wrr-percent",
            f"{_QUEUE}.classic_protection": 10,
        },
        "percent-15": {
            f"{_QUEUE}.version": "dualpi2-2019-wrr-percent",
            f"{_QUEUE}.classic_protection": 15,
        },
    },
    base={
        f"{_QUEUE}.any_ect": True,
        f"{_QUEUE}.l_drop": 100,
        "flows.L.cc": _DCTCP,
        "traffic.L-web.cc": _DCTCP,
    },
    presets=("step-2019",),
    text=(
        "The scheduler's ratio can be a number of packets (*counter*) or a percentage "
        "(*percent*). *Counter* and *percent* differ most when both queues are full, "
        "because the scheduler then sets the share of queue L."
    ),
    setup=(
        (
            "WRR ratio 10 and 15",
            "both forms: N packets of queue L per packet of queue C (counter), or queue C's "
            "percentage (percent)",
            "the publication does not state the form; its text is consistent with both",
        ),
        ("without overload handling", "`l_drop 100` in every version", "publication"),
        ("baseline", "`dualpi2-2019-02-21`: time-shifted FIFO", "publication"),
        (
            "ECN threshold",
            "6 ms at 4 Mbit/s, 2 ms at 12 Mbit/s, 1 ms at other rates",
            "publication: the transmission time of two packets on slow links",
        ),
        ("ECT(0) in L", "`any_ect` (then `dc_dualq` and `dc_ecn`)", "publication"),
        (
            "DCTCP",
            "that of Linux 3.19, which reduces by alpha on a loss and never halves",
            "publication: its DCTCP does not respond to drops, and its end hosts have Linux 3.19",
        ),
        ("target, tupdate, gains", "defaults of the version of 21 February 2019", "assumed"),
        (
            "every segment is a packet",
            "no TSO, GSO, GRO; the queue is measured at the start of a packet's slot",
            "the simulator",
        ),
    ),
)
