"""A.6: losses end UP even if the application limits the flow."""

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
from tailback.evaluate.bbr.pauses import pauses

MEASURE = "loss when UP ends (%)"
BOUND = 2.0
SPAN_S = 1.0


def judge(seen: Observed) -> Finding:
    """Pass if BBR enters DOWN because of losses, although the delivery-rate samples are
    application-limited.
    """
    trace = seen.trace
    _, after = seen.at_event("UP")
    if after is None:
        return missed(MEASURE, "UP did not end.")
    at = after.first
    sent = trace.at(at, "sample_tx_in_flight")
    share = 100 * trace.at(at, "sample_lost") / sent if sent else 0.0
    limited = trace.at(at, "app_limited") == 1
    plateau = trace.at(at, "full_bw_now") == 1
    if not limited:
        return missed(MEASURE, f"UP led to {after.state} before a sample was application-limited.")
    hi = trace.bound(at, "inflight_hi")
    note = (
        f"UP led to {after.state} by {'a plateau' if plateau else 'loss'}; inflight_longterm is "
        f"{'not set' if hi == float('inf') else f'{hi:.0f} segments'} afterwards."
    )
    # DOWN ends immediately if little is in flight, so the trace may show CRUISE instead.
    ok = after.state in ("DOWN", "CRUISE") and not plateau and share > BOUND
    return Finding(passed(ok), MEASURE, share, BOUND, note, at)


CASE = Case(
    "A.6",
    "UP ends on loss when application-limited",
    MEASURE,
    ("mode", "phase", "app_limited", "full_bw_now", "sample_lost", "sample_tx_in_flight"),
    judge,
    Aim(
        {"bottleneck.impairments[0].during": [["5.9s", "6s"]], "flows[0].pause": []},
        entry_of("UP"),
        lambda at: {
            "bottleneck.impairments[0].during": [[seconds(at + 0.1), seconds(at + SPAN_S)]],
            "flows[0].pause": pauses(at, SPAN_S),
        },
    ),
    side="at least",
    note="The appendix always updates inflight_longterm. The pseudo-code of section 5.5.10.2 "
    "updates it only if the sample is not application-limited. So only the transition is checked.",
)
