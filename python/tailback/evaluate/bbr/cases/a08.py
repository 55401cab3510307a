"""A.8: DOWN ends when the data in flight exceeds neither the BDP nor the headroom level."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed

MEASURE = "pacing gain in DOWN"
BOUND = 0.90
STEP = 1 / 256
BURST = 3


def judge(seen: Observed) -> Finding:
    """Pass if the gain is 0.90, and BBR changes from DOWN to CRUISE once the data in flight is
    below both levels.
    """
    trace = seen.trace
    for down in trace.of_state("DOWN"):
        after = trace.after(down)
        if (
            after is None
            or after.state != "CRUISE"
            or trace.bound(after.first, "inflight_hi") == float("inf")
        ):
            continue
        at = after.first
        gain = trace.at(down.first, "pacing_gain")
        left, target = trace.at(at, "in_flight"), trace.at(at, "bdp")
        headroom = trace.bound(at, "headroom")
        ok = abs(gain - BOUND) <= STEP and left <= min(target, headroom) + BURST
        note = (
            f"DOWN led to CRUISE with {left:.0f} segments in flight at a BDP of {target:.0f} and a "
            f"headroom level of {headroom:.0f}."
        )
        return Finding(passed(ok), MEASURE, gain, BOUND, note, at)
    return missed(MEASURE, "DOWN never led to CRUISE with inflight_longterm set.")


CASE = Case(
    "A.8",
    "DOWN ends when there is headroom",
    MEASURE,
    ("mode", "phase", "pacing_gain", "in_flight", "bdp", "headroom"),
    judge,
    side="exactly",
)
