"""Tests a rate of 0 on the kernel engine. During the outage, no packet may leave or be lost.
Afterwards, the link must send at its full rate immediately."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from conftest import on_both_engines

pytestmark = pytest.mark.usefixtures("kernel_kit")

OUTAGE = [["0s", "10Mbit"], ["2s", "0bit"], ["3s", "5Mbit"]]

STREAM = """
duration = "5s"
[path]
rtt = "20ms"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fifo", limit = "1000p" }
[record]
interval = "100ms"
[[traffic]]
name = "stream"
kind = "cbr"
rate = "3Mbit"
"""

FLOW = STREAM.replace('name = "stream"\nkind = "cbr"\nrate = "3Mbit"\n', "").replace(
    "[[traffic]]", '[[flows]]\ncc = "cubic"\n'
)


def both(tmp_path: Path, text: str, **changes: object) -> list[tb.Run]:
    """Return the runs of the simulator and of the kernel engine."""
    return on_both_engines(text, tmp_path, **{"bottleneck.rate": {"steps": OUTAGE}, **changes})


def test_a_stream_waits_in_the_queue(tmp_path: Path) -> None:
    sim, kernel = both(tmp_path, STREAM)
    assert kernel.manifest.get("environment", {}).get("warnings", []) == []
    for run in (sim, kernel):
        # Packets arrive at 3 Mbit/s for a second. All packets wait, except for the packet whose
        # transmission has already begun.
        assert run.summary["queue"]["drops"] == 0
        assert run.summary["queue"]["occupancy_bytes_max"] == pytest.approx(375_000, rel=0.01)
        # The first packet that arrives during the outage waits for a second.
        assert run.summary["queue"]["delay_ms"]["max"] == pytest.approx(1000, rel=0.01)
    [of_sim], [of_kernel] = sim.summary["traffic"], kernel.summary["traffic"]
    assert of_kernel["received_packets"] == pytest.approx(of_sim["received_packets"], abs=2)
    mean = sim.summary["queue"]["delay_ms"]["mean"]
    assert kernel.summary["queue"]["delay_ms"]["mean"] == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("link", ["shaper", "wire"])
def test_a_flow_goes_on_after_the_outage(tmp_path: Path, link: str) -> None:
    sim, kernel = both(tmp_path, FLOW, **{"bottleneck.link": link})
    for run in (sim, kernel):
        rows = run.series().filter(pl.col("quantity") == "delivered_bytes").sort("time_ns")
        at = dict(zip(rows["time_ns"] / 1e9, rows["value"], strict=True))
        during = [value for time, value in at.items() if 2.15 < time < 2.95]
        assert len(set(during)) == 1
        after = [(time, value) for time, value in at.items() if time >= 4]
        (begin, first), (end, last) = after[0], after[-1]
        # A full frame of 1514 bytes carries 1448 bytes of payload.
        rate = (last - first) * 8e-6 / (end - begin)
        assert rate == pytest.approx(5 * 1448 / 1514, rel=0.005)


def test_cake_cannot(tmp_path: Path) -> None:
    with pytest.raises(tb.InputError, match="shaper of cake does not support a rate of 0"):
        both(tmp_path, STREAM, **{"bottleneck.queue": "cake"})
