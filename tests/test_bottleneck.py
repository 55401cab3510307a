"""Tests the simulated bottleneck as a library: the caller passes datagrams to it."""

from __future__ import annotations

import pytest

import tailback as tb
from tailback.errors import InputError, ScenarioError

SCENARIO = """\
duration = "1s"
[bottleneck]
rate = "1Mbit"
queue = "dualpi2"
[path]
rtt = "10ms"
[[programs]]
name = "mine"
"""


def deliveries(bottleneck: tb.Bottleneck) -> list[tb.Delivery]:
    """Return all deliveries of the packets in the bottleneck. Poll at the times that the bottleneck
    requests."""
    found = []
    while (now := bottleneck.next()) is not None:
        while (delivery := bottleneck.poll(now)) is not None:
            assert delivery.at <= now
            found.append(delivery)
    return found


def test_datagrams_wait_for_one_another_and_are_marked() -> None:
    bottleneck = tb.Bottleneck(SCENARIO)
    for handle in range(10):
        bottleneck.push(0, 1208, "ect1", handle)
    found = deliveries(bottleneck)
    assert [one.handle for one in found] == list(range(10))
    # 1250 bytes take 10 ms at 1 Mbit/s. Propagation takes half of the path's RTT.
    assert [one.at for one in found] == [(5 + 10 * i) * 1_000_000 for i in range(10)]
    # Packets that wait longer than the step threshold of 1 ms are marked.
    assert [one.ecn for one in found] == ["ect1"] + 9 * ["ce"]
    assert {(one.to, one.sent, one.cause, one.link) for one in found} == {
        ("receiver", 0, None, None)
    }


def test_packets_are_captured_if_the_scenario_records_them() -> None:
    assert tb.Bottleneck(SCENARIO).pcapng() is None
    bottleneck = tb.Bottleneck(SCENARIO + "[record]\npackets = true\n")
    for handle in range(10):
        bottleneck.push(0, 1208, "ect1", handle)
    before = bottleneck.pcapng()
    deliveries(bottleneck)
    after = bottleneck.pcapng()
    assert before is not None
    assert after is not None
    assert after.startswith(before)
    # There are 20 packets, because each datagram is captured when it arrives at the queue and when
    # it leaves. The file has a block for each packet: 42 bytes of headers, 2 bytes of padding and
    # 32 other bytes.
    assert len(after) - len(before) == 20 * (32 + 44)


def test_drops_have_a_cause_and_a_link() -> None:
    bottleneck = tb.Bottleneck(SCENARIO.replace('"dualpi2"', '{ aqm = "fifo", limit = "3p" }'))
    for handle in range(6):
        bottleneck.push(0, 1208, handle=handle)
    dropped = [one for one in deliveries(bottleneck) if one.ecn is None]
    assert [(one.handle, one.cause, one.link) for one in dropped] == [
        (4, "overflow", "bottleneck"),
        (5, "overflow", "bottleneck"),
    ]
    assert repr(dropped[0]) == "Delivery(4 to receiver, dropped at 5000000 ns: overflow)"


def test_the_way_back_has_no_queue() -> None:
    bottleneck = tb.Bottleneck(SCENARIO)
    for handle in (1, 2):
        bottleneck.push_back(3_000_000, 100, "ect0", handle)
    found = deliveries(bottleneck)
    assert [(one.to, one.at, one.ecn) for one in found] == 2 * [("sender", 8_000_000, "ect0")]


def test_competing_traffic_goes_on_and_the_seed_decides() -> None:
    text = SCENARIO + '[[flows]]\ncc = "cubic"\n'

    def delays(seed: int) -> list[int]:
        bottleneck = tb.Bottleneck(text, seed=seed)
        for number in range(100):
            bottleneck.push(number * 20_000_000, 1200, handle=number)
        return [one.at - one.sent for one in deliveries(bottleneck) if one.ecn is not None]

    assert delays(1) == delays(1) != delays(2)
    assert max(delays(1)) > 20_000_000


def test_what_is_wrong_is_an_input_error() -> None:
    with pytest.raises(ScenarioError, match='unknown queue discipline "dualpi"'):
        tb.Bottleneck(SCENARIO.replace("dualpi2", "dualpi"))
    with pytest.raises(InputError, match="needs one entry of"):
        tb.Bottleneck(SCENARIO.partition("[[programs]]")[0] + '[[flows]]\ncc = "cubic"\n')
    bottleneck = tb.Bottleneck(SCENARIO)
    bottleneck.push(5, 100)
    with pytest.raises(InputError, match="the time goes back from 5 ns to 4 ns"):
        bottleneck.poll(4)
    with pytest.raises(InputError, match="expected one of not-ect, ect1, ect0, ce"):
        bottleneck.push(5, 100, "ect2")
    with pytest.raises(InputError, match="a datagram of 65494 bytes; expected at most 65493"):
        bottleneck.push(5, 65_494)
    assert bottleneck.next() is not None
