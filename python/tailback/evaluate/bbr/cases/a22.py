"""A.22: in REFILL, low delivery-rate samples do not lower max_bw if the application limits the
flow."""

from __future__ import annotations

from tailback.evaluate.bbr.case import (
    Aim,
    Case,
    Finding,
    Observed,
    entry_of,
    missed,
    passed,
    seconds,
)

MEASURE = "fall of max_bw in REFILL (%)"
BOUND = 0.0
PAUSE_S = 0.07


def judge(seen: Observed) -> Finding:
    """Pass if max_bw does not change during REFILL, and UP begins after one round."""
    trace = seen.trace
    refill, after = seen.at_event("REFILL")
    if refill is None or after is None:
        return missed(MEASURE, "REFILL did not end.")
    inside = [*trace.inside(refill), after.first]
    low = [
        i
        for i in inside
        if trace.at(i, "app_limited") == 1
        and 0 < trace.at(i, "sample_mbit") < trace.at(i, "max_bw_mbit")
    ]
    if not low:
        return missed(MEASURE, "No sample of REFILL was application-limited and low.")
    before = trace.at(refill.first, "max_bw_mbit")
    fall = 100 * (1 - min(trace.at(i, "max_bw_mbit") for i in inside) / before)
    then = trace.after(after)
    rounds = trace.at(after.first, "round") - trace.at(refill.first, "round")
    ok = fall <= BOUND and after.state == "UP" and rounds == 1 and then is not None
    note = (
        f"REFILL led to {after.state} after {rounds:.0f} round, with {len(low)} samples that were "
        f"application-limited and low; {after.state} led to {then.state if then else 'nothing'}."
    )
    return Finding(passed(ok), MEASURE, max(fall, 0.0), BOUND, note, after.first)


CASE = Case(
    "A.22",
    "Application limits in REFILL do not change max_bw",
    MEASURE,
    ("mode", "phase", "round", "app_limited", "sample_mbit", "max_bw_mbit"),
    judge,
    Aim(
        {"flows[0].pause": []},
        entry_of("REFILL"),
        lambda at: {"flows[0].pause": [[seconds(at), seconds(at + PAUSE_S)]]},
    ),
)
