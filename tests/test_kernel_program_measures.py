"""Compares measures of programs with the output of the programs. The measures are computed from
packets."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import tailback
from tailback.kernel.kit import Kit
from tailback.report.sweep import programs as figures

SCENARIO = """
duration = "4s"
start_jitter = "0s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fq_codel", ecn = true }
both_directions = true
[path]
rtt = "20ms"
[record]
interval = "100ms"
packets = true
[[flows]]
name = "cubic"
cc = "cubic"
[[programs]]
name = "ping"
class = "probes"
sender = { run = ["busybox", "ping", "-c", "10", "-i", "0.2", "-s", "56", "{receiver}"] }
[[programs]]
name = "six"
sender = { run = ["busybox", "ping", "-6", "-c", "5", "-i", "0.2", "{receiver6}"] }
[[programs]]
name = "copy"
env = { GET = "busybox wget -q -O - http://{sender}/data | wc -c" }
sender.run = ["sh", "-c", "head -c 1000000 /dev/zero > data; exec busybox httpd -f"]
sender.ready = "tcp:80"
receiver = { run = ["sh", "-c", "echo [$(eval $GET)] > /out/n.json"] }
results = { kb = { file = "n.json", path = "[0]", scale = 1e-3 } }
"""

# A program that writes a qlog with the date of its start.
DATED = """
[[programs]]
name = "dated"
start = "1s"
env.HEAD = '{"trace": {"common_fields": {"time_format": "relative", "reference_time": DATE}}}'
env.EVENT = '{"time": 0, "name": "recovery:metrics_updated", "data": {"congestion_window": 9}}'
env.MS = 'echo $EPOCHREALTIME | tr -d . | cut -c 1-13'
env.WRITE = 'echo "$HEAD" | sed "s/DATE/$(eval $MS)/"; echo "$EVENT"'
sender.run = ["sh", "-c", 'eval "$WRITE" > /out/own.sqlog']
"""


@pytest.fixture(scope="module")
def run(kernel_kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> tailback.Run:
    if kernel_kit.manifest.get("lacks", True):
        pytest.skip("the guest kernel cannot run programs")
    out = tmp_path_factory.mktemp("measures")
    return tailback.run(SCENARIO + DATED, engine="kernel", out=out)[0]


def test_the_rtt_is_what_ping_says(run: tailback.Run) -> None:
    programs = {program["name"]: program for program in run.summary["programs"]}
    for name, count, protocol in (("ping", 10, "icmp"), ("six", 5, "icmpv6")):
        text = (run.path / "programs" / name / "sender" / "stdout.txt").read_text()
        own = [float(ms) for ms in re.findall(r"time=([\d.]+)", text)]
        program = programs[name]
        (tuple_,) = program["tuples"]
        assert tuple_["protocol"] == protocol
        assert program["rtt_of"] == "base and sojourn"
        assert len(own) == program["packets"] == program["received_packets"] == count
        # The program itself adds some microseconds. tailback assumes that a reply waits in the
        # queue for as long as the previous reply did.
        assert program["rtt_ms"]["mean"] == pytest.approx(sum(own) / count, abs=0.2)
        assert program["rtt_ms"]["max"] == pytest.approx(max(own), abs=0.5)
        assert program["back_mbit"] == program["throughput_mbit"]
        assert program["status"] == {"sender": 0, "receiver": None}
    (one,) = run.summary["classes"]
    assert (one["flows"], one["packets"]) == (1, 10)


def test_tcp_delivers_what_was_copied(run: tailback.Run) -> None:
    copy = next(p for p in run.summary["programs"] if p["name"] == "copy")
    assert copy["results"] == {"kb": 1000.0}
    (tuple_,) = copy["tuples"]
    head = copy["delivered_bytes"] - 1_000_000
    assert tuple_["delivered_bytes"] == copy["delivered_bytes"]
    assert 0 < head < 500, "what HTTP says before it"
    assert copy["rtt_of"] == "tcp"
    assert copy["completion_s"] > 0.8
    assert copy["drops"] == tuple_["drops"]
    series = run.series().filter(pl.col("flow") == "copy")
    last = series.filter(pl.col("quantity") == "delivered_bytes")["value"].max()
    assert last == 1_000_000 + head
    for quantity in ("rtt_ns", "delay_ns", "cwnd", "srtt_ns"):
        assert not series.filter(pl.col("quantity") == quantity).is_empty(), quantity
    assert run.manifest["environment"]["guest"]["warnings"] == []
    assert json.loads(run.stored.read("programs/copy/receiver/out/n.json")) == [1_000_000]


def test_a_dated_log_is_on_the_clock_of_the_run(run: tailback.Run) -> None:
    [(_, trace, moved)] = figures._logs(run, "dated")
    assert trace.epoch_ms is not None
    # The scenario's `date` is the guest's date 60 s after its kernel started. Time 0 of the run is
    # later: the run starts once the previous entry's server is ready.
    start = run.manifest["environment"]["guest"]["clock_at_start_ns"]
    [plan] = [one for one in run.manifest["canonical"]["programs"] if one["name"] == "dated"]
    assert 0.1 < start / 1e9 - plan["date"] < 1.0
    [(at, window)] = moved(trace.cwnd)
    assert window == 9
    # The date has a resolution of a millisecond.
    assert at == pytest.approx(1.0, abs=0.01)
