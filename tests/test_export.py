"""Tests exports. The tests compare packet captures with the run's summary, and CSV files with the
frames.

The tests read captures with their own parser, and with tshark if that is installed."""

from __future__ import annotations

import csv
import json
import shutil
import struct
import subprocess
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tailback as package
from conftest import SCENARIO, Tailback, contents
from tailback import _native

WARMUP_NS = 500_000_000

# All flows end before the run ends, so that no packet is left in a queue.
PACKETS = """\
duration = "5s"
warmup   = "500ms"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel", ecn = true, limit = "60p" }
both_directions = true

[record]
packets = true
series  = "off"

[[flows]]
cc    = "cubic"
bytes = "1800kb"

[[flows]]
cc    = "dctcp"
rtt   = "40ms"
bytes = "1800kb"

[[traffic]]
kind = "cbr"
rate = "1Mbit"
stop = "3s"
"""


@dataclass(frozen=True)
class Packet:
    """A packet of a capture."""

    time_ns: int
    length: int
    header: bytes
    comment: str | None

    @property
    def ecn(self) -> int:
        """The ECN field of the IP header."""
        return self.header[15] & 3

    @property
    def key(self) -> bytes:
        """The IP header without ECN and checksum, which queues change."""
        return self.header[:15] + self.header[16:24] + self.header[26:]

    @property
    def measured(self) -> bool:
        """Whether the summary counts the packet."""
        return self.time_ns >= WARMUP_NS


def options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield code and value of each option of a block."""
    while len(data) >= 4:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            return
        yield code, data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]


def read(path: Path) -> dict[str, list[Packet]]:
    """Return the packets of a capture by interface."""
    data = path.read_bytes()
    names: list[str] = []
    packets: dict[str, list[Packet]] = {}
    while data:
        kind, length = struct.unpack_from("<II", data)
        body, data = data[8 : length - 4], data[length:]
        if kind == 1:
            found = dict(options(body[8:]))
            assert struct.unpack_from("<H", body) == (1,), "Ethernet"
            assert found[9] == b"\x09", "nanoseconds"
            names.append(found[2].decode())
            packets[names[-1]] = []
        elif kind == 6:
            number, high, low, kept, original = struct.unpack_from("<5I", body)
            end = 20 + (kept + 3) // 4 * 4
            comment = dict(options(body[end:])).get(1)
            packet = Packet(
                high << 32 | low,
                original,
                body[20 : 20 + kept],
                comment.decode() if comment is not None else None,
            )
            packets[names[number]].append(packet)
        else:
            assert kind == 0x0A0D0D0A
    return packets


def run(tailback: Tailback, folder: Path, text: str, *args: str) -> tuple[dict[str, Any], str]:
    """Run a scenario. Return the summary of the run, and the run's id."""
    (folder / "packets.toml").write_text(text, encoding="utf-8")
    done = tailback("run", "packets.toml", "--json", *args)
    assert done.returncode == 0, done.stderr
    [point] = json.loads(done.stdout)["points"]
    return point, point["run_id"]


@pytest.fixture
def capture(tailback: Tailback, tmp_path: Path) -> tuple[dict[str, Any], dict[str, list[Packet]]]:
    """Return the summary of a run and its exported capture."""
    summary, run_id = run(tailback, tmp_path, PACKETS)
    done = tailback("export", run_id, "--format", "pcapng")
    assert (done.returncode, done.stdout) == (0, f"{run_id}.pcapng\n"), done.stderr
    return summary, read(tmp_path / f"{run_id}.pcapng")


def test_a_capture_has_the_packets_of_the_summary(
    capture: tuple[dict[str, Any], dict[str, list[Packet]]], tmp_path: Path
) -> None:
    summary, packets = capture
    assert list(packets) == [
        f"bottleneck{way}.{place}" for way in ("", ".back") for place in ("in", "out", "drop")
    ]
    for link, queue in summary["queues"].items():
        came, left, gone = (packets[f"{link}.{place}"] for place in ("in", "out", "drop"))
        assert sum(p.measured for p in left) == queue["packets"] > 500
        assert sum(p.measured for p in gone) == queue["drops"]
        # Compare the whole run, including the warm-up. No packet is left in the queue at the end.
        assert Counter(p.key for p in came) == Counter(p.key for p in left + gone)
        assert not any(p.ecn == 3 for p in came)
        assert sum(p.ecn == 3 for p in left if p.measured) == queue["marks"]
        sent = sum(p.length for p in left if p.measured)
        assert sent * 8 / (10e6 * 4.5) == pytest.approx(queue["utilisation"], rel=1e-12)
    there = summary["queues"]["bottleneck"]
    assert there["drops"] > 10
    assert there["marks"] > 10
    causes = Counter(p.comment for p in packets["bottleneck.drop"] if p.measured)
    assert sum(causes.values()) == there["drops"]
    assert set(causes) <= {"aqm", "overflow"}
    manifest = json.loads(next(tmp_path.glob("results/runs/*/manifest.json")).read_text())
    assert manifest["packets_recorded"] == sum(map(len, packets.values()))
    assert manifest["packets_lost"] == 0


