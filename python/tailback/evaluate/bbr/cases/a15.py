"""A.15: BBR finds the new rate after the link's rate has grown tenfold.

To find the rate, BBR raises inflight_longterm in each round by twice as much as in the round
before.
"""

from __future__ import annotations

import itertools
from math import log2

from tailback.evaluate.bbr.case import FRAME, Case, Finding, Observed, passed, payload_mbit
from tailback.evaluate.bbr.trace import Spell, StateTrace

MEASURE = "rounds in UP until max_bw reaches the new rate"
CHANGE_S = 5.5
RATE_MBIT = 100.0
RTT_S = 0.04
FOUND = 0.95
BOUND = 3 * log2(RATE_MBIT * 1e6 * RTT_S / 8 / FRAME)
DOUBLE = 1.5
"""The smallest ratio of a step to the previous step that counts as doubling."""
DOUBLINGS = 3
"""How many of the first steps must grow by at least the factor `DOUBLE`. In later steps the flow is
not always limited by its window."""


def steps(trace: StateTrace, up: Spell) -> list[float]:
    """Return the amount by which each round of a probe has raised inflight_longterm."""
    ends: dict[float, float] = {}
    for i in trace.inside(up):
        ends[trace.at(i, "round")] = trace.at(i, "inflight_hi")
    levels = list(ends.values())
    return [after - before for before, after in itertools.pairwise(levels)]


def judge(seen: Observed) -> Finding:
    """Pass if BBR finds the full rate within O(log(BDP)) rounds of UP."""
    trace = seen.trace
    wanted = FOUND * payload_mbit(RATE_MBIT)
    found = next((i for i, bw in enumerate(trace.values["max_bw_mbit"]) if bw >= wanted), None)
    until = found if found is not None else len(trace.times) - 1
    ups = [s for s in trace.of_state("UP") if trace.times[s.last] > CHANGE_S and s.first <= until]
    rounds = 0.0
    longest: list[float] = []
    for up in ups:
        last = min(up.last, until)
        rounds += trace.at(last, "round") - trace.at(up.first, "round") + 1
        grown = [step for step in steps(trace, up) if step > 0]
        longest = grown if len(grown) > len(longest) else longest
    doubled = 0
    for before, after in itertools.pairwise(longest):
        if after < DOUBLE * before:
            break
        doubled += 1
    shown = ", ".join(f"{step:.0f}" for step in longest[:10])
    if found is None:
        most = max(trace.values["max_bw_mbit"])
        note = f"The rate was not found: max_bw reached {most:.1f} Mbit/s. Steps: {shown}."
        return Finding("fail", MEASURE, rounds, BOUND, note, until)
    note = (
        f"max_bw reached {FOUND:.0%} of the link {trace.times[found] - CHANGE_S:.2f} s after the "
        f"change. Steps of inflight_longterm by round: {shown}."
    )
    return Finding(
        passed(rounds <= BOUND and doubled >= DOUBLINGS), MEASURE, rounds, BOUND, note, found
    )


CASE = Case(
    "A.15",
    "The rate grows tenfold",
    MEASURE,
    ("mode", "phase", "round", "inflight_hi", "max_bw_mbit"),
    judge,
    note="The draft says O(log(BDP)); the bound of 3 log2(BDP in packets) is tailback's.",
)
