"""A.14: on a path that holds less than one packet, the window is at least four segments."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed, payload_mbit

MEASURE = "smallest window (segments)"
BOUND = 4.0
RATE_MBIT = 1.0
SINCE_S = 3.0
FULL = 95.0
CLOSE = 5.0


def judge(seen: Observed) -> Finding:
    """Pass if the window never falls below four segments and the link stays full."""
    trace = seen.trace
    inside = [i for i, at in enumerate(trace.times) if at >= SINCE_S]
    if not inside:
        return missed(MEASURE, f"No ACK came after {SINCE_S:g} s.")
    least = min(inside, key=lambda i: trace.at(i, "cwnd"))
    window = trace.at(least, "cwnd")
    payload = payload_mbit(RATE_MBIT)
    share = 100 * trace.delivered(inside[0], inside[-1]) / payload
    ok = window >= BOUND and share >= FULL
    note = used(share)
    if trace.has(("pacing_mbit", "phase")):
        cruising = [i for i in inside if trace.states[i] == "CRUISE"]
        off = [100 * abs(trace.at(i, "pacing_mbit") / payload - 1) for i in cruising]
        if off:
            ok = ok and max(off) <= CLOSE
            note += f" Pacing in CRUISE was off the link's rate by up to {max(off):.1f} %."
    return Finding(passed(ok), MEASURE, window, BOUND, note, least)


def used(share: float) -> str:
    """Return a sentence that says what percentage of the link the flow used."""
    short = f"; at least {FULL:g} % are needed" if share < FULL else ""
    return f"The flow used {share:.1f} % of the link{short}."


CASE = Case(
    "A.14",
    "A path that holds less than a packet",
    MEASURE,
    ("cwnd", "acked_bytes"),
    judge,
    side="at least",
    note="The draft gives no figure for the rate; 5 % is tailback's.",
)
