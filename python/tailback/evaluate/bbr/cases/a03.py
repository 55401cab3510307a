"""A.3: DRAIN ends when no more than the BDP is in flight."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed

MEASURE = "pacing gain in DRAIN"
BOUND = 0.5
STEP = 1 / 256
"""Resolution of the pacing gains in Linux and in the simulator."""
BURST = 3
"""When DRAIN ends, the data in flight may exceed the BDP by this many segments, which the last ACK
may have released."""


def judge(seen: Observed) -> Finding:
    """Pass if the pacing gain is 0.5 and DRAIN ends once no more than the BDP is in flight."""
    trace = seen.trace
    drain, after = trace.first("DRAIN")
    if drain is None or after is None:
        return missed(MEASURE, "DRAIN was not seen to begin and end.")
    gain = trace.at(drain.first, "pacing_gain")
    left, target = trace.at(after.first, "in_flight"), trace.at(after.first, "bdp")
    drained = left <= target + BURST
    ok = abs(gain - BOUND) <= STEP and drained and after.state in ("DOWN", "CRUISE")
    note = (
        f"DRAIN led to {after.state} with {left:.0f} segments in flight at a BDP of {target:.0f}."
    )
    return Finding(passed(ok), MEASURE, gain, BOUND, note, after.first)


CASE = Case(
    "A.3",
    "DRAIN ends when the queue is empty",
    MEASURE,
    ("mode", "phase", "pacing_gain", "in_flight", "bdp"),
    judge,
    side="exactly",
)
