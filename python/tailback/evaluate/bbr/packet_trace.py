"""Computes rates, data in flight, RTT and losses of a sender over time, from its packets alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from tailback.evaluate.measures import senders
from tailback.interop.plans import sender_plan
from tailback.store.results import Run

STEP_S = 0.01
"""The interval at which a run records packets, in seconds."""

LINK = "bottleneck"

TCP_HEADER, UDP_HEADER = 66, 42
"""Number of header bytes in a frame, for flows (TCP) and for programs (UDP). `delivered_bytes` does
not count these bytes."""


@dataclass(frozen=True)
class PacketTrace:
    """Counts of a sender's packets and bytes from the start of the run to the end of each interval.
    Bytes include frame headers.
    """

    times: Sequence[float]
    """End of each interval, in seconds."""
    sent: Sequence[float]
    """Bytes that have arrived at the bottleneck since the start, dropped packets included."""
    delivered: Sequence[float]
    """Bytes that have left the bottleneck since the start."""
    backlog: Sequence[float]
    """Bytes in the queue."""
    rtts: Sequence[float]
    """Mean RTT of each interval, in seconds. If no RTT was measured in an interval, the entry is
    the RTT of the empty path."""
    drops: Sequence[float]
    """Time of each drop, in seconds."""
    base_s: float
    """RTT of the empty path, in seconds."""
    frame: float
    """Mean length of a data packet's frame, in bytes."""
    header: int
    """Number of bytes in a frame that are not payload."""

    @classmethod
    def of(cls, run: Run, name: str) -> PacketTrace:
        point = run.manifest["canonical"]
        base_s = float(sender_plan(point, name, run.path)["rtt"]) / 1e9
        [part] = [one for one in senders(run) if one["name"] == name]
        header = TCP_HEADER if "cc" in part else UDP_HEADER
        payload = _payload(part)
        frame = payload + header
        series = run.series()
        own = pl.col("flow") == name
        drops = series.filter(own, pl.col("quantity").str.starts_with("drop."))
        drop_times = sorted(at / 1e9 for at in drops["time_ns"].to_list())
        wide = (
            series.filter(
                pl.col("quantity").is_in(["delivered_bytes", "rtt_ns", "srtt_ns"]) & own
                | (pl.col("quantity") == "backlog_bytes") & (pl.col("link") == LINK)
            )
            .pivot(on="quantity", index="time_ns", values="value", aggregate_function="last")
            .sort("time_ns")
        )
        rtt = next((name for name in ("rtt_ns", "srtt_ns") if name in wide.columns), None)
        times = [at / 1e9 for at in wide["time_ns"].to_list()]
        delivered = [
            value * frame / payload for value in _column(wide, "delivered_bytes", forward=True)
        ]
        backlog = _column(wide, "backlog_bytes", forward=True)
        sent = [
            out + queued + frame * bisect_right(drop_times, at)
            for at, out, queued in zip(times, delivered, backlog, strict=True)
        ]
        rtts = [value / 1e9 or base_s for value in _column(wide, rtt)] if rtt else []
        return cls(times, sent, delivered, backlog, rtts, drop_times, base_s, frame, header)

    @property
    def first_s(self) -> float:
        """The end (in seconds) of the first interval in which a packet arrived at the
        bottleneck."""
        return next((at for at, sent in zip(self.times, self.sent, strict=True) if sent > 0), 0.0)

    def index(self, at: float) -> int:
        """Return the last interval that ends at or before a time."""
        return max(bisect_right(self.times, at + 1e-9) - 1, 0)

    def mbit(self, counted: Sequence[float], until: int, span_s: float) -> float:
        """Return the mean rate (in Mbit/s) over the `span_s` seconds before the end of an interval.
        `counted` lists cumulative byte counts."""
        since = self.index(self.times[until] - span_s)
        passed = self.times[until] - self.times[since]
        return (counted[until] - counted[since]) * 8e-6 / passed if passed > 0 else 0.0

    @cached_property
    def in_flight(self) -> list[float]:
        """Bytes in flight at the sender at the end of each interval.

        The function assumes that a packet needs half of the empty path's RTT to reach the
        bottleneck. The function also assumes that the ACK reaches the sender half an RTT after the
        packet leaves the bottleneck. A packet is thus in flight from half an RTT before it arrives
        at the bottleneck until half an RTT after it leaves the bottleneck. Lost packets are not in
        flight.
        """
        half = self.base_s / 2
        alive = [out + queued for out, queued in zip(self.delivered, self.backlog, strict=True)]
        return [
            max(0.0, alive[self.index(at + half)] - self._before(self.delivered, at - half))
            for at in self.times
        ]

    def _before(self, counted: Sequence[float], at: float) -> float:
        return 0.0 if not self.times or at < self.times[0] else counted[self.index(at)]

    def rounds(self, since: int, until: int) -> float:
        return sum(
            (self.times[i] - self.times[i - 1]) / self.rtts[i] for i in range(since + 1, until + 1)
        )

    def lost(self, since_s: float, until_s: float) -> int:
        return bisect_right(self.drops, until_s) - bisect_right(self.drops, since_s)


def _payload(part: Mapping[str, Any]) -> float:
    """Return the payload of a full TCP packet in bytes. For a program, return the mean payload of
    its delivered packets.
    """
    count = part.get("received_packets")
    return float(part["delivered_bytes"]) / count if count else 1448.0


def _column(frame: pl.DataFrame, name: str | None, *, forward: bool = False) -> list[float]:
    if name is None or name not in frame.columns:
        return [0.0] * frame.height
    column = frame[name].fill_null(strategy="forward") if forward else frame[name]
    found: list[float] = column.fill_null(0.0).to_list()
    return found
