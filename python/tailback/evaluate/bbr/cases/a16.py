"""A.16: within two cycles, BBR adapts to a link rate that falls to a tenth."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, passed, payload_mbit

MEASURE = "bandwidth-probing cycles until max_bw falls to the new rate"
BOUND = 2.0
CHANGE_S = 3.5
RATE_MBIT = 10.0
CLOSE = 1.05
SOON_ROUNDS = 10
HALF = 0.5


def judge(seen: Observed) -> Finding:
    """Pass if bw_shortterm falls immediately, and max_bw falls after two cycles."""
    trace = seen.trace
    since = next((i for i, at in enumerate(trace.times) if at >= CHANGE_S), None)
    if since is None:
        return Finding("undecided", MEASURE, None, BOUND, "No ACK came after the change.")
    before = trace.at(since, "max_bw_mbit")
    wanted = CLOSE * payload_mbit(RATE_MBIT)
    later = range(since, len(trace.times))
    short = next((i for i in later if trace.bound(i, "bw_lo_mbit") <= HALF * before), None)
    rounds = trace.at(short, "round") - trace.at(since, "round") if short is not None else None
    reached = next((i for i in later if trace.at(i, "max_bw_mbit") <= wanted), None)
    until = reached if reached is not None else later[-1]
    # A cycle ends one round after UP, when the delivery-rate samples taken in UP have arrived.
    cycles = float(sum(1 for s in trace.of_state("UP") if since <= s.last < until))
    soon = rounds is not None and rounds <= SOON_ROUNDS
    ok = soon and reached is not None and cycles <= BOUND
    fell = f"within {rounds:.0f} rounds" if rounds is not None else "never"
    end = f"{trace.times[until] - CHANGE_S:.2f} s after the change"
    note = (
        f"bw_shortterm fell below half of the old rate {fell}; max_bw "
        f"{f'was at the new rate {end}' if reached is not None else 'stayed above the new rate'}."
    )
    return Finding(passed(ok), MEASURE, cycles, BOUND, note, until)


CASE = Case(
    "A.16",
    "The rate falls to a tenth",
    MEASURE,
    ("mode", "phase", "round", "bw_lo_mbit", "max_bw_mbit"),
    judge,
    note="The new rate counts as reached within 5 %. The fall of bw_shortterm counts as rapid "
    "within 10 rounds.",
)
