"""Tests media on the kernel engine. Frames must be the same as in the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb
from conftest import on_both_engines

pytestmark = pytest.mark.usefixtures("kernel_kit")

CALL = """
duration = "10s"
warmup = "1s"
[path]
rtt = "40ms"
[bottleneck]
rate = "2Mbit"
queue = { aqm = "fifo", limit = "100p" }
[[traffic]]
name = "video"
kind = "video"
bitrate = "1500kbit"
[[traffic]]
name = "audio"
kind = "audio"
"""


def both(tmp_path: Path, **changes: object) -> list[tb.Run]:
    """Return the runs of the simulator and of the kernel engine."""
    runs = on_both_engines(CALL, tmp_path, **changes)
    assert runs[1].manifest.get("environment", {}).get("warnings", []) == []
    return runs


def test_a_call_has_the_same_frames(tmp_path: Path) -> None:
    of_sim, of_kernel = (run.summary["traffic"] for run in both(tmp_path))
    for sim, kernel in zip(of_sim, of_kernel, strict=True):
        for key in ("sent_packets", "received_packets"):
            assert kernel[key] == pytest.approx(sim[key], abs=2)
        # At 2 Mbit/s a key frame of 40 kB takes 160 ms, so key frames wait for each other.
        for key in ("sent", "complete", "lost", "stalls"):
            assert kernel["frames"][key] == pytest.approx(sim["frames"][key], abs=1)
        late = sim["frames"]["late_share"]
        assert kernel["frames"]["late_share"] == pytest.approx(late, abs=0.01)
        mean = sim["frames"]["delay_ms"]["mean"]
        assert kernel["frames"]["delay_ms"]["mean"] == pytest.approx(mean, rel=0.01)
        assert mean > 20


def test_an_adaptive_video_hears_the_reports(tmp_path: Path) -> None:
    # The source cannot send 1.5 Mbit/s over this link, so the receiver's reports determine its
    # bitrate.
    changes = {"traffic[0].min_bitrate": "300kbit", "bottleneck.rate": "1Mbit"}
    sim, kernel = both(tmp_path, **changes)
    [of_sim, _], [of_kernel, _] = sim.summary["traffic"], kernel.summary["traffic"]
    for of in (of_sim, of_kernel):
        assert 0.3 < of["frames"]["bitrate_mbit"] < 1
    bitrate = of_sim["frames"]["bitrate_mbit"]
    assert of_kernel["frames"]["bitrate_mbit"] == pytest.approx(bitrate, rel=0.01)
