"""Tests the registry's description of algorithms in the kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailback import _native, registry
from tailback.kernel import own


@pytest.mark.parametrize(
    ("queue", "whether"),
    [
        ({"name": "fifo", "options": {}}, True),
        ({"name": "pi2", "options": {}}, True),
        ({"name": "bfifo", "kernel": True, "args": "limit 9000"}, True),
        ({"name": "fq_codel", "options": {}}, False),
        ({"name": "cake", "options": {"flow": "flowblind"}}, True),
        ({"name": "cake", "options": {"flow": "flows"}}, False),
        ({"name": "cake", "kernel": True, "args": "flowblind"}, False),
        ({"name": "sfq", "kernel": True, "args": ""}, False),
    ],
)
def test_whether_a_packet_waits_behind_all_others(queue: dict[str, object], whether: bool) -> None:
    assert registry.in_order(queue) is whether


def test_modules_of_tailbacks_own_are_there() -> None:
    for name in own.names():
        assert (Path(own.__file__).parent / name).is_dir()


@pytest.mark.parametrize(
    ("cc", "modules"),
    [
        ('{ name = "cubic", beta = 0.7, beta_ecn = 0.85 }', ["mine", "tcp_cubic_abe"]),
        ('{ name = "cubic", beta = 0.7, beta_ecn = 0.7 }', ["mine"]),
        ('{ name = "cubic", module = "v2" }', ["mine", "v2"]),
        ('{ name = "mycc", kernel = true }', ["mine"]),
    ],
)
def test_modules_that_a_point_needs(cc: str, modules: list[str]) -> None:
    text = f"""duration = "1s"
    [bottleneck]
    rate = "1Mbit"
    queue = {{ aqm = "codel", module = "mine" }}
    [[flows]]
    cc = {cc}
    ecn = true"""
    scenario = _native.load(text.encode(), "f.toml", engine="kernel")
    assert scenario.points[0].modules == modules


def test_a_line_of_what_is_not_registered() -> None:
    def line(queue: dict[str, object]) -> str:
        return _native.tc_line(json.dumps(queue))

    assert line({"name": "sfq", "kernel": True, "args": "limit 50"}) == "qdisc sfq limit 50"
    # Unknown options, from another version of tailback, are left out.
    options = {"limit": {"packets": 5}, "target": "soon", "colour": "red"}
    assert line({"name": "codel", "options": options}) == "qdisc codel limit 5p"
    with pytest.raises(ValueError, match="queue: "):
        _native.tc_line("{")