def test_sojourn_times_of_a_capture_are_the_histogram(
    capture: tuple[dict[str, Any], dict[str, list[Packet]]],
) -> None:
    summary, packets = capture
    # Sort drops before departures at equal times: CoDel drops the head, then sends the next packet.
    events = [(p.time_ns, 0, p) for p in packets["bottleneck.in"]]
    events += [(p.time_ns, 1, p) for p in packets["bottleneck.drop"]]
    events += [(p.time_ns, 2, p) for p in packets["bottleneck.out"]]
    arrived: dict[bytes, deque[int]] = defaultdict(deque)
    sojourns: list[int] = []
    for time_ns, place, packet in sorted(events, key=lambda event: event[:2]):
        if place == 0:
            arrived[packet.key].append(time_ns)
            continue
        # If the buffer is full, the packet that just arrived is dropped. The AQM drops the oldest
        # packet.
        waited = arrived[packet.key]
        since = waited.pop() if packet.comment == "overflow" else waited.popleft()
        if place == 2 and packet.measured:
            sojourns.append(time_ns - since)
    delay = summary["queue"]["delay_ms"]
    assert sum(sojourns) / len(sojourns) / 1e6 == pytest.approx(delay["mean"], rel=1e-12)
    assert max(sojourns) / 1e6 == pytest.approx(delay["max"], rel=1e-12)


def test_a_loss_behind_the_queue_is_seen_at_both_places(tailback: Tailback, tmp_path: Path) -> None:
    text = PACKETS.replace("both_directions = true", 'link = "wire"\nloss = 0.02')
    # The transfer stops early, so that the queue is empty at the end.
    text = text.replace('bytes = "1800kb"', 'stop = "4s"')
    summary, _ = run(tailback, tmp_path, text)
    packets = read(next(tmp_path.glob("results/runs/*/packets.pcapng")))
    lost = [p for p in packets["bottleneck.drop"] if p.comment == "loss"]
    left = Counter(p.key for p in packets["bottleneck.out"])
    assert len(lost) > 10
    assert not Counter(p.key for p in lost) - left
    drops = [p for p in packets["bottleneck.drop"] if p.measured]
    assert len(drops) == summary["queue"]["drops"]
    came = len(packets["bottleneck.in"])
    assert came - len(packets["bottleneck.out"]) == len(packets["bottleneck.drop"]) - len(lost)


