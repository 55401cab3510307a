"""Compares the ACKs of the simulator and the kernel engine, up to a few seconds after the first
delayed ACK.

Linux acknowledges every segment while the receive window grows. The size of the segments determines
how long the receive window grows. The start of delayed ACKs determines when the sender sends pairs
of segments. Delayed ACKs therefore determine whether a queue marks or drops one packet or two.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import Tailback
from test_export import read
from test_kernel_accecn import Segment

SCENARIO = """\
duration    = "{duration}"
timer_phase = "0s"

[bottleneck]
rate            = "10Mbit"
both_directions = true
queue           = {{ aqm = "fifo", limit = "1bdp" }}

[path]
rtt = "40ms"

[tcp]
mss = {mss}
ecn_feedback = "{feedback}"

[record]
packets = true

[[flows]]
cc  = "reno"
ecn = {ecn}
"""


@pytest.mark.usefixtures("kernel_kit")
@pytest.mark.parametrize(
    ("mss", "feedback", "duration", "since", "first_pair"),
    [
        # The window grows with each of the first 3078 segments. The receiver also does not delay
        # the ACKs of the next 16 segments.
        (1448, "auto", "8s", 1000, 3094),
        # With segments of 1436 bytes, the window also grows with each of the first 3078 segments.
        (1448, "accecn", "8s", 1000, 3094),
        # With small segments, less than half of the buffer is payload, so the window never grows.
        (500, "auto", "1s", 0, 16),
    ],
)
def test_delayed_acks_begin_with_the_same_segment(
    *, mss: int, feedback: str, duration: str, since: int, first_pair: int, tailback: Tailback,
    tmp_path: Path,
) -> None:  # fmt: skip
    ecn = str(feedback == "accecn").lower()
    text = SCENARIO.format(mss=mss, feedback=feedback, duration=duration, ecn=ecn)
    (tmp_path / "acks.toml").write_text(text, encoding="utf-8")
    streams = []
    for engine in ("sim", "kernel"):
        done = tailback("run", "acks.toml", "--engine", engine, "--json")
        assert done.returncode == 0, done.stderr
        (point,) = json.loads(done.stdout)["points"]
        export = tailback("export", point["run_id"], "--format", "pcapng")
        assert export.returncode == 0, export.stderr
        packets = read(tmp_path / f"{point['run_id']}.pcapng")
        acks = [Segment.of(packet) for packet in packets["bottleneck.back.in"]]
        data = [Segment.of(packet) for packet in packets["bottleneck.out"]]
        first, payload = data[0].seq + 1, max(segment.payload for segment in data)
        streams.append([(ack.ack - first) % 2**32 / payload for ack in acks if not ack.syn])
    sim, kernel = streams
    assert sim == kernel
    # ACKs of several segments also occur in slow start before the first losses, so look only at
    # later segments.
    pairs = [
        round(before)
        for before, after in pairwise(sim)
        if before >= since and round(after - before, 3) == 2
    ]
    assert pairs[0] == first_pair
