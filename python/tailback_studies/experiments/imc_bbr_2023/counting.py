"""Computes the goodput of a transfer in the same way as iperf.

iperf 3.1.3 ends a transfer with a message on a separate connection. This message waits behind the
data in the bottleneck's queue. The receiver counts data until this message arrives, but divides
the amount of data by the client's sending time. Later versions of iperf divide the amount of data
by the server's receiving time. The goodput that later versions print equals the goodput over the 60
s of sending, except at 10 Mbit/s with a buffer of 10 MB."""

from __future__ import annotations

from typing import Any, Protocol

import polars as pl

from tailback_studies.experiments.imc_bbr_2023.layout import BUFFERS, ImcRow, Place

# Kernels on which the authors used iperf 3.1.3.
COUNTS_THE_QUEUE = ("4.15",)
# The time (in seconds) during which the client sends.
SENDS_S = 60.0
# Time between samples of the queue and of the delivered bytes.
INTERVAL = "50ms"


class Counted(Protocol):
    """The parts of a stored run from which the goodput is computed."""

    @property
    def summary(self) -> Any:
        """The run's summary."""

    def series(self) -> pl.DataFrame:
        """Return the recorded samples."""


def prepare(row: ImcRow, scenario: dict[str, Any]) -> None:
    """Some versions of iperf also count the data that is in the queue when the client stops
    sending. For kernels with such a version, record series, and lengthen the run by the time that a
    full queue needs to drain.
    """
    if row.kernel not in COUNTS_THE_QUEUE:
        return
    # Add half a second, so that there is a sample after the longest queue has drained.
    last_s = SENDS_S + drain_s(row.place, BUFFERS[row.place.buffer_kb]) + 0.5
    scenario["duration"] = f"{last_s:.3f}s"
    scenario["record"] = {"series": "interval", "interval": INTERVAL}


def drain_s(place: Place, queue_bytes: float) -> float:
    """Return the time (in seconds) that the link needs to send `queue_bytes`."""
    return 8 * queue_bytes / (1e6 * place.rate_mbit)


def goodput_mbit(row: ImcRow, run: Counted) -> float | None:
    """Return the goodput (in Mbit/s) that the version of iperf on the row's kernel would print."""
    if row.kernel not in COUNTS_THE_QUEUE:
        within: float | None = run.summary["flows"][0]["throughput_mbit"]
        return within
    samples = run.series()
    queue = samples.filter(pl.col("quantity") == "backlog_bytes", pl.col("link") == "tbf")
    waiting = at(queue, SENDS_S)
    if waiting is None:
        return None
    delivered = samples.filter(pl.col("quantity") == "delivered_bytes")
    counted = at(delivered, SENDS_S + drain_s(row.place, waiting))
    return None if counted is None else 8e-6 * counted / SENDS_S


def at(samples: pl.DataFrame, time_s: float) -> float | None:
    """Interpolate the samples linearly. Return None for a time before the first or after the last
    sample."""
    time_ns = 1e9 * time_s
    before = samples.filter(pl.col("time_ns") <= time_ns).sort("time_ns").tail(1)
    after = samples.filter(pl.col("time_ns") >= time_ns).sort("time_ns").head(1)
    if before.is_empty() or after.is_empty():
        return None
    (start, low), (end, high) = (
        frame.select("time_ns", "value").row(0) for frame in (before, after)
    )
    share = 0.0 if end == start else (time_ns - start) / (end - start)
    return float(low + share * (high - low))
