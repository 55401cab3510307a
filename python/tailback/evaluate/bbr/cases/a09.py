"""A.9: DOWN ends after bw_probe_wait even if the queue does not drain."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Aim, Case, Finding, Observed, missed, passed, seconds
from tailback.evaluate.bbr.trace import StateTrace

MEASURE = "time in DOWN (s)"
BOUND = 3.0
LEAST_S = 2.0
SLACK_S = 0.2
"""The number of seconds by which DOWN may exceed its time limit. DOWN ends only on an ACK, which
may arrive one RTT later, including the queueing delay."""


def after_up(trace: StateTrace) -> float | None:
    """Return the time at which DOWN follows UP for the first time."""
    for up in trace.of_state("UP"):
        down = trace.after(up)
        if down is not None and down.state == "DOWN":
            return trace.start(down) + 1e-6
    return None


def judge(seen: Observed) -> Finding:
    """Pass if BBR changes from DOWN to REFILL after 2 to 3 s."""
    trace = seen.trace
    down, after = seen.at_event("DOWN")
    if down is None or after is None:
        return missed(MEASURE, "DOWN was not seen to begin and end.")
    lasted = trace.start(after) - trace.start(down)
    if after.state == "CRUISE" and trace.at(after.first, "in_flight") <= trace.at(
        after.first, "bdp"
    ):
        return missed(MEASURE, f"The queue drained within {lasted:.2f} s.")
    ok = after.state == "REFILL" and LEAST_S <= lasted <= BOUND + SLACK_S
    note = f"DOWN led to {after.state}."
    return Finding(passed(ok), MEASURE, lasted, BOUND, note, after.first)


CASE = Case(
    "A.9",
    "DOWN ends after its maximum duration",
    MEASURE,
    ("mode", "phase", "in_flight", "bdp"),
    judge,
    Aim(
        {"bottleneck.rate": "20Mbit"},
        after_up,
        lambda at: {
            "bottleneck.rate": {"steps": [["0s", "20Mbit"], [seconds(at), "18Mbit"]]},
        },
    ),
)
