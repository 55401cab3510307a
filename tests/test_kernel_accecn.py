"""Tests the marks that a receiver with Accurate ECN reports in its ACKs, on both engines.

The path loses most ACKs, so the sender times out and repeats segments that arrived long before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import Tailback
from test_export import Packet, read

SEEDS = 4

STORM = f"""\
duration = "300s"
start_jitter = "0s"

[links.there]
rate  = "100Mbit"
queue = {{ aqm = "fifo", limit = "1000p" }}
schedule.marks = {list(range(5, 2000, 3))}

[links.back]
rate  = "100Mbit"
queue = {{ aqm = "fifo", limit = "1000p" }}
loss  = 0.6

[path]
rtt = "10ms"

[tcp]
ecn_feedback = "accecn"

[record]
packets = true
series  = "off"

[[flows]]
cc    = "reno"
ecn   = true
route = ["there"]
back  = ["back"]
bytes = "3mb"
"""

SYN = 2
ACCECN1 = 174


@dataclass(frozen=True)
class Segment:
    """A packet as TCP sees it."""

    time_ns: int
    seq: int
    ack: int
    payload: int
    syn: bool
    ace: int
    ce: bool
    counters: tuple[int, ...] | None

    @staticmethod
    def of(packet: Packet) -> Segment:
        header = packet.header
        at = 14 + (header[14] & 15) * 4
        end = at + (header[at + 12] >> 4) * 4
        found = None
        option = at + 20
        while option < min(end, len(header)) and header[option] != 0:
            if header[option] == 1:
                option += 1
                continue
            length = header[option + 1]
            if header[option] == ACCECN1:
                value = header[option + 2 : option + length]
                triples = range(0, len(value), 3)
                found = tuple(int.from_bytes(value[i : i + 3], "big") for i in triples)
            option += length
        return Segment(
            packet.time_ns,
            int.from_bytes(header[at + 4 : at + 8], "big"),
            int.from_bytes(header[at + 8 : at + 12], "big"),
            int.from_bytes(header[16:18], "big") - (end - 14),
            bool(header[at + 13] & SYN),
            (header[at + 12] & 1) << 2 | header[at + 13] >> 6,
            packet.ecn == 3,
            found,
        )


@pytest.mark.parametrize("engine", ["sim", "kernel"])
def test_copies_of_what_was_acknowledged_before_the_last_ack_do_not_count(
    engine: str, tailback: Tailback, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "kernel":
        request.getfixturevalue("kernel_kit")
    (tmp_path / "storm.toml").write_text(STORM, encoding="utf-8")
    done = tailback("run", "storm.toml", "--engine", engine, "--seeds", str(SEEDS), "--json")
    assert done.returncode == 0, done.stderr
    counted = left_out = acknowledgements = 0
    payloads: set[int] = set()
    options: set[tuple[int, ...] | None] = set()
    for point in json.loads(done.stdout)["points"]:
        export = tailback("export", point["run_id"], "--format", "pcapng")
        assert export.returncode == 0, export.stderr
        packets = read(tmp_path / f"{point['run_id']}.pcapng")
        there = [Segment.of(packet) for packet in packets["there.out"]]
        back = [Segment.of(packet) for packet in packets["back.in"]]
        first = (there[0].seq + 1) % 2**32
        if not any(segment.ce for segment in there):
            continue  # a lost SYN-ACK was repeated without ECN
        # Data arrives when it leaves the link. The ACK for this data reaches the return link half
        # an RTT later.
        data = [(s.time_ns + 5_000_000, 0, s) for s in there if s.payload]
        acks = [(s.time_ns, 1, s) for s in back if not s.syn]
        acknowledged = packets_ce = bytes_ce = 0
        for _, back_again, segment in sorted(data + acks, key=lambda event: event[:2]):
            if back_again:
                acknowledged = max(acknowledged, (segment.ack - first) % 2**32)
                assert segment.ace == (5 + packets_ce) % 8
                if segment.counters is not None and len(segment.counters) >= 2:
                    assert segment.counters[1] == bytes_ce
                acknowledgements += 1
                continue
            payloads.add(segment.payload)
            options.add(segment.counters)
            if not segment.ce:
                continue
            if (segment.seq - first) % 2**32 + segment.payload < acknowledged:
                left_out += 1
            else:
                packets_ce += 1
                bytes_ce += segment.payload
        counted += packets_ce
    assert acknowledgements > 100
    assert counted > 30
    assert left_out > 5
    # Segments with data also carry the option of Accurate ECN, with the initial byte counters. This
    # option reduces the payload.
    assert max(payloads) == 1436
    assert options == {(1, 0, 1)}
