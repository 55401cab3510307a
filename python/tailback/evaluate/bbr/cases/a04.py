"""A.4: DRAIN ends after three rounds even if more than the BDP is in flight."""

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

MEASURE = "rounds in DRAIN"
BOUND = 4.0


def judge(seen: Observed) -> Finding:
    """Pass if DRAIN ends in the round after the third round, with more than the BDP in flight."""
    trace = seen.trace
    drain, after = trace.first("DRAIN")
    if drain is None or after is None:
        rounds = trace.at(-1, "round") - trace.at(drain.first, "round") if drain else None
        at = len(trace.times) - 1
        return Finding("fail", MEASURE, rounds, BOUND, "DRAIN did not end.", at)
    rounds = trace.at(after.first, "round") - trace.at(drain.first, "round")
    left, target = trace.at(after.first, "in_flight"), trace.at(after.first, "bdp")
    if left <= target and rounds < BOUND:
        return missed(MEASURE, f"The queue drained within {rounds:.0f} rounds.")
    ok = rounds <= BOUND and left > target
    note = (
        f"DRAIN led to {after.state} after {rounds:.0f} rounds, with {left:.0f} segments in flight "
        f"at a BDP of {target:.0f}."
    )
    return Finding(passed(ok), MEASURE, rounds, BOUND, note, after.first)


CASE = Case(
    "A.4",
    "DRAIN ends after three rounds",
    MEASURE,
    ("mode", "round", "in_flight", "bdp"),
    judge,
    Aim(
        {"bottleneck.rate": "20Mbit"},
        entry_of("DRAIN"),
        lambda at: {
            "bottleneck.rate": {"steps": [["0s", "20Mbit"], [seconds(at), "7Mbit"]]},
        },
    ),
    note="The rate falls by 65 %: with the draft's 10 %, a gain of 0.5 would drain the queue in "
    "time. round_count > drain_start_round + 3 holds from the fourth round on.",
)
