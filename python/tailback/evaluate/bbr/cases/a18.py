"""A.18: BBR undoes a spurious fast recovery completely."""

from __future__ import annotations

from tailback.evaluate.bbr import spurious
from tailback.evaluate.bbr.case import Aim, Case, entry_of, seconds

SPAN_S = 0.1
RECOVERY = 3

CASE = Case(
    "A.18",
    "Fast recovery is spurious",
    spurious.MEASURE,
    spurious.NEEDS,
    lambda seen: spurious.judge(seen, RECOVERY, "fast recovery"),
    Aim(
        {"bottleneck.impairments[0].during": [["5.9s", "6s"]]},
        entry_of("UP"),
        lambda at: {
            "bottleneck.impairments[0].during": [[seconds(at), seconds(at + SPAN_S)]],
        },
    ),
    side="at least",
)
