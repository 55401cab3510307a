"""A.7: UP and STARTUP continue as long as the application limits the flow and nothing is lost."""

from __future__ import annotations

from tailback.evaluate.bbr.case import FLOW, Aim, Case, Finding, Observed, entry_of, missed, passed
from tailback.evaluate.bbr.pauses import pauses

MEASURE = "time in UP while application-limited (s)"
BOUND = 1.0
STARTING = "startup"


def judge(seen: Observed) -> Finding:
    """Pass if UP lasts as long as the application's pauses continue, and STARTUP lasts until the
    run ends."""
    trace, event = seen.trace, seen.event_s
    up, after = seen.at_event("UP")
    if up is None or event is None:
        return missed(MEASURE, "UP never began.")
    end = trace.times[up.last]
    held = min(end - event, BOUND) if after is not None else BOUND
    starting = seen.traces[STARTING]
    left = [s for s in starting.spells if s.state not in ("STARTUP", "PROBE_RTT")]
    led = f"led to {after.state}" if after else "did not end"
    note = (
        f"UP {'lasted throughout' if held >= BOUND - 0.1 else led}; "
        f"STARTUP {f'led to {left[0].state}' if left else 'lasted throughout'}."
    )
    ok = held >= BOUND - 0.1 and not left
    at = after.first if after else up.last
    if left and held >= BOUND - 0.1:
        return Finding("fail", MEASURE, held, BOUND, note, left[0].first, STARTING)
    return Finding(passed(ok), MEASURE, held, BOUND, note, at)


CASE = Case(
    "A.7",
    "Application limits end neither UP nor STARTUP",
    MEASURE,
    ("mode", "phase", "app_limited"),
    judge,
    Aim(
        {"flows[0].pause": []},
        entry_of("UP"),
        lambda at: {"flows[0].pause": pauses(at, BOUND)},
    ),
    flows=(FLOW, STARTING),
    side="at least",
)
