"""Tests that tailback's own modules for impairments have the same effect as the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb
from conftest import on_both_engines

pytestmark = pytest.mark.usefixtures("kernel_kit")

STREAM = """
duration = "4s"
[path]
rtt = "20ms"
[bottleneck]
rate = "100Mbit"
queue = { aqm = "fifo", limit = "1000p" }
[[bottleneck.impairments]]
kind = "police"
rate = "20Mbit"
burst = "64kb"
during = [["1s", "3s"]]
[[traffic]]
name = "stream"
kind = "cbr"
rate = "30Mbit"
"""

FLOW = """
duration = "5s"
[path]
rtt = "20ms"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fifo", limit = "50p" }
both_directions = true
[[bottleneck.impairments]]
kind = "ack_batch"
packets = 8
time = "20ms"
[[flows]]
cc = "reno"
"""


POLICED_ACKS = """
kind = "police"
rate = "50kbit"
burst = "2000b"
only = "acks"
"""


def both(tmp_path: Path, text: str, **changes: object) -> list[tb.Run]:
    """Return the runs of the simulator and of the kernel engine."""
    runs = on_both_engines(text, tmp_path, **changes)
    # The module counts the same number of losses as the captures.
    assert runs[1].manifest.get("environment", {}).get("warnings", []) == []
    return runs


def test_a_policer_drops_what_exceeds_its_rate(tmp_path: Path) -> None:
    sim, kernel = (run.summary for run in both(tmp_path, STREAM))
    # The stream sends at 30 Mbit/s for two seconds. The policer passes 20 Mbit/s, and a burst of
    # 64,000 bytes in addition.
    dropped = (10e6 / 8 * 2 - 64_000) / 1514
    assert sim["queue"]["causes"] == {"policed": pytest.approx(dropped, abs=2)}
    policed = pytest.approx(sim["queue"]["causes"]["policed"], abs=1)
    assert kernel["queue"]["causes"] == {"policed": policed}
    [of_sim], [of_kernel] = sim["traffic"], kernel["traffic"]
    assert of_kernel["received_packets"] == pytest.approx(of_sim["received_packets"], abs=1)


def test_a_policer_marks(tmp_path: Path) -> None:
    changes = {"traffic[0].ecn": "ect0", "bottleneck.impairments[0].action": "mark"}
    sim, kernel = (run.summary["queue"] for run in both(tmp_path, STREAM, **changes))
    assert sim["marks"] == pytest.approx((10e6 / 8 * 2 - 64_000) / 1514, abs=2)
    assert kernel["causes"] == {"policed_mark": pytest.approx(sim["marks"], abs=1)}


def test_acks_are_told_from_data(tmp_path: Path) -> None:
    # Data and ACKs pass both links. The policer's tokens suffice for one ACK in four.
    text = FLOW.replace('kind = "ack_batch"\npackets = 8\ntime = "20ms"\n', POLICED_ACKS)
    runs = both(tmp_path, text + '[[flows]]\ncc = "reno"\nreverse = true\n')
    for sim, kernel in zip(*(run.summary["flows"] for run in runs), strict=True):
        assert sim["causes"]["policed"] > 500
        assert kernel["causes"]["policed"] == pytest.approx(sim["causes"]["policed"], rel=0.1)
        assert kernel["throughput_mbit"] == pytest.approx(sim["throughput_mbit"], rel=0.05)


@pytest.mark.parametrize("keep", ["all", "newest"])
def test_acks_arrive_in_batches(tmp_path: Path, keep: str) -> None:
    runs = both(tmp_path, FLOW, **{"bottleneck.impairments[0].keep": keep})
    [of_sim], [of_kernel] = (run.summary["flows"] for run in runs)
    assert of_kernel["throughput_mbit"] == pytest.approx(of_sim["throughput_mbit"], rel=0.005)
    assert of_kernel["rtt_ms"]["mean"] == pytest.approx(of_sim["rtt_ms"]["mean"], rel=0.02)
    thinned = [of["causes"].get("ack_filter", 0) for of in (of_sim, of_kernel)]
    # Of eight ACKs, or of all ACKs that arrive within 20 ms, only the newest passes.
    assert thinned[1] == pytest.approx(thinned[0], rel=0.03)
    assert (thinned[0] > 3000) == (keep == "newest")
