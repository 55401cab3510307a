"""Explains when and why slow start ended, and how far the window exceeded the path's capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailback.explain import words

if TYPE_CHECKING:
    import polars as pl

UNTOLD = "untold"
"""The reason that is reported if Linux set the slow-start threshold before any loss or mark
occurred."""

WHY = words.REASONS | {
    "hystart_delay": "HyStart: the RTT of a round rose by an eighth (at least 4 ms, at most 16 ms)",
    "hystart_train": "HyStart: the train of ACKs lasted half of the smallest RTT",
    "hystart++": (
        "HyStart++: the RTT of a round rose by an eighth (at least 4 ms, at most 16 ms), and "
        "stayed at this value for five rounds"
    ),
    "search": "SEARCH: the bytes delivered were a quarter less than the bytes sent one round trip "
    "before",
    "full_pipe": "its model of the path: the delivery rate did not grow by a quarter in three "
    "rounds",
    "too_much": "its model of the path: losses or marks showed that too much data was in flight",
    "threshold": "its initial threshold (initial_ssthresh, or a value that its host had saved)",
    "own": "a decision of the congestion control, which reports no reason",
    UNTOLD: "a decision of the congestion control (for example, HyStart): no loss and no mark "
    "occurred",
}
"""The reason why slow start ended, as text."""


def of(recorded: dict[str, Any]) -> dict[str, Any] | None:
    """Return the facts about the end of slow start, or None if slow start did not end."""
    end = recorded["slow_start"]
    if end is None:
        return None
    return {
        "ended_s": end["at_ns"] / 1e9,
        "why": end["why"],
        "cwnd": end["cwnd"],
        "rtt_ms": end["srtt_ns"] / 1e6,
        # The queueing delay that the sender measures at the end of slow start is srtt minus the
        # smallest RTT.
        "queue_ms": max(end["srtt_ns"] - end["min_rtt_ns"], 0) / 1e6,
        "lost": end["lost"],
        "settled": end["settled"],
    }


def of_series(series: pl.DataFrame, flow: dict[str, Any]) -> dict[str, Any] | None:
    """Return the same facts as `of`, but for a flow of the kernel engine. Slow start ends at the
    first sample in which ssthresh is set.
    """
    import polars as pl

    samples = series.filter(pl.col("flow") == flow["name"])
    rows = samples.filter(pl.col("quantity") == "ssthresh")["time_ns"]
    if not len(rows):
        return None
    at = int(rows[0])
    windows = samples.filter(pl.col("quantity") == "cwnd", pl.col("time_ns") <= at)["value"]
    listed = flow["reductions"]["listed"]
    first = next(
        (reduction for reduction in listed if reduction["reason"] not in words.UNDONE), None
    )
    reduced = first is not None and first["time_s"] <= at / 1e9 + (flow["seen_every_s"] or 0.0)
    cwnd: Any = first["from"] if first is not None and reduced else windows.max()
    return {
        "ended_s": at / 1e9,
        "why": first["reason"] if first is not None and reduced else UNTOLD,
        "cwnd": None if cwnd is None else int(cwnd),
        "rtt_ms": None,
        "queue_ms": None,
        "lost": None,
        "settled": None,
    }


def sentences(flow: dict[str, Any]) -> list[str]:
    if flow["kind"] != "flow" or "slow_start" not in flow:
        return []
    end = flow["slow_start"]
    if end is None:
        return ["Slow start did not end."] if flow["packets"] else []
    reasons = WHY | (words.KERNEL_REASONS if flow["told_by_kernel"] else {})
    why = reasons.get(end["why"], f'"{end["why"]}", as its congestion control says')
    window = "" if end["cwnd"] is None else f" with a window of {end['cwnd']} segments"
    text = f"Slow start ended at {words.moment(end['ended_s'])}{window}, by {why}"
    if end["queue_ms"] is None:
        return [f"{text}."]
    text += f". The queue had grown to {words.seconds(end['queue_ms'] / 1e3)} then"
    lost = words.count(end["lost"], "segment")
    if end["lost"]:
        more = "" if end["settled"] else " at least"
        return [f"{text}, and the overshoot cost {lost}{more}."]
    return [f"{text}; no segment had been lost."]
