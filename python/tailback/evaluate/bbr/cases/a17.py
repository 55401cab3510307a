"""A.17: behind a policer, the flow settles at the token rate."""

from __future__ import annotations

import polars as pl

from tailback.evaluate.bbr.case import MSS, Case, Finding, Observed, passed, payload_mbit

MEASURE = "packets policed in the last 5 s (%)"
BOUND = 5.0
RATE_MBIT = 10.0
SETTLED_S = 10.0
LEAST = 80.0
"""The lowest throughput that passes, in percent of the token rate."""


def judge(seen: Observed) -> Finding:
    """Pass if BBR sets both short-term bounds (of inflight and bandwidth), and the loss rate is low
    at the end."""
    trace = seen.trace
    probing = [i for i in range(len(trace.times)) if trace.at(i, "full_bw_reached") == 1]
    reacted = [
        next((i for i in probing if trace.at(i, name) > 0), None)
        for name in ("inflight_lo", "bw_lo_mbit")
    ]
    last = list(trace.between(SETTLED_S, trace.times[-1]))
    drops = seen.run.series().filter(
        pl.col("quantity") == "drop.policed", pl.col("time_ns") >= SETTLED_S * 1e9
    )
    arrived = (trace.at(last[-1], "acked_bytes") - trace.at(last[0], "acked_bytes")) / MSS
    lost = 100 * drops.height / (arrived + drops.height)
    share = 100 * trace.delivered(last[0], last[-1]) / payload_mbit(RATE_MBIT)
    ok = None not in reacted and lost <= BOUND and share >= LEAST
    note = (
        f"{'Both short-term bounds' if None not in reacted else 'Not both short-term bounds'} "
        f"reacted; in the last 5 s the flow got {share:.0f} % of the policer's tokens."
    )
    at = next((i for i in reacted if i is not None), last[0])
    return Finding(passed(ok), MEASURE, lost, BOUND, note, at)


CASE = Case(
    "A.17",
    "A token bucket polices the flow",
    MEASURE,
    ("mode", "full_bw_reached", "inflight_lo", "bw_lo_mbit", "acked_bytes"),
    judge,
    note="The draft gives no figure; 5 % of loss and 80 % of the tokens are tailback's.",
)
