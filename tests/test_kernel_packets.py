"""Compares packet captures of the kernel engine with the guest's summary, and tshark's analysis of
the captures with the kernel's counters."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

import pytest

from conftest import Tailback
from tailback.kernel.kit import Kit
from test_export import PACKETS, Packet, read, run, seen_at_the_sender, tshark

KERNEL = ("--engine", "kernel")

Capture = tuple[dict[str, Any], dict[str, list[Packet]]]


def key(packet: Packet) -> bytes:
    """Return the headers without MAC addresses, ECN field, TTL and IP checksum, which the router
    and the queue change."""
    return packet.header[16:22] + packet.header[26:]


@pytest.fixture
def capture(kernel_kit: Kit, tailback: Tailback, tmp_path: Path) -> Capture:  # noqa: ARG001
    """Run a scenario. Return the run's summary and its exported capture."""
    summary, run_id = run(tailback, tmp_path, PACKETS, *KERNEL)
    done = tailback("export", run_id, "--format", "pcapng")
    assert (done.returncode, done.stdout) == (0, f"{run_id}.pcapng\n"), done.stderr
    return summary, read(tmp_path / f"{run_id}.pcapng")


def test_a_capture_of_the_guest_has_the_packets_of_the_summary(
    capture: Capture, tmp_path: Path
) -> None:
    summary, packets = capture
    assert list(packets) == [
        f"bottleneck{way}.{place}" for way in ("", ".back") for place in ("in", "out", "drop")
    ]
    for link, queue in summary["queues"].items():
        came, left, gone = (packets[f"{link}.{place}"] for place in ("in", "out", "drop"))
        assert sum(p.measured for p in left) == queue["packets"] > 500
        assert sum(p.measured for p in gone) == queue["drops"]
        # Compare the whole run. At the end of the run, the queue contains no packets.
        assert Counter(map(key, came)) == Counter(map(key, left + gone))
        assert not any(p.ecn == 3 for p in came)
        assert sum(p.ecn == 3 for p in left if p.measured) == queue["marks"]
        sent = sum(p.length for p in left if p.measured)
        assert sent * 8 / (10e6 * 4.5) == pytest.approx(queue["utilisation"], rel=1e-12)
    there = summary["queues"]["bottleneck"]
    assert there["drops"] > 10
    assert there["marks"] > 10
    assert {p.comment for p in packets["bottleneck.drop"]} <= {"aqm", "overflow"}
    # Captures contain the headers of packets. For datagrams, they also contain the sequence number.
    assert max(len(p.header) for p in packets["bottleneck.in"]) <= 94
    assert {len(p.header) for p in packets["bottleneck.in"] if p.header[23] == 17} == {50}
    manifest = json.loads(next(tmp_path.glob("results/runs/*/manifest.json")).read_text())
    assert manifest["packets_recorded"] == sum(map(len, packets.values()))
    assert manifest["packets_lost"] == 0


def test_sojourn_times_of_the_guest_are_the_histogram(capture: Capture) -> None:
    summary, packets = capture
    arrived: dict[bytes, deque[int]] = defaultdict(deque)
    for packet in packets["bottleneck.in"]:
        arrived[key(packet)].append(packet.time_ns)
    assert all(len(times) == 1 for times in arrived.values())
    sojourns = [p.time_ns - arrived[key(p)][0] for p in packets["bottleneck.out"] if p.measured]
    delay = summary["queue"]["delay_ms"]
    assert sum(sojourns) / len(sojourns) / 1e6 == pytest.approx(delay["mean"], rel=1e-12)
    assert max(sojourns) / 1e6 == pytest.approx(delay["max"], rel=1e-12)
    # The packets in the capture file are in the order of time. Dropped packets are, too.
    for there in packets.values():
        times = [p.time_ns for p in there]
        assert times == sorted(times)


def test_a_scheduled_loss_is_seen_before_the_queue_and_dropped(
    kernel_kit: Kit,  # noqa: ARG001
    tailback: Tailback,
    tmp_path: Path,
) -> None:
    text = PACKETS.replace(
        "both_directions = true", "schedule = { drops = [400, 900], marks = [600] }"
    ).replace('limit = "60p"', 'limit = "1000p"')
    summary, _ = run(tailback, tmp_path, text, *KERNEL, "--set", "warmup=0s")
    packets = read(next(tmp_path.glob("results/runs/*/packets.pcapng")))
    came, left, gone = (packets[f"bottleneck.{place}"] for place in ("in", "out", "drop"))
    assert Counter(map(key, came)) == Counter(map(key, left + gone))
    assert len(gone) == summary["queue"]["drops"]
    # The schedule of drops and marks counts only packets with payload.
    data = [p for p in came if p.header[23] == 6 and p.length > 100]
    dropped = {(key(p), p.time_ns) for p in gone if p.comment == "scheduled"}
    assert {(key(p), p.time_ns) for p in (data[399], data[899])} <= dropped
    # A scheduled mark drops a packet that is not ECN-capable.
    marked = key(data[599])
    if data[599].ecn == 0:
        assert marked in {k for k, _ in dropped}
    else:
        assert [p.ecn for p in left if key(p) == marked] == [3]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_counts_what_the_kernel_counts(
    kernel_kit: Kit,  # noqa: ARG001
    tailback: Tailback,
    tmp_path: Path,
) -> None:
    summary, run_id = run(tailback, tmp_path, PACKETS, *KERNEL, "--set", "warmup=0s")
    file = tmp_path / "results" / "runs" / run_id / "packets.pcapng"
    # Only the IP checksum is checked. Virtual devices do not fill in the checksums of TCP and UDP.
    bad = "_ws.malformed || ip.checksum.status == 0"
    assert tshark("-r", file, "-o", "ip.check_checksum:TRUE", "-Y", bad) == []
    marked = tshark(
        "-r", file, "-Y", 'frame.interface_name == "bottleneck.out" && ip.dsfield.ecn == 3'
    )
    assert len(marked) == summary["queue"]["marks"] > 0

    # The capture contains every byte of the flows, and the FIN.
    last = seen_at_the_sender(tailback, tmp_path, run_id, summary)
    assert last == [1800 * 1024 + 2] * 2


def test_a_capture_of_the_guest_changes_nothing_that_is_measured(
    kernel_kit: Kit,  # noqa: ARG001
    tailback: Tailback,
    tmp_path: Path,
) -> None:
    recorded, _ = run(tailback, tmp_path, PACKETS, *KERNEL)
    plain, _ = run(tailback, tmp_path, PACKETS, *KERNEL, "--set", "record.packets=false")
    assert recorded.pop("run_id") != plain.pop("run_id")
    assert recorded == plain
    assert len(list(tmp_path.glob("results/runs/*/packets.pcapng"))) == 1
