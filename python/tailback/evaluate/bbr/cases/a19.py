"""A.19: BBR undoes a spurious timeout completely."""

from __future__ import annotations

from tailback.evaluate.bbr import spurious
from tailback.evaluate.bbr.case import Aim, Case, entry_of, seconds

SPAN_S = 0.01
LOSS = 4

CASE = Case(
    "A.19",
    "A timeout is spurious",
    spurious.MEASURE,
    spurious.NEEDS,
    lambda seen: spurious.judge(seen, LOSS, "recovery by timeout"),
    Aim(
        {"bottleneck.impairments[0].steps": [["0s", "0ms"]]},
        entry_of("UP"),
        lambda at: {
            "bottleneck.impairments[0].steps": [
                ["0s", "0ms"],
                [seconds(at), "600ms"],
                [seconds(at + SPAN_S), "0ms"],
            ],
        },
    ),
    side="at least",
    note="A pause of the path replaces the draft's reordering: it delays all packets by as much.",
)
