"""A.20: STARTUP resumes after a PROBE_RTT that began in STARTUP."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed

MEASURE = "whether BBR returns to STARTUP after PROBE_RTT (0 or 1)"
BOUND = 1.0


def judge(seen: Observed) -> Finding:
    """Pass if STARTUP continues after PROBE_RTT."""
    trace = seen.trace
    for before, probe in zip(trace.spells, trace.spells[1:], strict=False):
        after = trace.after(probe)
        if probe.state == "PROBE_RTT" and before.state == "STARTUP" and after is not None:
            back = after.state == "STARTUP"
            note = f"PROBE_RTT at {trace.start(probe):.2f} s led to {after.state}."
            return Finding(passed(back), MEASURE, float(back), BOUND, note, after.first)
    return missed(MEASURE, "No PROBE_RTT came in STARTUP.")


CASE = Case(
    "A.20", "STARTUP resumes after PROBE_RTT", MEASURE, ("mode", "cwnd"), judge, side="at least"
)
