"""A.12: STARTUP finds the full rate, even on a path that aggregates ACKs."""

from __future__ import annotations

from tailback.evaluate.bbr.aggregation import agreement
from tailback.evaluate.bbr.case import MSS, Case, Finding, Observed, passed, payload_mbit

MEASURE = "max_bw when STARTUP ends (% of the link's rate)"
BOUND = 95.0
RATE_MBIT = 20.0
RIGHT = 0.95
"""The smallest share of ACKs for which `extra_acked` must agree with the draft's definition."""
EVERY = 7
"""The case checks only every seventh ACK."""


def judge(seen: Observed) -> Finding:
    """Pass if the window exceeds two BDPs and STARTUP finds the full rate."""
    trace = seen.trace
    ends = trace.of_state("DRAIN", "DOWN")
    if not ends:
        return Finding("fail", MEASURE, None, BOUND, "STARTUP never ended.", len(trace.times) - 1)
    at = ends[0].first
    bdp = trace.at(at, "bw_mbit") * 1e3 / 8 * trace.at(at, "min_rtt_ms") / MSS
    window = max(trace.at(i, "cwnd") for i in range(at))
    right = agreement(trace, range(0, at, EVERY), 1)
    found = 100 * trace.at(at, "max_bw_mbit") / payload_mbit(RATE_MBIT)
    ok = found >= BOUND and window > 2 * bdp and right >= RIGHT
    note = (
        f"The window reached {window:.0f} segments at a BDP of {bdp:.0f}; extra_acked was "
        f"{trace.at(at, 'extra_acked'):.0f}, right at {100 * right:.0f} % of the ACKs checked."
    )
    return Finding(passed(ok), MEASURE, found, BOUND, note, at)


CASE = Case(
    "A.12",
    "STARTUP finds the rate despite ACK aggregation",
    MEASURE,
    ("mode", "cwnd", "bw_mbit", "min_rtt_ms", "max_bw_mbit", "extra_acked", "round", "acked_bytes"),
    judge,
    side="at least",
    note="The draft gives no figure; 95 % of the rate and of the ACKs are tailback's. ACKs that "
    "come together make samples of the rate too high.",
)
