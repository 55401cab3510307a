"""A.11: after an idle time no PROBE_RTT is needed."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed

MEASURE = "PROBE_RTT phases in the 2 s after the idle time"
BOUND = 0.0
RESUMED_S = 9.0
WATCHED_S = 2.0


def judge(seen: Observed) -> Finding:
    """Pass if BBR sets idle_restart when it sends data after an idle time, and if it skips
    PROBE_RTT.
    """
    trace = seen.trace
    idle = [i for i, at in enumerate(trace.times) if at < RESUMED_S]
    resumed = list(trace.between(RESUMED_S, RESUMED_S + WATCHED_S))
    if not idle or not resumed:
        return missed(MEASURE, "The flow did not resume.")
    at = resumed[0]
    restarts = trace.at(at, "idle_restarts") - trace.at(idle[-1], "idle_restarts")
    probes = [
        s
        for s in trace.of_state("PROBE_RTT")
        if s.last >= at and trace.start(s) <= RESUMED_S + WATCHED_S
    ]
    count = float(len(probes))
    ok = restarts >= 1 and not probes
    note = f"idle_restart was {'set' if restarts else 'not set'} when the flow resumed."
    return Finding(passed(ok), MEASURE, count, BOUND, note, probes[0].first if probes else at)


CASE = Case(
    "A.11",
    "Idle time replaces PROBE_RTT",
    MEASURE,
    ("mode", "idle_restarts"),
    judge,
)