def tshark(*args: str | Path) -> list[str]:
    """Return the lines that tshark prints."""
    done = subprocess.run(
        ["tshark", *map(str, args)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


def seen_at_the_sender(
    tailback: Tailback, tmp_path: Path, run_id: str, summary: dict[str, Any]
) -> list[int]:
    """Check that the capture looks as if it was taken at the sender: data has not been lost or
    reordered yet, and each ACK comes after its data.

    Return the last acknowledged number of each flow.
    """
    chosen = ("--interface", "bottleneck.in", "--interface", "bottleneck.back.out")
    done = tailback("export", run_id, "--format", "pcapng", "--out", "sender.pcapng", *chosen)
    assert done.returncode == 0, done.stderr
    sender = tmp_path / "sender.pcapng"
    again = tshark("-r", sender, "-Y", "tcp.analysis.retransmission || tcp.analysis.out_of_order")
    assert len(again) == sum(flow["retransmits"] for flow in summary["flows"]) > 10
    assert len(tshark("-r", sender, "-Y", "tcp.options.sack_le")) > 10
    fields = ("-T", "fields", "-e", "tcp.stream", "-e", "tcp.ack")
    acks: dict[str, int] = {}
    for line in tshark("-r", sender, "-Y", "tcp.srcport && ip.src == 10.2.0.0/16", *fields):
        stream, ack = line.split("\t")
        acks[stream] = max(int(ack), acks.get(stream, 0))
    return list(acks.values())


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_a_capture(tailback: Tailback, tmp_path: Path) -> None:
    summary, run_id = run(tailback, tmp_path, PACKETS, "--set", "warmup=0s")
    file = tmp_path / "results" / "runs" / run_id / "packets.pcapng"
    checks = [f for p in ("ip", "tcp", "udp") for f in ("-o", f"{p}.check_checksum:TRUE")]
    bad = " || ".join(f"{p}.checksum.status == 0" for p in ("ip", "tcp", "udp"))
    assert tshark("-r", file, *checks, "-Y", f"_ws.malformed || {bad}") == []
    left = tshark("-r", file, "-Y", 'frame.interface_name == "bottleneck.out"')
    assert len(left) == summary["queue"]["packets"]
    marked = tshark(
        "-r", file, "-Y", 'frame.interface_name == "bottleneck.out" && ip.dsfield.ecn == 3'
    )
    assert len(marked) == summary["queue"]["marks"] > 0
    # The last ACK of each flow acknowledges its 1800 KiB, and no more.
    last = seen_at_the_sender(tailback, tmp_path, run_id, summary)
    assert last == [1800 * 1024 + 1] * 2


def test_a_capture_is_the_same_at_any_number_of_jobs(tailback: Tailback, tmp_path: Path) -> None:
    sweep = PACKETS + '[sweep]\n"bottleneck.rate" = ["5Mbit", "10Mbit"]\nseeds = 2\n'
    (tmp_path / "sweep.toml").write_text(sweep, encoding="utf-8")
    for jobs in ("1", "4"):
        done = tailback("run", "sweep.toml", "--json", "--jobs", jobs, "--out", jobs)
        assert done.returncode == 0, done.stderr
    one = contents(tmp_path / "1")
    assert sum(name.endswith("packets.pcapng") for name in one) == 4
    assert one == contents(tmp_path / "4")


def test_a_capture_changes_nothing_that_is_measured(tailback: Tailback, tmp_path: Path) -> None:
    recorded, _ = run(tailback, tmp_path, PACKETS)
    plain, _ = run(tailback, tmp_path, PACKETS, "--set", "record.packets=false")
    assert recorded.pop("run_id") != plain.pop("run_id")
    assert recorded == plain
    assert len(list(tmp_path.glob("results/runs/*/packets.pcapng"))) == 1


def test_a_run_that_fails_leaves_no_half_capture(tmp_path: Path) -> None:
    scenario = _native.load(PACKETS.encode(), "packets.toml")
    folder = _native.Store(tmp_path)
    with pytest.raises(package.EnginePanic):
        scenario.run(0, folder, _native.Control(fail=True))
    assert not list(tmp_path.rglob("*.pcapng"))
    scenario.run(0, folder, _native.Control())
    assert len(list(tmp_path.glob("runs/*/packets.pcapng"))) == 1


def test_csv_has_the_series_and_the_summary(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(SCENARIO, encoding="utf-8")
    assert tailback("run", "plain.toml").returncode == 0
    [stored] = package.open_results(tmp_path / "results").points
    done = tailback("export", stored.path, "--format", "csv", "--out", "x.csv")
    assert (done.returncode, done.stdout) == (0, "x.csv\nx.summary.csv\n"), done.stderr
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    frame = stored.series()
    assert list(rows[0]) == ["time_s", "flow", "link", "quantity", "value"]
    assert len(rows) == len(frame) > 100
    for row, known in zip(rows, frame.iter_rows(named=True), strict=True):
        assert float(row["time_s"]) == known["time_ns"] / 1e9
        assert float(row["value"]) == known["value"]
        assert (row["flow"] or None, row["quantity"]) == (known["flow"], known["quantity"])
    with (tmp_path / "x.summary.csv").open(encoding="utf-8", newline="") as file:
        summary = {tuple(row[:3]): row[3] for row in csv.reader(file)}
    flow, queue = stored.summary["flows"][1], stored.summary["queue"]
    assert summary["flow", "dctcp", "cc"] == "dctcp"
    assert float(summary["flow", "dctcp", "throughput_mbit"]) == flow["throughput_mbit"]
    assert float(summary["link", "bottleneck", "delay_p99_ms"]) == queue["delay_ms"]["p99"]
    assert float(summary["run", "", "duration_s"]) == 2.0


def test_what_cannot_be_exported_is_said(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(SCENARIO, encoding="utf-8")
    done = tailback("run", "plain.toml", "--json")
    run_id = json.loads(done.stdout)["points"][0]["run_id"]
    _, recorded = run(tailback, tmp_path, PACKETS)
    before = contents(tmp_path / "results")
    inside = tmp_path / "results" / "runs" / recorded / "packets.pcapng"
    for args, expected in (
        ((run_id, "--format", "pcapng"), "record.packets = true"),
        ((run_id, "--format", "flent", "--out", "x.gz"), "ends in .flent.gz"),
        ((run_id, "--format", "cvs"), '\n  write "csv"'),
        ((run_id[:-1] + "~", "--format", "csv"), run_id),
        ((run_id, "--format", "csv", "--results", "elsewhere"), "elsewhere/runs"),
        ((run_id, "--format", "csv", "--interface", "bottleneck.in"), "only for"),
        ((recorded, "--format", "pcapng", "--interface", "bottleneck.im"), "bottleneck.in"),
        ((recorded, "--format", "pcapng", "--out", inside), "inside the stored results"),
        ((run_id,), "--format"),
    ):
        done = tailback("export", *args)
        assert done.returncode == 2, args
        assert expected in done.stderr, args
        assert done.stdout == ""
    assert contents(tmp_path / "results") == before
    assert not list(tmp_path.glob("*.csv"))
    assert not list(tmp_path.glob("*.pcapng"))
