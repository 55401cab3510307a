"""Tests that the kernel engine and the simulator give the same one-way delays and round-trip times
of ping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tailback as tb

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = """
duration = "6s"
warmup   = "1s"

[links.up]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "50p" }
both_directions = true

[path]
rtt = "20ms"

[[flows]]
cc    = "cubic"
route = ["up"]

[[traffic]]
name  = "game"
kind  = "cbr"
rate  = "128kbit"
packet_size = 160
route = ["up"]

[[traffic]]
kind  = "ping"
interval = "20ms"
ecn   = "ect0"
route = ["up"]
back  = ["up.back"]
"""


@pytest.fixture(scope="module")
def of_both(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, Any]]]:
    """Return the latency results of both engines. The results of the simulator come first."""
    out = tmp_path_factory.mktemp("latency")
    found = []
    for engine in ("sim", "kernel"):
        (run,) = tb.run(SCENARIO, engine=engine, out=out / engine)
        if engine == "kernel":
            assert run.manifest.get("environment", {}).get("warnings", []) == []
        found.append(run.summary["traffic"])
    return found


def test_one_way_delays_agree(of_both: list[list[dict[str, Any]]]) -> None:
    for sim, kernel in zip(*of_both, strict=True):
        for quantile in ("mean", "p50", "p99"):
            expected = sim["one_way_delay_ms"][quantile]
            # The one-way delay is half of the RTT of 20 ms, plus the queue delay. A flow keeps the
            # queue of 50 packets full.
            assert 30 < expected < 72
            assert kernel["one_way_delay_ms"][quantile] == pytest.approx(expected, rel=0.01)
        assert kernel["received_packets"] == pytest.approx(sim["received_packets"], abs=2)


def test_round_trips_agree(of_both: list[list[dict[str, Any]]]) -> None:
    sim, kernel = (sources[1] for sources in of_both)
    assert kernel["echoes"]["sent"] == sim["echoes"]["sent"] == 250
    assert kernel["echoes"]["answered"] == pytest.approx(sim["echoes"]["answered"], abs=2)
    for quantile in ("mean", "p50", "p99"):
        rtt = sim["rtt_ms"][quantile]
        assert kernel["rtt_ms"][quantile] == pytest.approx(rtt, rel=0.01)
    # The reverse path carries only ACKs, so its delay is 10 ms with almost no queue.
    back = kernel["echoes"]["back_ms"]["p50"]
    assert back == pytest.approx(sim["echoes"]["back_ms"]["p50"], rel=0.01)
    assert back == pytest.approx(10, abs=0.3)


@pytest.mark.parametrize("engine", ["sim", "kernel"])
def test_packets_of_virtual_machines_wait(tmp_path: Path, engine: str) -> None:
    """Without other traffic, a ping waits in each host for 10 to 230 us, uniformly distributed.
    For 4000 waits, the mean is 120 us and its standard error is 1 us."""
    text = """
duration = "20s"
hosts = "vm"
start_jitter = "0s"
bottleneck = { rate = "1Gbit", queue = "fifo" }
path = { rtt = "10ms" }
traffic = [{ kind = "ping", interval = "5ms" }]
"""
    (run,) = tb.run(text, engine=engine, out=tmp_path)
    (ping,) = run.summary["traffic"]
    for delay in (ping["one_way_delay_ms"], ping["echoes"]["back_ms"]):
        assert delay["n"] > 3900
        assert delay["mean"] == pytest.approx(5.12, abs=0.004)
        assert 5.22 < delay["p99"] < delay["max"] < 5.235
    assert ping["rtt_ms"]["mean"] == pytest.approx(10.24, abs=0.006)
    assert ping["echoes"]["lost"] == 0
