"""A.1: STARTUP ends once the delivery rate stops growing."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, passed, payload_mbit

MEASURE = "difference between max_bw and the link's rate (%)"
BOUND = 2.0
RATE_MBIT = 20.0
ROUNDS = 3


def judge(seen: Observed) -> Finding:
    """Pass if BBR, after three rounds without growth, sets full_bw_now and full_bw_reached and
    enters DRAIN.
    """
    trace = seen.trace
    ends = trace.of_state("DRAIN", "DOWN", "UP", "CRUISE", "REFILL")
    if not ends:
        return Finding("fail", MEASURE, None, BOUND, "STARTUP never ended.", len(trace.times) - 1)
    at = ends[0].first
    off = 100 * abs(trace.at(at, "max_bw_mbit") / payload_mbit(RATE_MBIT) - 1)
    rounds = trace.at(at, "full_bw_rounds")
    flags = trace.at(at, "full_bw_now") == 1 and trace.at(at, "full_bw_reached") == 1
    ok = ends[0].state == "DRAIN" and flags and rounds == ROUNDS and off <= BOUND
    note = (
        f"STARTUP led to {ends[0].state} after {rounds:.0f} rounds without growth by 25 %; "
        f"full_bw_now and full_bw_reached were {'set' if flags else 'not both set'}."
    )
    return Finding(passed(ok), MEASURE, off, BOUND, note, at)


CASE = Case(
    "A.1",
    "STARTUP ends on a plateau",
    MEASURE,
    ("mode", "max_bw_mbit", "full_bw_now", "full_bw_reached", "full_bw_rounds"),
    judge,
)
