"""A.13: CRUISE keeps the full rate, even on a path that aggregates ACKs."""

from __future__ import annotations

from tailback.evaluate.bbr.aggregation import ROUNDS, agreement
from tailback.evaluate.bbr.case import (
    MSS,
    Aim,
    Case,
    Finding,
    Observed,
    entry_of,
    missed,
    passed,
    payload_mbit,
    seconds,
)

MEASURE = "throughput in CRUISE (% of the link's rate)"
BOUND = 95.0
RATE_MBIT = 20.0
RIGHT = 0.95
EVERY = 7
SETTLE_S = 0.2
LONG_S = 0.3


def judge(seen: Observed) -> Finding:
    """Pass if extra_acked enlarges the window and the link stays full."""
    trace, event = seen.trace, seen.event_s
    if event is None:
        return missed(MEASURE, "CRUISE never began.")
    checked: list[int] = []
    rates: list[float] = []
    for spell in trace.of_state("CRUISE"):
        inside = [i for i in trace.inside(spell) if trace.times[i] > event + SETTLE_S]
        if inside and trace.times[inside[-1]] - trace.times[inside[0]] >= LONG_S:
            checked += inside[::EVERY]
            rates.append(trace.delivered(inside[0], inside[-1]))
    if not checked:
        return missed(MEASURE, "CRUISE did not last long enough.")
    at = checked[-1]
    share = 100 * min(rates) / payload_mbit(RATE_MBIT)
    bdp = trace.at(at, "bw_mbit") * 1e3 / 8 * trace.at(at, "min_rtt_ms") / MSS
    right = agreement(trace, checked, ROUNDS)
    larger = trace.at(at, "cwnd") > 2 * bdp
    ok = share >= BOUND and larger and right >= RIGHT
    note = (
        f"The window was {trace.at(at, 'cwnd'):.0f} segments at a BDP of {bdp:.0f}; extra_acked "
        f"was {trace.at(at, 'extra_acked'):.0f}, right at {100 * right:.0f} % of the ACKs checked."
    )
    return Finding(passed(ok), MEASURE, share, BOUND, note, at)


CASE = Case(
    "A.13",
    "CRUISE keeps the rate despite ACK aggregation",
    MEASURE,
    ("mode", "phase", "cwnd", "bw_mbit", "min_rtt_ms", "extra_acked", "round", "acked_bytes"),
    judge,
    Aim(
        {"bottleneck.impairments[0].during": [["4.9s", "5s"]]},
        entry_of("CRUISE"),
        lambda at: {"bottleneck.impairments[0].during": [[seconds(at), "5s"]]},
    ),
    side="at least",
    note="The draft gives no figure; 95 % is tailback's.",
)
