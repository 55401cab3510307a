"""Repeats a comparison from 2019 between three commits of DualPI2's refactoring, with equal
parameters."""

from __future__ import annotations

from tailback_studies.experiments.titles import TITLES
from tailback_studies.experiments.versions import Versions

_DCTCP = {"name": "dctcp", "version": "linux-3.19"}
_QUEUE = "bottleneck.queue"

EXPERIMENT = Versions(
    name="dualpi2-2019-refactoring",
    title=TITLES["dualpi2-2019-refactoring"],
    doc="Did a refactoring change the behaviour of DualPI2? tailback runs three commits "
    "of DualPI2 (*sign-kept*, *reset* and *no-reset*) in all scenarios of the set `l4s-battery`.",
    versions={
        "sign-kept": {f"{_QUEUE}.arithmetic": "div127"},
        "reset": {f"{_QUEUE}.arithmetic": "div64", f"{_QUEUE}.reset_interval": "1s"},
        "no-reset": {f"{_QUEUE}.arithmetic": "div64"},
    },
    base={
        f"{_QUEUE}.version": "dualpi2-2019-refactored",
        f"{_QUEUE}.limit": "40000p",
        f"{_QUEUE}.target": "15ms",
        f"{_QUEUE}.tupdate": "16ms",
        f"{_QUEUE}.alpha": 40 / 256,
        f"{_QUEUE}.beta": 818 / 256,
        f"{_QUEUE}.any_ect": True,
        f"{_QUEUE}.coupling_factor": 2,
        f"{_QUEUE}.overload": "drop",
        f"{_QUEUE}.step_thresh": "1ms",
        f"{_QUEUE}.drop": "dequeue",
        f"{_QUEUE}.classic_protection": 10,
        "flows.L.cc": _DCTCP,
        "traffic.L-web.cc": _DCTCP,
    },
    pairs=(("reset", "no-reset"),),
    text=(
        "The DualPI2 module of 2019 stores the queue delays of its last update among its "
        "statistics. Therefore a reset of the statistics sets these delays to zero. After a "
        "reset, the next update changes the probability by beta times the whole queue delay. Such "
        "updates cause the differences between the versions *reset* and *no-reset*. The "
        "publication's numbers are not public, so we do not know how large these differences are "
        "in the publication."
    ),
    setup=(
        (
            "parameters",
            "`limit 40000p target 15ms tupdate 16ms alpha 0.156250 beta 3.195312 any_ect "
            "coupling_factor 2 drop_on_overload step_thresh 1ms drop_dequeue classic_protection "
            "10%` in every version",
            "publication",
        ),
        (
            "first commit: the sign is kept in the computation with alpha and beta",
            "gains are divided by 127: 0.504 of the requested value",
            "the version that fixes the sign; assumed: the other two versions have the full gain",
        ),
        (
            "second commit: statistics are reset",
            "gains divided by 64; once a second, as often as the publication samples, the delays "
            "among the statistics become 0 (`reset_interval`). The controller uses them as the "
            "delays of its last update, so at the next update the whole queue counts as growth",
            "read in the module, which keeps the delays among its statistics; assumed: the times "
            "of the resets",
        ),
        (
            "third commit: statistics are not reset",
            "the second commit without the reset",
            "publication",
        ),
        (
            "step threshold",
            "applies to packets that find two or more in L on arrival (`min_qlen_step 2`)",
            "the refactored version",
        ),
        ("DCTCP", "that of Linux 3.19", "publication: end hosts"),
        (
            "every segment is a packet",
            "no TSO, GSO, GRO; the queue is measured at the start of a packet's slot",
            "the simulator",
        ),
    ),
)
