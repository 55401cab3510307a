"""A.10: PROBE_RTT begins if no lower RTT is measured for 5 s, and later ends."""

from __future__ import annotations

from tailback.evaluate.bbr.case import MSS, Case, Finding, Observed, missed, passed
from tailback.evaluate.bbr.trace import IN_PROBE_BW

MEASURE = "time in PROBE_RTT with half of the BDP in flight (ms)"
BOUND = 200.0
INTERVAL_S = 5.0
GAIN = 0.5
LEAST = 4


def judge(seen: Observed) -> Finding:
    """Pass if the window falls to half of the BDP for 200 ms and a round, and PROBE_BW then
    continues."""
    trace = seen.trace
    probe, after = trace.first("PROBE_RTT")
    if probe is None or after is None:
        return missed(MEASURE, "PROBE_RTT was not seen to begin and end.")
    bdp = trace.at(probe.first, "bw_mbit") * 1e3 / 8 * trace.at(probe.first, "min_rtt_ms") / MSS
    target = max(LEAST, GAIN * bdp + 1)
    low = [i for i in trace.inside(probe) if trace.at(i, "in_flight") <= target]
    window = min(trace.at(i, "cwnd") for i in trace.inside(probe))
    if not low:
        note = f"The window fell to {window:.0f} segments; half of the BDP is {GAIN * bdp:.0f}."
        return Finding("fail", MEASURE, 0.0, BOUND, note, probe.last)
    lasted = 1e3 * (trace.start(after) - trace.times[low[0]])
    rounds = trace.at(after.first, "round") - trace.at(low[0], "round")
    began = trace.start(probe)
    ok = (
        began >= INTERVAL_S
        and LEAST <= window <= target
        and lasted >= BOUND
        and rounds >= 1
        and after.state in IN_PROBE_BW
    )
    note = (
        f"PROBE_RTT began at {began:.2f} s, held {window:.0f} segments (half of the BDP: "
        f"{GAIN * bdp:.0f}) for {rounds:.0f} rounds and led to {after.state}."
    )
    return Finding(passed(ok), MEASURE, lasted, BOUND, note, after.first)


CASE = Case(
    "A.10",
    "PROBE_RTT begins and ends",
    MEASURE,
    ("mode", "cwnd", "in_flight", "bw_mbit", "min_rtt_ms", "round"),
    judge,
    side="at least",
    note="Only the window is checked, not the gain behind it.",
)
