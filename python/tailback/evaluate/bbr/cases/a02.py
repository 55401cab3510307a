"""A.2: losses end STARTUP even if the application limits the flow."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, passed

MEASURE = "loss rate in the last round of STARTUP (%)"
BOUND = 2.0
PLATEAU = 3


def judge(seen: Observed) -> Finding:
    """Pass if BBR enters DRAIN after a round with a high loss rate, although the delivery-rate
    samples are application-limited.
    """
    trace = seen.trace
    # DRAIN and DOWN end immediately if little is in flight, so the trace may show the next state
    # instead.
    ends = trace.of_state("DRAIN", "DOWN", "CRUISE")
    if not ends:
        return Finding("fail", MEASURE, None, BOUND, "STARTUP never ended.", len(trace.times) - 1)
    at = ends[0].first
    sent = trace.at(at, "sample_tx_in_flight")
    share = 100 * trace.at(at, "sample_lost") / sent if sent else 0.0
    limited = trace.at(at, "app_limited") == 1
    plateau = trace.at(at, "full_bw_rounds") >= PLATEAU
    reached = trace.at(at, "full_bw_reached") == 1
    ok = share > BOUND and limited and reached and not plateau
    note = (
        f"STARTUP led to {ends[0].state} at {trace.start(ends[0]):.3f} s with a sample that was "
        f"{'' if limited else 'not '}application-limited, full_bw_reached "
        f"{'set' if reached else 'not set'}, by {'a plateau' if plateau else 'loss'}."
    )
    return Finding(passed(ok), MEASURE, share, BOUND, note, at)


CASE = Case(
    "A.2",
    "STARTUP ends on loss when application-limited",
    MEASURE,
    (
        "mode",
        "app_limited",
        "full_bw_reached",
        "full_bw_rounds",
        "sample_lost",
        "sample_tx_in_flight",
    ),
    judge,
    side="at least",
    note="The appendix asks for full_bw_now too; section 5.3.1.3 sets full_bw_reached alone, "
    "so only that is checked.",
)
