"""Computes `extra_acked` from a trace by the definition in section 5.5.9 of BBR's draft."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.evaluate.bbr.case import MSS
from tailback.evaluate.bbr.trace import StateTrace

ROUNDS = 10
"""Number of rounds over which the draft's filter takes the maximum: `BBR.ExtraAckedFilterLen`."""

NEW = 2
"""The smallest number of rounds over which an implementation of the filter may take the maximum."""


def samples(trace: StateTrace) -> list[float]:
    """Return for each ACK how many more segments were acknowledged than BBR's bandwidth estimate
    predicts.

    Both numbers of segments are counted from the start of an aggregation epoch. A new epoch begins
    when ACKs fall behind the prediction. The values are limited to the congestion window. BBR keeps
    a maximum of these values over several rounds, but this function does not.
    """
    found = []
    since, acked, before = trace.times[0], 0.0, 0.0
    for i, now in enumerate(trace.times):
        new = (trace.at(i, "acked_bytes") - before) / MSS
        before = trace.at(i, "acked_bytes")
        if new <= 0:
            found.append(0.0)
            continue
        expected = trace.at(i, "bw_mbit") * 1e6 / 8 / MSS * (now - since)
        if acked <= expected:
            since, acked, expected = now, 0.0, 0.0
        acked += new
        found.append(min(acked - expected, trace.at(i, "cwnd")))
    return found


def agreement(trace: StateTrace, wanted: Sequence[int], rounds: int) -> float:
    """Return the share of ACKs at which BBR's `extra_acked` equals the maximum over the last
    `rounds` rounds.

    BBR's filter keeps only a few samples, so the number of rounds that the filter covers varies. A
    value counts as equal if it lies between the maximum over the last 2 rounds and the maximum over
    the last `rounds` rounds."""
    extra = samples(trace)
    numbers = trace.values["round"]
    fitting = 0
    for i in wanted:
        recent = long = 0.0
        for back in range(i, -1, -1):
            age = numbers[i] - numbers[back]
            if age > rounds:
                break
            long = max(long, extra[back])
            if age < min(NEW, rounds):
                recent = max(recent, extra[back])
        value = trace.at(i, "extra_acked")
        fitting += recent - 1.5 <= value <= long + 1.5
    return fitting / len(wanted) if wanted else 0.0
