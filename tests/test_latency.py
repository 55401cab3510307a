"""Tests sources that measure latency: their table, their explanation, and their metrics."""

from __future__ import annotations

import pytest

import tailback
from tailback.cli.tables import results as tables

SCENARIO = """
duration = "6s"
warmup   = "1s"

[links.up]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "50p" }
link  = "wire"

[links.down]
rate  = "4Mbit"
queue = { aqm = "fifo", limit = "50p" }
link  = "wire"
both_directions = true

[path]
rtt = "20ms"

[[flows]]
cc    = "cubic"
route = ["up", "down"]

[[traffic]]
name  = "game"
kind  = "cbr"
rate  = "128kbit"
packet_size = 160
route = ["up", "down"]

[[traffic]]
kind  = "ping"
interval = "20ms"
route = ["up", "down"]
back  = ["down.back"]

[[traffic]]
kind  = "video"
bitrate = "500kbit"
route = ["up", "down"]

[[assert]]
metric = "one_way_delay_ms.p50"
flow   = "game"
min    = 20
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    folder = tmp_path_factory.mktemp("latency")
    (folder / "two.toml").write_text(SCENARIO, encoding="utf-8")
    return tailback.run(folder / "two.toml", out=folder / "out")


def test_delay_of_a_source_is_that_of_its_route(found: tailback.Results) -> None:
    """The queue is at the second link, so the delay must be the delay of the second link."""
    summary = found.points[0].summary
    game, ping, video = summary["traffic"]
    first, second = summary["queues"]["up"], summary["queues"]["down"]
    assert first["delay_ms"]["mean"] < 5 < 20 < second["delay_ms"]["mean"]
    waits = second["delay_ms"]["mean"]
    assert game["one_way_delay_ms"]["mean"] == pytest.approx(10 + waits, rel=0.25)
    assert game["rtt_ms"]["p99"] is None
    assert "echoes" not in game
    assert "frames" not in game
    # The reverse path has no queue. Its delay is 10 ms of propagation plus the time for 98 bytes at
    # 4 Mbit/s.
    assert ping["echoes"]["back_ms"]["max"] == pytest.approx(10.196)
    assert ping["rtt_ms"]["mean"] == pytest.approx(
        ping["one_way_delay_ms"]["mean"] + 10.196, rel=0.02
    )
    # The delay of a media frame is the delay of its slowest datagram.
    frames = video["frames"]
    assert frames["delay_ms"]["p50"] > 10
    assert frames["delay_ms"]["max"] <= video["one_way_delay_ms"]["max"]
    assert 140 < frames["sent"] < 160
    assert video["rtt_ms"]["mean"] is None


def test_latency_comes_first(found: tailback.Results, capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("latency")
    shown = [line.split()[0] for line in lines[2:5]]
    assert shown == ["game", "ping", "video"]


def test_explanation_names_latency_first(found: tailback.Results) -> None:
    explained = found.explain()
    assert [source["name"] for source in explained.latency] == ["ping", "video"]
    text = str(explained)
    assert text.startswith("latency of ping")
    assert "Of 250 requests, " in text


def test_latency_is_compared(found: tailback.Results) -> None:
    from tailback.comparison import quantities

    names = [metric.path for metric in quantities.select(())]
    assert names[:2] == ["rpm", "page_load_ms.p50"]
    assert names[2:4] == ["one_way_delay_ms.mean", "one_way_delay_ms.p99"]
    frame = found.sources()
    assert {"one_way_delay_p999_ms", "frame_delay_p99_ms", "late_share"} <= set(frame.columns)
