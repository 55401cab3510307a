"""Explanations of runs whose cause is known by construction: each names it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import Tailback
from tailback.errors import DamagedResults, InputError
from tailback.explain import explain
from tailback.explain.account import read
from tailback.stored import StoredRun

Found = dict[str, Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explain")


def run(results: Path, **keys: Any) -> StoredRun:
    scenario = {
        "duration": "10s",
        "start_jitter": "0s",
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
        **keys,
    }
    return tailback.run(scenario, out=results, progress=False)[0].stored


def found(results: Path, **keys: Any) -> Found:
    return explain(run(results, **keys)).to_dict()


def said(part: Found) -> str:
    return " ".join(part["sentences"])


FIFO = {"aqm": "fifo", "limit": "1bdp"}
LATE = [{"cc": "cubic", "start": "9.9s"}]
"""A scenario has a flow."""
WIDE = {"rate": "1Gbit", "queue": {"aqm": "fifo", "limit": "100000p"}}


def test_whose_application_has_no_more_to_send(results: Path) -> None:
    """Requests that fit into the first window: all is sent at once, and waited for."""
    web = {"kind": "web", "arrival": "50ms", "min": "5kb", "max": "6kb"}
    got = found(results, bottleneck=WIDE, flows=LATE, traffic=[web])
    source = got["flows"][1]
    assert source["kind"] == "source"
    assert source["limit"] == "application"


def test_whose_receive_window_is_full(results: Path) -> None:
    got = found(results, bottleneck=WIDE, tcp={"rwnd": "20kb"})
    flow = got["flows"][0]
    assert flow["limit"] == "rwnd"
    assert flow["shares"]["rwnd"] > 0.95
    assert flow["reductions"]["count"] == 0
    assert "the receive window (9" in said(flow)


def test_who_is_paced(results: Path) -> None:
    bottleneck = {"rate": "20Mbit", "queue": {"aqm": "fifo", "limit": "10bdp"}}
    flow = found(results, bottleneck=bottleneck, flows=[{"cc": "bbr"}])["flows"][0]
    assert flow["limit"] == "pacing"


def test_whose_window_is_the_limit_and_was_never_reduced(results: Path) -> None:
    """What the path could carry takes longer to fill than the run lasts."""
    got = found(results, duration="1s", path={"rtt": "100ms"}, bottleneck=WIDE)
    flow, link = got["flows"][0], got["links"][0]
    assert flow["limit"] == "cwnd"
    assert set(flow["shares"]) == {"cwnd", "handshake"}
    assert flow["seconds"]["handshake"] == pytest.approx(0.1, abs=0.001)
    assert "never reduced" in said(flow)
    assert link["standing_share"] < 0.1
    assert "dropped and marked nothing" in said(link)


def test_whom_only_marks_hold(results: Path) -> None:
    bottleneck = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True}}
    got = found(results, bottleneck=bottleneck, flows=[{"cc": "cubic", "ecn": True}])
    flow, link = got["flows"][0], got["links"][0]
    assert flow["limit"] == "cwnd"
    assert set(flow["reductions"]["by_reason"]) == {"ece"}
    group = flow["reductions"]["groups"][0]
    assert group["count"] == flow["reductions"]["count"] > 5
    assert group["step"] == pytest.approx(0.7, abs=0.02), "beta of CUBIC"
    assert {event["cause"] for event in link["events"]} == {"mark"}
    assert [state["quantity"] for state in link["state"]] == ["codel_count", "codel_dropping"]


def test_what_slow_start_overshoots(results: Path) -> None:
    """The first loss is that of the window that doubled into a full buffer."""
    got = found(results, duration="2s", bottleneck={"rate": "50Mbit", "queue": FIFO})
    flow, link = got["flows"][0], got["links"][0]
    first = flow["reductions"]["listed"][0]
    assert first["reason"] == "dupthresh"
    assert first["time_s"] < 0.5
    assert first["from"] > 150
    assert flow["shares"]["recovery"] > 0.02
    (event,) = link["events"]
    assert event["cause"] == "overflow"
    assert event["busiest_s"] < 0.5
    assert event["busiest_count"] > event["count"] / 2


def test_a_loss_that_was_scheduled(results: Path) -> None:
    bottleneck = {**WIDE, "schedule": {"drops": [300]}}
    got = found(results, duration="2s", bottleneck=bottleneck, tcp={"rwnd": "100kb"})
    flow, link = got["flows"][0], got["links"][0]
    assert flow["reductions"]["by_reason"] == {"dupthresh": 1}
    (event,) = link["events"]
    assert (event["cause"], event["effect"], event["count"]) == ("scheduled", "drop", 1)
    (one,) = flow["reductions"]["listed"]
    assert one["to"] == pytest.approx(0.7 * one["from"], abs=1)


def test_a_flight_that_is_lost_whole(results: Path) -> None:
    """Nothing comes back, not of the probe either: the timeout fires."""
    bottleneck = {**WIDE, "schedule": {"drops": [*range(200, 215)]}}
    got = found(results, duration="3s", bottleneck=bottleneck, tcp={"rwnd": "14kb"})
    flow = got["flows"][0]
    assert flow["reductions"]["by_reason"]["timeout"] >= 1
    timeout = next(r for r in flow["reductions"]["listed"] if r["reason"] == "timeout")
    assert timeout["to"] == 1
    # The probe after two RTTs, and the timeout of 200 ms and more after it.
    assert flow["seconds"]["timeout"] > 0.2
    assert "a retransmission timeout" in said(flow)


def test_a_loss_that_a_probe_repairs(results: Path) -> None:
    """A window of one segment: no later one tells that it was lost."""
    bottleneck = {**WIDE, "schedule": {"drops": [40]}}
    got = found(results, duration="3s", bottleneck=bottleneck, tcp={"rwnd": "1500b"})
    assert got["flows"][0]["reductions"]["by_reason"] == {"probe": 1}


def test_a_reduction_that_was_spurious(results: Path) -> None:
    """The link stands still for a second: the timeout is wrong, and taken back."""
    steps = [["0s", "10Mbit"], ["3s", "1kbit"], ["4s", "10Mbit"]]
    bottleneck = {"rate": {"steps": steps}, "queue": {"aqm": "fifo", "limit": "1000p"}}
    got = found(results, bottleneck=bottleneck, tcp={"rwnd": "30kb"})
    reductions = got["flows"][0]["reductions"]
    assert reductions["undone"] >= 1
    undone = [one for one in reductions["listed"] if one.get("undone")]
    assert undone
    assert undone[0]["reason"] == "timeout"
    assert 3 < undone[0]["time_s"] < 4
    assert "taken back" in said(got["flows"][0])


def test_whose_bytes_stand_in_a_bloated_buffer(results: Path) -> None:
    bottleneck = {"rate": "10Mbit", "queue": {"aqm": "fifo", "limit": "500p"}}
    small = {"kind": "cbr", "rate": "200kbit", "name": "voice"}
    got = found(results, duration="20s", warmup="5s", bottleneck=bottleneck, traffic=[small])
    link = got["links"][0]
    assert link["queue"] == "standing"
    assert link["standing_share"] > 0.9
    assert link["shares"]["cubic"] > 0.95
    assert 0.01 < link["shares"]["voice"] < 0.05
    assert sum(link["shares"].values()) == pytest.approx(1)
    assert "cubic 9" in said(link)


def test_a_queue_of_bursts(results: Path) -> None:
    """A tenth of the time a source sends at twice the rate."""
    constant = {"on_distribution": "constant", "off_distribution": "constant"}
    on_off = {"kind": "on-off", "rate": "20Mbit", "on": "20ms", "off": "180ms", **constant}
    bottleneck = {"rate": "10Mbit", "queue": {"aqm": "fifo", "limit": "1000p"}}
    link = found(results, bottleneck=bottleneck, flows=LATE, traffic=[on_off])["links"][0]
    assert link["queue"] == "bursts"
    assert link["standing_share"] < 0.1


def test_a_rate_that_falls(results: Path) -> None:
    """What 50 Mbit/s has let grow is too much for 5."""
    steps = [["0s", "50Mbit"], ["5s", "5Mbit"]]
    bottleneck = {"rate": {"steps": steps}, "queue": {"aqm": "fifo", "limit": "100p"}}
    got = found(results, bottleneck=bottleneck, tcp={"rwnd": "200kb"})
    (event,) = got["links"][0]["events"]
    assert (event["cause"], event["first_s"] >= 4.9) == ("overflow", True)
    first = got["flows"][0]["reductions"]["listed"][0]
    assert 5 < first["time_s"] < 6


def test_who_answers_sce(results: Path) -> None:
    bottleneck = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True, "sce": "on"}}
    got = found(results, bottleneck=bottleneck, flows=[{"cc": "reno-sce"}])
    flow, link = got["flows"][0], got["links"][0]
    assert flow["reductions"]["groups"][0]["reason"] == "sce"
    assert "sce_mark" in {event["cause"] for event in link["events"]}
