"""Checks that BBR restores its bounds and its state after a spurious loss recovery. The cases A.18
and A.19 use this module."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Finding, Observed, missed, passed

MEASURE = (
    "how many of inflight_longterm, inflight_shortterm, bw_shortterm and the state return to "
    "their values from before the loss"
)
BOUND = 4.0
BOUNDS = ("inflight_hi", "inflight_lo", "bw_lo_mbit")
NEEDS = ("mode", "phase", "ca_state", *BOUNDS, "undone")

GONE_ON = {"UP": ("UP", "REFILL"), "STARTUP": ("STARTUP",)}
"""For each state, the states that count as a return to that state. A probe restarts with REFILL, so
REFILL also counts as a return to UP."""


def judge(seen: Observed, state: int, word: str) -> Finding:
    """Pass if the undo restores the bounds and the state from before the recovery.

    `state` is the sender's congestion state during that recovery, and `word` names the recovery in
    the result."""
    trace, event = seen.trace, seen.event_s
    later = [i for i, at in enumerate(trace.times) if event is not None and at >= event]
    entered = next((i for i in later if trace.at(i, "ca_state") == state), None)
    if entered is None:
        return missed(MEASURE, f"No {word} came.")
    before = next(i for i in range(entered, 0, -1) if trace.at(i - 1, "ca_state") < 2) - 1
    count = trace.at(before, "undone")
    undone = next((i for i in later if i >= entered and trace.at(i, "undone") > count), None)
    if undone is None:
        return missed(MEASURE, f"The stack did not find the {word} spurious.")
    kept = [name for name in BOUNDS if trace.bound(undone, name) >= trace.bound(before, name)]
    was, now = trace.states[before], trace.states[undone]
    same = now in GONE_ON.get(was, (was,))
    left = trace.states[undone - 1]
    lost = [name for name in BOUNDS if name not in kept]
    note = (
        f"Before: {was}; in the {word}: {left}; after the undo: {now}."
        f"{f' Not restored: {chr(44).join(lost)}.' if lost else ''}"
    )
    return Finding(passed(not lost and same), MEASURE, float(len(kept) + same), BOUND, note, undone)
