"""Tests that an event has the same effect on both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from conftest import on_both_engines

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = """
duration = "12s"
start_jitter = "0s"
[path]
rtt = "20ms"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "codel" }
[record]
interval = "100ms"
[[flows]]
name = "one"
cc = "cubic"
[[flows]]
name = "two"
cc = "reno"
start = "11s"
"""

STREAM = """
duration = "12s"
[path]
rtt = "20ms"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fifo", limit = "1000p" }
[[traffic]]
name = "stream"
kind = "cbr"
rate = "10Mbit"
stop = "11s"
"""


def both(tmp_path: Path, text: str, event: str) -> list[tb.Run]:
    """Return the runs of the simulator and of the kernel engine with an event at 6 s."""
    return on_both_engines(f'{text}\n[[events]]\nat = "6s"\n{event}\n', tmp_path)


def rate(run: tb.Run, flow: str, begin: float, end: float) -> float:
    """Return the rate, in Mbit/s, at which a flow delivers data between two times (in s)."""
    rows = run.series().filter(pl.col("quantity") == "delivered_bytes", pl.col("flow") == flow)
    rows = rows.filter(pl.col("time_ns").is_between(begin * 1e9, end * 1e9)).sort("time_ns")
    times, values = rows["time_ns"].to_list(), rows["value"].to_list()
    if not times:
        # On the kernel engine, a stopped flow has no samples.
        return 0.0
    return float(8e3 * (values[-1] - values[0]) / (times[-1] - times[0]))


def mean(run: tb.Run, quantity: str, begin: float, end: float) -> float:
    """Return the mean of a quantity between two times in s."""
    rows = run.series().filter(pl.col("quantity") == quantity)
    within = rows.filter(pl.col("time_ns").is_between(begin * 1e9, end * 1e9))
    return float(within["value"].mean())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "event",
    [
        'set = { "bottleneck.rate" = "5Mbit" }',
        'set = { "bottleneck.delay" = "30ms" }',
        'set = { "bottleneck.queue.target" = "40ms" }',
        'set = { "bottleneck.queue.limit" = "8p" }',
    ],
)
def test_a_flow_has_the_same_rate_before_and_after(tmp_path: Path, event: str) -> None:
    sim, kernel = both(tmp_path, SCENARIO, event)
    assert kernel.manifest.get("environment", {}).get("warnings", []) == []
    for begin, end in ((1, 6), (7, 11)):
        expected = rate(sim, "one", begin, end)
        assert rate(kernel, "one", begin, end) == pytest.approx(expected, rel=0.04)
    # The smoothed RTT includes the delay of the queue.
    expected = mean(sim, "srtt_ns", 8, 11)
    assert mean(kernel, "srtt_ns", 8, 11) == pytest.approx(expected, rel=0.1)
    # Check that the event has an effect at all.
    for run in (sim, kernel):
        quantities = ("srtt_ns", "backlog_bytes")
        ratios = [mean(run, quantity, 8, 11) / mean(run, quantity, 3, 6) for quantity in quantities]
        assert max(abs(ratio - 1) for ratio in ratios) > 0.2


def test_flows_start_and_stop_at_the_same_time(tmp_path: Path) -> None:
    sim, kernel = both(tmp_path, SCENARIO, 'start = ["two"]\nstop = ["one"]')
    for run in (sim, kernel):
        assert rate(run, "one", 7, 11) == 0
        [one, two] = run.summary["flows"]
        assert (one["from_s"], one["to_s"]) == (0, 6)
        assert (two["from_s"], two["to_s"]) == (6, 12)
    assert rate(kernel, "two", 7, 11) == pytest.approx(rate(sim, "two", 7, 11), rel=0.04)


def test_a_link_loses_the_same_share(tmp_path: Path) -> None:
    sim, kernel = both(tmp_path, STREAM, 'set = { "bottleneck.loss" = 0.3 }')
    found: list[Any] = [run.summary["traffic"][0] for run in (sim, kernel)]
    for stream in found:
        # The stream sends for 11 s, and the link loses packets in the last 5 s.
        assert stream["drops"] / stream["sent_packets"] == pytest.approx(0.3 * 5 / 11, rel=0.1)
        assert stream["received_packets"] + stream["drops"] == stream["sent_packets"]


def test_packets_keep_their_order_when_the_delay_shrinks(tmp_path: Path) -> None:
    text = STREAM.replace('rate = "20Mbit"', 'rate = "20Mbit"\ndelay = "50ms"')
    for run in both(tmp_path, text, 'set = { "bottleneck.delay" = "5ms" }'):
        [stream] = run.summary["traffic"]
        # In the first 6 s, packets have a delay of 60 ms. Afterwards, they have a delay of 15 ms.
        delay = stream["one_way_delay_ms"]
        assert delay["mean"] == pytest.approx((6 * 60 + 5 * 15) / 11, rel=0.03)
        assert stream["received_packets"] == stream["sent_packets"]


def test_what_linux_cannot_change_is_named(tmp_path: Path) -> None:
    text = STREAM.replace('aqm = "fifo", limit = "1000p"', 'aqm = "step"')
    with pytest.raises(tb.InputError, match="qdisc step keeps its options during a run"):
        both(tmp_path, text, 'set = { "bottleneck.queue.threshold" = "3ms" }')
