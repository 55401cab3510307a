"""A.5: UP ends once the delivery rate stops growing."""

from __future__ import annotations

from tailback.evaluate.bbr.case import Case, Finding, Observed, missed, passed

MEASURE = "rounds without growth of the bandwidth before UP ends"
BOUND = 3.0


def judge(seen: Observed) -> Finding:
    """Pass if BBR changes from UP to DOWN after three rounds without growth."""
    trace = seen.trace
    ups = [spell for spell in trace.of_state("UP") if trace.after(spell) is not None]
    if not ups:
        return missed(MEASURE, "UP was not seen to begin and end.")
    after = trace.after(ups[0])
    assert after is not None
    at = after.first
    lost = max(trace.at(i, "ca_state") for i in trace.inside(ups[0]))
    rounds = trace.at(at, "full_bw_rounds")
    ok = after.state == "DOWN" and rounds == BOUND and trace.at(at, "full_bw_now") == 1
    note = f"UP led to {after.state}, {'with' if lost else 'without'} losses."
    return Finding(passed(ok and not lost), MEASURE, rounds, BOUND, note, at)


CASE = Case(
    "A.5",
    "UP ends on a plateau",
    MEASURE,
    ("mode", "phase", "ca_state", "full_bw_now", "full_bw_rounds"),
    judge,
    side="exactly",
)
