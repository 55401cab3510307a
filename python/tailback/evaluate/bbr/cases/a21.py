"""A.21: losses in UP reduce inflight_longterm, if it is set, and end UP."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Aim, Case, Finding, Observed, missed, passed, seconds
from tailback.evaluate.bbr.trace import StateTrace

MEASURE = "inflight_longterm after the loss, divided by min(BDP, cwnd)"
BOUND = 0.7
SPAN_S = 0.3


def bounded_up(trace: StateTrace) -> float | None:
    """Return the start of a period of UP that lasts more than a round and during which
    inflight_longterm is set.
    """
    for up in trace.of_state("UP"):
        rounds = trace.at(up.last, "round") - trace.at(up.first, "round")
        if trace.at(up.first, "inflight_hi") > 0 and rounds >= 2:
            return trace.start(up) + 1e-6
    return None


def judge(seen: Observed) -> Finding:
    """Pass if DOWN begins, and inflight_longterm is set to the larger of two values.

    The first value is the data in flight, the second is 0.7 times the smaller of BDP and window.
    """
    trace = seen.trace
    up, after = seen.at_event("UP")
    if up is None or after is None:
        return missed(MEASURE, "UP did not end.")
    at = after.first
    before, now = trace.at(at - 1, "inflight_hi"), trace.bound(at, "inflight_hi")
    target = min(trace.at(at - 1, "bdp"), trace.at(at - 1, "cwnd"))
    sent = max(trace.at(i, "in_flight") for i in trace.inside(up))
    if trace.at(at, "full_bw_now") == 1:
        return missed(MEASURE, "UP ended on a plateau, before the loss.")
    rounded = 1.0
    ok = after.state == "DOWN" and BOUND * target - rounded <= now <= max(sent, before) + rounded
    cut = now < before
    note = (
        f"UP led to {after.state}; inflight_longterm went from {before:.0f} to {now:.0f} segments, "
        f"0.7 of the target is {BOUND * target:.0f}."
    )
    return Finding(passed(ok and cut), MEASURE, now / target, BOUND, note, at)


CASE = Case(
    "A.21",
    "Losses in UP cut inflight_longterm",
    MEASURE,
    ("mode", "phase", "round", "inflight_hi", "in_flight", "bdp", "cwnd", "full_bw_now"),
    judge,
    Aim(
        {"bottleneck.impairments[0].during": [["13.9s", "14s"]]},
        bounded_up,
        lambda at: {
            "bottleneck.impairments[0].during": [[seconds(at), seconds(at + SPAN_S)]],
        },
    ),
    side="at least",
)
