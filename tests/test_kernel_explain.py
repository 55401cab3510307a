"""Tests explanations of runs on real Linux. The explanations use Linux's tcp_info."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tailback as package
from tailback.explain import explain
from tailback.kernel.kit import Kit


def found(out: Path, **keys: Any) -> dict[str, Any]:
    scenario = {
        "duration": "6s",
        "warmup": "1s",
        "start_jitter": "0s",
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic", "ecn": True}],
        **keys,
    }
    made = package.run(scenario, out=out, engine="kernel", progress=False)
    return explain(made[0].stored).to_dict()


CODEL = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True}}


def test_marks_hold_the_window(kernel_kit: Kit, tmp_path: Path) -> None:  # noqa: ARG001
    small = {"kind": "cbr", "rate": "200kbit", "name": "voice"}
    got = found(tmp_path, bottleneck=CODEL, record={"series": "acks"}, traffic=[small])
    flow, link = got["flows"][0], got["links"][0]
    assert flow["limit"] == "cwnd_or_pacing"
    assert flow["shares"]["cwnd_or_pacing"] > 0.95
    group = flow["reductions"]["groups"][0]
    assert group["reason"] == "ece"
    assert group["count"] > 5
    assert group["step"] == pytest.approx(0.7, abs=0.05), "beta of CUBIC"
    assert flow["seen_every_s"] == 0
    assert {event["cause"] for event in link["events"]} == {"mark"}
    assert link["shares"]["cubic"] > 0.9
    assert "after every ACK" in got["notes"][0]


def test_the_receive_window_is_the_limit(kernel_kit: Kit, tmp_path: Path) -> None:  # noqa: ARG001
    wide = {"rate": "200Mbit", "queue": {"aqm": "fifo", "limit": "1000p"}}
    got = found(tmp_path, bottleneck=wide, tcp={"rwnd": "30kb"})
    flow = got["flows"][0]
    assert flow["limit"] == "rwnd"
    assert flow["reductions"]["count"] == 0
    assert flow["seen_every_s"] == pytest.approx(0.1)


def test_a_loss_halves_the_window_once(
    kernel_kit: Kit,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    """The sender detects the loss and halves its window on both engines."""
    drop = {"rate": "20Mbit", "queue": {"aqm": "fifo", "limit": "100p"}, "schedule": {}}
    drop["schedule"] = {"drops": [700]}
    keys = {"bottleneck": drop, "flows": [{"cc": "reno"}], "tcp": {"rwnd": "100kb"}}
    got = found(tmp_path, **keys, warmup="0s", record={"series": "acks"})
    groups = got["flows"][0]["reductions"]["groups"]
    assert [(group["reason"], group["count"]) for group in groups] == [("rack", 1)]
    assert groups[0]["step"] == pytest.approx(0.5, abs=0.05)


def test_engines_are_compared_by_what_both_tell(kernel_kit: Kit, tmp_path: Path) -> None:  # noqa: ARG001
    scenario = {
        "duration": "6s",
        "warmup": "1s",
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic", "ecn": True}],
        "bottleneck": CODEL,
    }
    variants = {"sim": {}, "linux": {"engine": "kernel"}}
    made = package.compare(scenario, variants, seeds=2, out=tmp_path, progress=False)
    told = {reason.quantity for at in made.reasons for reason in at.reasons}
    assert not any(name.startswith(("limited", "reductions", "step")) for name in told)


def test_a_report_names_the_causes_that_linux_shows(kernel_kit: Kit, tmp_path: Path) -> None:  # noqa: ARG001
    scenario = {
        "duration": "6s",
        "bottleneck": {"rate": "20Mbit", "queue": "codel"},
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
    }
    made = package.run(scenario, out=tmp_path, engine="kernel", progress=False)
    written = made.report().with_name("report.md").read_text()
    table = written.partition("What held each flow back, in numbers")[2]
    assert "a loss (fast recovery)" in table
    assert "RACK" not in written
