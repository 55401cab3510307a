"""Tests that the kernel engine supports every scenario key, is deterministic, and writes the same
columns of results as the simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from conftest import ROOT, SCENARIO, Tailback, contents

pytestmark = pytest.mark.usefixtures("kernel_kit")

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

BASE = """\
title    = "base"
duration = "3s"
warmup   = "1s"
start_jitter = "0s"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel", ecn = true }

[path]
rtt = "20ms"
"""


def one(
    tmp_path: Path, text: str, engine: str = "kernel", **values: object
) -> tuple[dict[str, Any], tb.Run]:
    """Run a scenario that has one run. Return the run's summary and the run."""
    chosen = {name.replace("__", "."): value for name, value in values.items()}
    [run] = tb.run(text, set=chosen, engine=engine, out=tmp_path / "out")
    return run.summary, run


def both(tmp_path: Path, text: str, **values: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the summaries of the kernel and of the simulator."""
    return one(tmp_path, text, "kernel", **values)[0], one(tmp_path, text, "sim", **values)[0]


def columns(value: object, path: str = "") -> set[str]:
    """Return the paths of all fields. Leave out fields inside `causes`, which differ between
    runs."""
    if isinstance(value, Mapping):
        if path.endswith(".causes"):
            return {path}
        return set().union({path}, *(columns(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list):
        return set().union({path}, *(columns(v, f"{path}[{i}]") for i, v in enumerate(value)))
    return {path}


# --- columns of the results --------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_have_the_simulators_columns(tailback: Tailback, example: Path) -> None:
    shorter = ["--set", "duration=2s", "--set", "warmup=500ms", "--seeds", "1"]
    if example.stem == "sweep":
        shorter += ["--set", 'sweep={"bottleneck.rate"=["10Mbit","40Mbit"]}']
    elif "[sweep]" in example.read_text(encoding="utf-8"):
        # Run one sweep point, because each boots a guest. Other tests check sweeps.
        shorter += ["--set", "sweep={}"]
    outputs = {}
    for engine in ("kernel", "sim"):
        done = tailback("run", example, "--engine", engine, "--json", *shorter)
        assert (done.returncode, done.stderr) == (0, "")
        outputs[engine] = json.loads(done.stdout)
    kernel, sim = outputs["kernel"], outputs["sim"]
    assert columns(kernel) == columns(sim)
    assert (kernel["engine"], sim["engine"]) == ("kernel", "sim")
    for mine, other in zip(kernel["points"], sim["points"], strict=True):
        assert (mine["params"], mine["seed"]) == (other["params"], other["seed"])
        assert mine["run_id"] != other["run_id"]
        for flow in mine["flows"]:
            assert flow["throughput_mbit"] > 0
            assert flow["rtt_ms"]["mean"] > 0


def test_series_are_those_of_the_simulator(tmp_path: Path) -> None:
    kept = {}
    for engine in ("kernel", "sim"):
        _, run = one(tmp_path, SCENARIO, engine)
        kept[engine] = run.series()
    keys = ["flow", "link", "quantity"]
    assert set(kept["kernel"].select(keys).unique().rows()) == set(
        kept["sim"].select(keys).unique().rows()
    )
    # Both engines sample at the same times.
    backlog = pl.col("quantity") == "backlog_bytes"
    assert (
        kept["kernel"].filter(backlog)["time_ns"].to_list()
        == kept["sim"].filter(backlog)["time_ns"].to_list()
    )


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, jobs in (("a", 1), ("b b, c", 2)):
        tb.run(SCENARIO, seeds=2, jobs=jobs, out=tmp_path / name, engine="kernel")
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b b, c")
    assert len(first) == 2 * 5
    assert first == second
    manifests = [json.loads(v) for k, v in sorted(first.items()) if k.endswith("manifest.json")]
    assert {m["seed"] for m in manifests} == {1, 2}
    series = [v for k, v in first.items() if k.endswith("series.parquet")]
    assert series[0] != series[1]


def test_the_manifest_says_what_ran(tmp_path: Path, kernel_kit: Any) -> None:
    _, run = one(tmp_path, SCENARIO)
    environment = run.manifest["environment"]
    assert environment["guest"]["kernel"] == kernel_kit.version
    assert environment["kit"]["config_hash"] == kernel_kit.manifest["config_hash"]
    assert set(environment["kit"]["modules"]) >= {"sch_codel", "tcp_dctcp"}
    assert "iproute2" in environment["guest"]["iproute2"]
    lines = [text for _, text in environment["guest"]["qdiscs"]]
    assert any("codel" in text and "target 5ms" in text and "ecn" in text for text in lines)
    assert ["s0", "net/ipv4/tcp_ecn", "0"] in environment["guest"]["sysctls"]
    assert all("tso off" in text for _, text in environment["guest"]["offloads"])
    assert environment["guest"]["warnings"] == []


# --- keys of a scenario ----------------------------------------------------------------


def test_a_sized_transfer_completes_as_in_the_simulator(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "cubic"\nbytes = "1mb"\n'
    kernel, sim = both(tmp_path, text, warmup="0s", bottleneck__queue="fifo")
    [mine], [other] = kernel["flows"], sim["flows"]
    assert mine["delivered_bytes"] == other["delivered_bytes"] == 1_048_576
    assert mine["completion_s"] == pytest.approx(other["completion_s"], rel=0.03)
    # The transfer ends well before the run ends. The throughput of a transfer is computed over the
    # duration of the transfer.
    assert mine["completion_s"] < 1.5
    assert mine["throughput_mbit"] == pytest.approx(
        8 * 1_048_576 / 1e6 / mine["completion_s"], rel=1e-9
    )


def test_nothing_before_the_warm_up_counts(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "reno"\n'
    queue = {"aqm": "fifo", "limit": "50p"}
    whole, _ = one(tmp_path, text, warmup="0s", bottleneck__queue=queue)
    later, _ = one(tmp_path, text, bottleneck__queue=queue)
    # The two runs differ only in the start of the measured time.
    assert later["flows"][0]["from_s"] == 1.0
    for before, after in (
        (whole["queue"]["packets"], later["queue"]["packets"]),
        (whole["flows"][0]["packets"], later["flows"][0]["packets"]),
        (whole["flows"][0]["delivered_bytes"], later["flows"][0]["delivered_bytes"]),
    ):
        assert 0.55 * before < after < 0.72 * before
    assert later["queue"]["utilisation"] == pytest.approx(1.0, abs=0.01)


def test_every_flow_has_its_own_rtt(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "cubic"\n[[flows]]\ncc = "cubic"\nrtt = "80ms"\n'
    kernel, _ = one(tmp_path, text, bottleneck__queue={"aqm": "fifo", "limit": "5p"})
    near, far = kernel["flows"]
    # A packet waits for at most five queued packets. The transmission of each packet lasts 1.2 ms.
    for flow, rtt in ((near, 20), (far, 80)):
        assert rtt <= flow["rtt_ms"]["p50"] <= rtt + 8


TWO_LINKS = """\
title = "two links"
duration = "4s"
warmup = "1s"
start_jitter = "0s"
[links.a]
rate = "10Mbit"
queue = { aqm = "codel" }
[links.b]
rate = "5Mbit"
delay = "5ms"
both_directions = true
queue = { aqm = "fifo", limit = "50p" }
[path]
rtt = "20ms"
[[flows]]
name = "long"
cc = "cubic"
route = ["a", "b"]
[[flows]]
name = "across"
cc = "cubic"
route = ["a"]
[[flows]]
name = "back"
cc = "cubic"
route = ["b"]
reverse = true
"""


def test_links_in_a_row_and_both_directions(tmp_path: Path) -> None:
    kernel, sim = both(tmp_path, TWO_LINKS)
    assert columns(kernel) == columns(sim)
    assert list(kernel["queues"]) == ["a", "b", "b.back"]
    long, across, back = kernel["flows"]
    # Data passes every link of a flow's route, so link `a` carries the data of two flows.
    sent = long["packets"] + across["packets"]
    assert abs(kernel["queues"]["a"]["packets"] + kernel["queues"]["a"]["drops"] - sent) < 100
    assert kernel["queues"]["b.back"]["packets"] >= back["packets"] - back["drops"] - 60
    for name in ("a", "b.back"):
        assert kernel["queues"][name]["utilisation"] > 0.9
    assert long["rtt_ms"]["p50"] > 25, "the delay of b comes on top"


NARROW_WAY_BACK = """\
title = "ACKs queue on the way back"
duration = "10s"
warmup = "2s"
start_jitter = "0s"
[links.down]
rate = "40Mbit"
queue = { aqm = "fifo", limit = "200p" }
[links.up]
rate = "400kbit"
queue = { aqm = "cake", ack_filter = "off" }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
route = ["down"]
back = ["up"]
"""


@pytest.mark.parametrize("chosen", ["on", "aggressive"])
def test_cake_filters_as_many_acks_as_in_the_simulator(tmp_path: Path, chosen: str) -> None:
    kernel, sim = both(tmp_path, NARROW_WAY_BACK, links__up__queue__ack_filter=chosen)
    mine, theirs = kernel["queues"]["up"], sim["queues"]["up"]
    # The filter drops more than half of the ACKs. The remaining ACKs fill the link of 400 kbit/s.
    assert mine["drops"] > mine["packets"] > 0.99 * 8 * 400e3 / 8 / 66
    # The engines count packets in flight at the edges of the measured time differently. The counts
    # differ by at most the number of ACKs for all segments on the path and in the queue. An ACK
    # covers two segments.
    edge = (40e6 * 0.02 / 8 / 1514 + 200) / 2
    assert mine["drops"] == pytest.approx(theirs["drops"], abs=edge)
    assert mine["packets"] == pytest.approx(theirs["packets"], abs=edge)
    assert theirs["causes"] == {"ack_filter": theirs["drops"]}
    # Without `ack_filter`, the slow link that carries the ACKs limits the sender.
    assert kernel["flows"][0]["throughput_mbit"] > 38
    without, _ = one(tmp_path, NARROW_WAY_BACK)
    assert without["flows"][0]["throughput_mbit"] < 20


def test_flows_over_links_in_a_row_get_what_they_get_in_the_simulator(tmp_path: Path) -> None:
    # The results of this scenario differ widely between seeds. The long flow gets 1.6 to 3 Mbit/s
    # on either engine.
    text = TWO_LINKS.replace('start_jitter = "0s"\n', "") + "[sweep]\nseeds = 30\n"
    means = {}
    for engine in ("kernel", "sim"):
        runs = tb.run(text, engine=engine, out=tmp_path / "out", jobs=2)
        rows = [[f["throughput_mbit"] for f in run.summary["flows"]] for run in runs]
        means[engine] = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    for mine, other, tolerance in zip(
        means["kernel"], means["sim"], (0.15, 0.05, 0.01), strict=True
    ):
        assert mine == pytest.approx(other, rel=tolerance)


def test_the_rate_changes_when_it_should(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "cubic"\n'
    steps = {"steps": [["0s", "10Mbit"], ["1500ms", "2Mbit"]]}
    kernel, run = one(tmp_path, text, bottleneck__rate=steps, warmup="500ms")
    # In the measured time, the link has a rate of 10 Mbit/s for 1 s and of 2 Mbit/s for 1.5 s. Each
    # packet of 1514 bytes has 1448 bytes of payload.
    assert kernel["queue"]["utilisation"] == pytest.approx(1.0, abs=0.01)
    mean = (10 * 1 + 2 * 1.5) / 2.5 * 1448 / 1514
    assert kernel["flows"][0]["throughput_mbit"] == pytest.approx(mean, rel=0.03)
    delivered = run.series().filter(pl.col("quantity") == "delivered_bytes")
    at = dict(delivered.select("time_ns", "value").rows())
    for (begin, end), rate in (((700, 1400), 10), ((2000, 2900), 2)):
        bits = 8 * (at[end * 10**6] - at[begin * 10**6])
        assert bits / (end - begin) / 1e3 == pytest.approx(rate * 1448 / 1514, rel=0.03)


@pytest.mark.parametrize(
    ("burst", "delack", "mbit"),
    [
        ("0b", True, (1.0, 1.1)),
        ("tc", True, (6.4, 8.3)),
        ("0b", False, (8.0, 8.2)),
        ("tc", False, (8.1, 8.3)),
    ],
)
def test_a_shapers_burst_decides_as_in_the_simulator(
    tmp_path: Path, burst: str, delack: bool, mbit: tuple[float, float]
) -> None:
    # The link takes 1.2 ms to send a packet, and the step threshold is 1 ms. With the burst that tc
    # sets, pairs of packets pass unmarked. Delayed ACKs make the sender send packets in pairs. The
    # pairs differ between the engines.
    queue = {"aqm": "dualpi2", "any_ect": True}
    text = BASE + '[[flows]]\ncc = "dctcp"\necn = true\n'
    kernel, sim = both(
        tmp_path,
        text,
        duration="40s",
        warmup="10s",
        path__rtt="40ms",
        bottleneck__queue=queue,
        bottleneck__burst=burst,
        tcp__delack=delack,
    )
    got = [summary["flows"][0]["throughput_mbit"] for summary in (kernel, sim)]
    assert all(mbit[0] <= one <= mbit[1] for one in got), got
    assert got[0] == pytest.approx(got[1], rel=0.2 if delack and burst == "tc" else 0.01)


def test_a_full_link_is_full_with_offloads(tmp_path: Path) -> None:
    # The buffer holds four times the bandwidth-delay product, so the link is never idle.
    text = BASE.replace("10Mbit", "100Mbit").replace("[path]\n", "[path]\noffloads = true\n")
    text = text.replace('{ aqm = "codel", ecn = true }', '{ aqm = "fifo", limit = "1mb" }')
    text += '[[flows]]\ncc = "cubic"\n'
    kernel, sim = both(tmp_path, text)
    mine, other = kernel["queue"], sim["queue"]
    assert mine["bytes"] > 5 * 1514 * mine["packets"], "packets consist of several segments"
    # The link sends each segment as a frame with its own headers.
    assert mine["utilisation"] > 0.99
    assert mine["utilisation"] == pytest.approx(other["utilisation"], abs=0.005)
    # Without captures, the results come from the counters of the qdisc. They count the same bytes,
    # but segments instead of packets.
    blind, _ = one(tmp_path / "blind", text, record__captures=False)
    counted = blind["queue"]
    assert counted["bytes"] == pytest.approx(mine["bytes"], rel=1e-3)
    assert counted["packets"] == pytest.approx(counted["bytes"] / 1514, rel=0.01)


@pytest.mark.parametrize("aqm", ["cake", "dualpi2"])
def test_a_queue_that_splits_packets_passes_segments(tmp_path: Path, aqm: str) -> None:
    text = BASE.replace("10Mbit", "50Mbit").replace("[path]\n", "[path]\noffloads = true\n")
    text = text.replace('{ aqm = "codel", ecn = true }', f'"{aqm}"')
    text = text.replace('"3s"', '"8s"') + '[[flows]]\ncc = "cubic"\ncount = 2\n'
    summary, run = one(tmp_path, text)
    mine, other = summary["queue"], one(tmp_path, text, "sim")[0]["queue"]
    # The only warning is about offloads. There is no warning about drops, because the captures and
    # the queue's counter show the same number.
    [warning] = run.manifest["environment"]["guest"]["warnings"]
    assert warning.startswith("offloads are on")
    for queue in (mine, other):
        assert queue["bytes"] == pytest.approx(1514 * queue["packets"], rel=0.001)
        assert queue["utilisation"] > 0.97
    assert mine["packets"] == pytest.approx(other["packets"], rel=0.01)
    assert mine["delay_ms"]["mean"] == pytest.approx(other["delay_ms"]["mean"], rel=0.15)
    assert mine["drops"] == pytest.approx(other["drops"], rel=0.5)


def test_packets_of_a_bulk_transfer_are_full_with_offloads(tmp_path: Path) -> None:
    text = BASE.replace("10Mbit", "1Gbit").replace("[path]\n", "[path]\noffloads = true\n")
    text = text.replace('{ aqm = "codel", ecn = true }', '{ aqm = "fifo", limit = "100kb" }')
    text = text.replace('"20ms"', '"10ms"') + '[[flows]]\ncc = "cubic"\n'
    kernel, sim = both(tmp_path, text, duration="20s", warmup="10s", host_jitter="10us")
    # If a send buffer has too little data for a full packet, TCP adds data from the next send
    # buffer.
    segments = [run["queue"]["bytes"] / run["queue"]["packets"] / 1514 for run in (kernel, sim)]
    assert segments == pytest.approx([42, 42], abs=3)


@pytest.mark.parametrize(("count", "probability"), [(4, (0.009, 0.01)), (40, (0.03, 0.2))])
def test_adaptive_red_adapts_as_in_the_simulator(
    tmp_path: Path, count: int, probability: tuple[float, float]
) -> None:
    # tc computes min, max and the weight. RED has changed the probability from its initial value of
    # 0.02, so the adaptive mode works.
    queue = {
        "aqm": "red",
        "limit": "150000b",
        "avpkt": "1000b",
        "burst": "tc",
        "adaptive": True,
        "ecn": True,
    }
    text = BASE + f'[[flows]]\ncc = "cubic"\necn = true\ncount = {count}\n'
    chosen = {"duration": "30s", "warmup": "10s", "bottleneck__rate": "50Mbit"}
    kernel, run = one(tmp_path, text, "kernel", bottleneck__queue=queue, **chosen)
    sim, simulated = one(tmp_path, text, "sim", bottleneck__queue=queue, **chosen)
    shown = re.search(
        r"qdisc red .* limit 150000b min 12500b max 37500b ecn adaptive ewma 4 probability (\S+)",
        json.dumps(run.manifest),
    )
    assert shown is not None
    assert probability[0] <= float(shown[1]) <= probability[1]
    # The probability varies, so its last value is only a sample.
    series = simulated.series().filter(pl.col("quantity") == "red_max_p")
    assert probability[0] <= series["value"][-1] <= probability[1]
    for key, tolerance in (("occupancy_bytes_mean", 0.05), ("marks", 0.1)):
        assert kernel["queue"][key] == pytest.approx(sim["queue"][key], rel=tolerance)


@pytest.mark.parametrize("packets", [2, 16])
def test_slots_let_as_much_pass_as_in_the_simulator(tmp_path: Path, packets: int) -> None:
    # Slots come every 2.9 ms on average, uniformly between 0.8 and 5 ms. The stream sends at 30
    # Mbit/s.
    slots = {"min": "800us", "max": "5ms", "packets": packets, "delay": "200us"}
    text = BASE + '[[traffic]]\nkind = "cbr"\nrate = "30Mbit"\n'
    chosen = {"duration": "20s", "bottleneck__rate": "10Gbit", "bottleneck__slots": slots}
    received = [
        summary["traffic"][0]["throughput_mbit"] for summary in both(tmp_path, text, **chosen)
    ]
    if packets == 2:
        # The run contains 6,900 gaps between slots. The gaps have a mean of 2.9 ms and a standard
        # deviation of 1.2 ms. The standard error of the mean is therefore 0.5 %.
        expected = packets * 1514 * 8 / 2.9e-3 / 1e6
        assert received == [pytest.approx(expected, rel=0.02)] * 2
    else:
        assert received == [pytest.approx(30, rel=0.01)] * 2


@pytest.mark.parametrize("ecn", ["not-ect", "ect0", "ect1"])
def test_every_datagram_is_accounted_for(tmp_path: Path, ecn: str) -> None:
    text = BASE + f'[[traffic]]\nkind = "cbr"\nrate = "15Mbit"\necn = "{ecn}"\nstop = "2s"\n'
    text += '[[flows]]\ncc = "reno"\nbytes = "20kb"\n'
    queue = {"aqm": "codel", "ecn": True, "limit": "100p"}
    kernel, sim = both(tmp_path, text, warmup="0s", bottleneck__queue=queue)
    [mine], [other] = kernel["traffic"], sim["traffic"]
    assert mine["sent_packets"] == other["sent_packets"]
    assert mine["received_packets"] + mine["drops"] == mine["sent_packets"]
    assert mine["drops"] > 500
    assert mine["drops"] == pytest.approx(other["drops"], rel=0.05)
    assert (mine["marks"] > 0) == (ecn != "not-ect") == (other["marks"] > 0)
    # The queue's drops are the sum of the drops of the source and of the flow.
    assert kernel["queue"]["drops"] == mine["drops"] + kernel["flows"][0]["drops"]


LOGNORMAL = 'sizes = { lognormal = { p5 = "1kb", p95 = "64kb" } }\n'


@pytest.mark.parametrize(
    ("cc", "queue", "ecn", "beside", "sizes"),
    [
        ("cubic", {"aqm": "fifo"}, False, 0, ""),
        ("cubic", {"aqm": "fifo"}, False, 0, LOGNORMAL),
        ("reno", {"aqm": "codel", "ecn": True}, True, 1, ""),
        ("dctcp", {"aqm": "fq_codel"}, True, 1, ""),
    ],
)
def test_requests_are_the_same_and_take_as_long(
    tmp_path: Path, cc: str, queue: dict[str, object], ecn: bool, beside: int, sizes: str
) -> None:
    stack = f'cc = "{cc}"\necn = {str(ecn).lower()}\n'
    text = BASE + f'[[traffic]]\nkind = "web"\narrival = "10ms"\nstop = "18s"\n{sizes}{stack}'
    text += f'[[flows]]\nname = "long"\n{stack}' * beside
    kernel, sim = both(
        tmp_path,
        text,
        duration="20s",
        warmup="0s",
        bottleneck__queue=queue,
        bottleneck__rate="40Mbit",
        path__rtt="10ms",
    )
    [mine], [theirs] = kernel["traffic"], sim["traffic"]
    requests, expected = mine["completions"], theirs["completions"]
    assert requests["started"] == expected["started"] > 1500
    assert requests["completed"] == expected["completed"] == expected["started"]
    assert requests["refused"] == 0
    # Both engines draw the same sizes, so without retransmissions they send the same number of
    # packets.
    counts = [bin_["n"] for bin_ in requests["bins"]]
    assert counts == [bin_["n"] for bin_ in expected["bins"]]
    again = max(mine["drops"], theirs["drops"]) + 0.01 * theirs["sent_packets"]
    assert mine["sent_packets"] == pytest.approx(theirs["sent_packets"], abs=again)
    assert mine["throughput_mbit"] == pytest.approx(theirs["throughput_mbit"], rel=0.02)
    assert (mine["marks"] > 0) == (theirs["marks"] > 0) == ecn
    for ours, other in zip(requests["bins"], expected["bins"], strict=True):
        # With 50 completions or more, the median does not change much with a single request.
        if other["n"] >= 50:
            median = other["completion_s"]["p50"]
            assert ours["completion_s"]["p50"] == pytest.approx(median, rel=0.1)


def completions(run: tb.Run) -> list[float]:
    """Return the completion times of a run's requests, in the order of the requests, in ms."""
    frame = run.series().filter(pl.col("quantity") == "completion_ns")
    begun = frame["time_ns"] - frame["value"]
    return [value / 1e6 for value in frame["value"].gather(begun.arg_sort())]


@pytest.mark.parametrize("idle", ["0s", "90s"])
def test_requests_share_connections_as_in_the_simulator(tmp_path: Path, idle: str) -> None:
    """Compare 100 requests whose responses fit into the initial window.

    In the simulator, the last packet of a handshake carries the request. On Linux, the request is a
    separate packet."""
    text = BASE + (
        '[[traffic]]\nkind = "web"\ncc = "cubic"\necn = false\narrival = "200ms"\nstop = "20s"\n'
        'sizes = { lognormal = { p5 = "1kb", p95 = "4kb" } }\n'
        f'reuse = true\nidle = "{idle}"\nlimit = 40\n'
    )
    values = {
        "duration": "22s",
        "warmup": "0s",
        "bottleneck__rate": "50Mbit",
        "bottleneck__queue": {"aqm": "fifo"},
        "path__rtt": "100ms",
    }
    runs = {engine: one(tmp_path, text, engine, **values) for engine in ("kernel", "sim")}
    (mine, kernel), (theirs, sim) = runs["kernel"], runs["sim"]
    for field in ("started", "completed", "refused"):
        ours, expected = (of["traffic"][0]["completions"][field] for of in (mine, theirs))
        assert ours == expected
    assert mine["traffic"][0]["sent_packets"] == theirs["traffic"][0]["sent_packets"]
    times, expected_times = completions(kernel), completions(sim)
    assert len(times) == len(expected_times) > 80
    # A request on a ready connection takes less than the two round trips that a new connection
    # needs.
    assert sum(time < 199 for time in times) == sum(time < 199 for time in expected_times) > 0
    assert times == pytest.approx(expected_times, rel=0.02)


def test_linux_remembers_a_destination_when_the_server_closes(tmp_path: Path) -> None:
    """A connection that gets ssthresh from an earlier connection leaves slow start without losses.
    If the server closes the first connection late, its window has shrunk below ssthresh. Linux then
    stores no ssthresh. The simulator does not store it in this case, either."""

    def drops(engine: str, collect: list[str] | None) -> int:
        text = BASE + (
            '[[traffic]]\nkind = "web"\ncc = "reno"\necn = false\nreuse = true\nidle = "0s"\n'
            'gaps = ["0s", "20s"]\nlengths = ["4mb", "4mb"]\n'
            "tcp = { metrics_save = true, ssthresh_metrics_save = true }\n"
        )
        text += f"collect = {collect}\n" if collect else ""
        queue = {"aqm": "fifo", "limit": "40p"}
        values = {"duration": "30s", "warmup": "0s", "bottleneck__queue": queue}
        summary, _ = one(tmp_path, text, engine, path__rtt="40ms", **values)
        assert summary["traffic"][0]["completions"]["completed"] == 2
        return int(summary["queue"]["drops"])

    for engine in ("kernel", "sim"):
        at_once, late = drops(engine, None), drops(engine, ["10s"])
        assert at_once < 0.6 * late
        assert drops(engine, [f"{tenths}00ms" for tenths in range(1, 100)]) == at_once


def test_periods_of_sending_are_the_same(tmp_path: Path) -> None:
    text = BASE + '[[traffic]]\nkind = "on-off"\nrate = "5Mbit"\non = "100ms"\noff = "50ms"\n'
    kernel, sim = both(tmp_path, text, warmup="0s")
    [mine], [theirs] = kernel["traffic"], sim["traffic"]
    assert mine["sent_packets"] == theirs["sent_packets"] > 500
    assert mine["received_packets"] == pytest.approx(theirs["received_packets"], abs=2)


def test_what_is_stopped_sends_no_more(tmp_path: Path) -> None:
    text = (
        BASE + '[[flows]]\ncc = "cubic"\nstop = "1500ms"\n[[flows]]\ncc = "cubic"\nstart = "2s"\n'
    )
    kernel, run = one(tmp_path, text, warmup="0s")
    first, second = kernel["flows"]
    assert (first["from_s"], first["to_s"]) == (0.0, 1.5)
    assert (second["from_s"], second["to_s"]) == (2.0, 3.0)
    assert first["throughput_mbit"] == pytest.approx(10 * 1448 / 1514, rel=0.1)
    backlog = run.series().filter(
        pl.col("quantity") == "backlog_packets", pl.col("time_ns").is_between(17 * 10**8, 2 * 10**9)
    )
    assert backlog["value"].to_list() == [0, 0, 0, 0]


def test_many_flows_are_served_as_few_are(tmp_path: Path) -> None:
    """In the guest, a separate thread reads each endless flow. With sixteen or more flows, the
    guest's agent reads all flows in one thread."""
    text = BASE + (
        '[[flows]]\nname = "long"\ncc = "cubic"\ncount = 14\n'
        '[[flows]]\nname = "stopped"\ncc = "cubic"\nstop = "2s"\n'
        '[[flows]]\nname = "sized"\ncc = "cubic"\nbytes = "100kb"\n'
    )
    chosen = {"bottleneck__rate": "50Mbit", "warmup": "0s"}
    kernel, run = one(tmp_path, text, "kernel", **chosen)
    sim, simulated = one(tmp_path, text, "sim", **chosen)
    for summary in (kernel, sim):
        each = [flow["throughput_mbit"] for flow in summary["flows"][:14]]
        assert min(each) > 1
        assert sum(each) == pytest.approx(46, rel=0.06)
    stopped, sized = kernel["flows"][14:]
    assert stopped["to_s"] == 2.0
    assert sized["completion_s"] == pytest.approx(sim["flows"][15]["completion_s"], rel=0.5)
    assert run.manifest["environment"]["guest"]["warnings"] == []
    for quantity in ("cwnd", "delivered_bytes"):
        of = pl.col("quantity") == quantity
        known, expected = (one.series().filter(of) for one in (run, simulated))
        counts = known.filter(flow="long/1").height, expected.filter(flow="long/1").height
        assert known["flow"].n_unique() == 16
        assert abs(counts[0] - counts[1]) <= 1
    delivered = run.series().filter(quantity="delivered_bytes", flow="long/1")["value"].to_list()
    assert delivered == sorted(delivered)
    again, _ = one(tmp_path / "again", text, "kernel", **chosen)
    assert again == kernel


def test_more_flows_than_a_process_may_usually_open_files(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "cubic"\ncount = 1100\n'
    summary, _ = one(
        tmp_path, text, "kernel", bottleneck__rate="500Mbit", duration="2s", warmup="1s"
    )
    each = [flow["throughput_mbit"] for flow in summary["flows"]]
    assert len(each) == 1100
    # The slow starts of 1100 flows lose many packets.
    assert 250 < sum(each) < 485


@pytest.mark.parametrize("link", ["shaper", "wire"])
def test_a_queue_without_waiting_is_as_in_the_simulator(tmp_path: Path, link: str) -> None:
    text = BASE + '[[traffic]]\nkind = "cbr"\nrate = "9Mbit"\n'
    kernel, sim = both(tmp_path, text, bottleneck__link=link, warmup="500ms")
    assert kernel["queue"]["packets"] == pytest.approx(sim["queue"]["packets"], abs=2)
    assert kernel["queue"]["delay_ms"]["max"] == pytest.approx(
        sim["queue"]["delay_ms"]["max"], abs=0.05
    )
    assert kernel["queue"]["utilisation"] == pytest.approx(0.9, abs=0.005)


def test_delay_jitter_and_loss_of_a_link(tmp_path: Path) -> None:
    text = BASE + '[[flows]]\ncc = "reno"\nbytes = "20kb"\n'
    text += '[[traffic]]\nkind = "cbr"\nrate = "8Mbit"\n'
    values: dict[str, object] = {"bottleneck__delay": "30ms", "warmup": "0s"}
    kernel, sim = both(tmp_path, text, **values)
    assert kernel["flows"][0]["completion_s"] == pytest.approx(
        sim["flows"][0]["completion_s"], rel=0.03
    )
    assert 50 <= kernel["flows"][0]["rtt_ms"]["p50"] < 56
    jitter, _ = one(tmp_path, text, "kernel", bottleneck__jitter="10ms", **values)
    assert 52 <= jitter["flows"][0]["rtt_ms"]["p50"] < 66
    lossy, other = both(tmp_path, text, bottleneck__loss=0.1, **values)
    [mine], [theirs] = lossy["traffic"], other["traffic"]
    # The number of lost packets is binomial. The mean number of lost packets is 10 % of 2000, which
    # is 200. The standard deviation is 13. Some packets are in flight at the end.
    lost = mine["sent_packets"] - mine["received_packets"]
    assert 140 < lost < 300
    assert mine["sent_packets"] == theirs["sent_packets"]
    # The field `drops` counts lost packets in the same way on both engines.
    assert abs(lost - theirs["drops"]) < 80
    assert lost - 60 < mine["drops"] <= lost
    parts = [*lossy["flows"], *lossy["traffic"]]
    assert sum(part["drops"] for part in parts) == lossy["queue"]["drops"]
    assert set(lossy["queue"]["causes"]) == {"loss"} == set(other["queue"]["causes"])


LOSSY = BASE.replace('queue = { aqm = "codel", ecn = true }', 'queue = "fifo"\nloss  = 0.02')


@pytest.mark.parametrize("link", [{}, {"link": "wire"}, {"jitter": "3ms", "delay": "4ms"}])
def test_what_a_link_loses_is_what_is_sent_again(tmp_path: Path, link: dict[str, str]) -> None:
    text = LOSSY + '[[flows]]\ncc = "reno"\n[[flows]]\ncc = "cubic"\n'
    values: dict[str, object] = {f"bottleneck__{key}": value for key, value in link.items()}
    values |= {"duration": "8s", "warmup": "0s"}
    values |= {"record__events": True, "record__packets": True}
    summary, run = one(tmp_path, text, "kernel", **values)
    for flow in summary["flows"]:
        assert flow["drops"] > 10
        # A retransmission may be lost again, and some lost packets are not yet retransmitted at the
        # end of the run.
        assert abs(flow["retransmits"] - flow["drops"]) <= 3
    rows = run.series().filter(pl.col("quantity") == "drop.loss")
    assert len(rows) == summary["queue"]["causes"]["loss"] == summary["queue"]["drops"]
    assert run.manifest["environment"]["guest"]["warnings"] == []


def test_losses_without_captures_are_those_that_netem_counts(tmp_path: Path) -> None:
    text = LOSSY + '[[flows]]\ncc = "reno"\n'
    seen, _ = one(tmp_path, text)
    counted, _ = one(tmp_path, text, record__captures=False)
    assert counted["queue"]["drops"] == seen["queue"]["drops"] > 5
    assert counted["flows"][0]["drops"] is None


@pytest.mark.parametrize("rwnd", ["3kb", "20kb", "64kb", "100kb", "400kb"])
def test_the_receive_window_is_the_largest_that_is_offered(tmp_path: Path, rwnd: str) -> None:
    values: dict[str, object] = {"bottleneck__rate": "200Mbit", "tcp__rwnd": rwnd}
    # The guest reads an endless flow in a thread, and a flow with a size in its main loop.
    for size in ("", 'bytes = "1gb"\n'):
        kernel, sim = both(tmp_path, BASE + '[[flows]]\ncc = "reno"\n' + size, **values)
        [mine], [other] = kernel["flows"], sim["flows"]
        assert mine["throughput_mbit"] == pytest.approx(other["throughput_mbit"], rel=0.005)
        assert other["throughput_mbit"] < 180


REORDERED = 'queue = { aqm = "netem", kernel = true, args = "delay 10ms reorder 25% 50%" }'


def test_what_is_overtaken_where_packets_change_their_order_was_not_dropped(
    tmp_path: Path,
) -> None:
    text = BASE.replace('queue = { aqm = "codel", ecn = true }', REORDERED)
    text += '[[flows]]\ncc = "cubic"\n'
    summary, run = one(tmp_path, text, record__events=True)
    assert summary["queue"]["packets"] > 1000
    assert summary["queue"]["drops"] == summary["flows"][0]["drops"] == 0
    assert run.manifest["environment"]["guest"]["warnings"] == []
    # The drops of a queue that only the kernel provides are also counted. Here this queue is netem.
    lossy, run = one(tmp_path, text.replace("50%", "50% loss 1%"), warmup="0s")
    [flow] = lossy["flows"]
    assert flow["drops"] > 10
    shown = dict(run.manifest["environment"]["guest"]["statistics"])["bottleneck"]
    netem = shown.partition("qdisc netem")[2]
    dropped = re.search(r"dropped (\d+),", netem)
    assert dropped is not None
    assert int(dropped[1]) == lossy["queue"]["drops"] == flow["drops"]


def test_dctcp_without_ecn_negotiates_none_and_is_reno(tmp_path: Path) -> None:
    text = BASE.replace('{ aqm = "codel", ecn = true }', '{ aqm = "fifo", limit = "1bdp" }')
    flows = {
        cc: one(tmp_path, text + f'[[flows]]\ncc = "{cc}"\necn = false\n')[0]["flows"][0]
        for cc in ("dctcp", "reno")
    }
    same = ("throughput_mbit", "retransmits", "drops", "rtt_ms")
    assert [flows["dctcp"][key] for key in same] == [flows["reno"][key] for key in same]
    # If a flow does not use ECN, a queue drops its packets instead of marking them.
    marking = BASE + '[[flows]]\ncc = "dctcp"\necn = false\n'
    kernel, sim = both(tmp_path, marking)
    assert kernel["queue"]["marks"] == sim["queue"]["marks"] == 0
    assert kernel["queue"]["drops"] > 0


# Without timeouts and reordering, senders retransmit exactly the dropped packets.
@pytest.mark.parametrize(
    ("cc", "rate", "limit", "rtt", "seconds"),
    [
        ("reno", "10Mbit", "10p", "20ms", 6),
        ("cubic", "100Mbit", "30p", "10ms", 4),
        ("bbr", "250Mbit", "30p", "5ms", 3),
        ("bbr", "1Gbit", "1bdp", "5ms", 2),
        ("cubic", "1Gbit", "10p", "5ms", 2),
        ("cubic", "10Gbit", "0.1bdp", "4ms", 1),
        ("bbr", "10Gbit", "0.1bdp", "4ms", 1),
    ],
)
def test_what_is_sent_again_is_what_was_dropped(
    tmp_path: Path, cc: str, rate: str, limit: str, rtt: str, seconds: int
) -> None:
    text = BASE.replace('{ aqm = "codel", ecn = true }', f'{{ aqm = "fifo", limit = "{limit}" }}')
    text += f'[record]\nseries = "off"\n[[flows]]\ncc = "{cc}"\ncount = 2\n'
    values: dict[str, object] = {"bottleneck__rate": rate, "path__rtt": rtt, "warmup": "0s"}
    values["duration"] = f"{seconds}s"
    summary, run = one(tmp_path, text, "kernel", **values)
    assert run.manifest["environment"]["guest"]["warnings"] == []
    for flow in summary["flows"]:
        if flow["timeouts"]:
            continue
        # Some lost packets are not yet retransmitted at the end of the run, and a tail loss probe
        # may be spurious.
        assert abs(flow["drops"] - flow["retransmits"]) <= 0.02 * flow["drops"] + 20
    assert sum(flow["drops"] for flow in summary["flows"]) > 20
    assert not all(flow["timeouts"] for flow in summary["flows"])


# --- captures ----------------------------------------------------------------------------


@pytest.mark.parametrize("aqm", ["codel", "pie", "red", "fifo"])
def test_without_captures_what_is_not_known_is_null(tmp_path: Path, aqm: str) -> None:
    text = SCENARIO + '[[traffic]]\nkind = "cbr"\nrate = "4Mbit"\n'
    queue: dict[str, object] = {"aqm": aqm} if aqm == "fifo" else {"aqm": aqm, "ecn": True}
    if aqm in ("fifo", "red"):
        # RED's buffer must not fill. Captures cannot show that a packet was first marked and then
        # dropped.
        queue["limit"] = "40p" if aqm == "fifo" else "400kb"
    watched, _ = one(tmp_path, text, bottleneck__queue=queue)
    blind, _ = one(tmp_path, text, bottleneck__queue=queue, record__captures=False)
    assert columns(blind) >= {p for p in columns(watched) if not p.endswith(".causes")}
    assert watched["queue"]["drops"] + watched["queue"]["marks"] > 0
    counted = ("packets", "bytes", "drops", "marks", "utilisation")
    assert None not in [blind["queue"][name] for name in counted]
    # Captures do not change the run. Their counts agree with the queue's counters.
    for name in counted:
        assert blind["queue"][name] == watched["queue"][name], name
    for mine, other in zip(blind["flows"], watched["flows"], strict=True):
        for name in ("throughput_mbit", "srtt_ms_mean", "packets", "retransmits"):
            assert mine[name] == other[name], name
    for name in ("sce_marks", "causes", "occupancy_bytes_mean", "occupancy_bytes_max"):
        assert blind["queue"][name] is None, name
    assert set(blind["queue"]["delay_ms"].values()) == {None}
    for part in (*blind["flows"], *blind["traffic"]):
        for name in ("drops", "marks", "sce_marks", "causes"):
            assert part[name] is None, name
    assert set(blind["flows"][0]["rtt_ms"].values()) == {None}
    assert blind["traffic"][0]["received_packets"] > 0


def test_what_comes_from_captures_is_refused_without(tailback: Tailback, scenario: Path) -> None:
    keys = {"events": "true", "packets": "true", "series": "changes", "statistics": "1s"}
    for key, value in keys.items():
        done = tailback(
            *("run", scenario, "--engine", "kernel", "--set", "record.captures=false"),
            *("--set", f"record.{key}={value}"),
        )
        assert done.returncode == 2
        assert f"record.{key}" in done.stderr
        assert "captures = true" in done.stderr


def test_a_table_shows_a_dash_for_what_is_not_known(tailback: Tailback, scenario: Path) -> None:
    done = tailback("run", scenario, "--engine", "kernel", "--set", "record.captures=false")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["sweep", "next:"]
    [row] = [line for line in done.stdout.splitlines() if line.startswith("cubic")]
    assert row.split()[3] == "–"


def test_every_drop_and_mark_is_an_event(tmp_path: Path) -> None:
    summary, run = one(tmp_path, SCENARIO, record__events=True)
    # Events cover the whole run, but counts cover only the time after the warm-up.
    kinds = run.series().filter(pl.col("time_ns") >= 500_000_000)["quantity"]
    for kind, count in (("drop", "drops"), ("mark", "marks")):
        rows = kinds.str.starts_with(f"{kind}.").sum()
        assert rows == summary["queue"][count] == sum(f[count] for f in summary["flows"])
        assert rows > 0


# --- classes ----------------------------------------------------------------------------

CLASSES = (
    # All hosts of a guest have their timer ticks at the same times. The simulator's hosts therefore
    # get equal phases.
    'timer_phase = "0s"\n'
    + BASE
    + """
[record]
statistics = "500ms"
[[flows]]
name  = "L"
cc    = "dctcp"
class = "L"
count = 2
[[flows]]
name  = "C"
cc    = "cubic"
class = "C"
[[traffic]]
kind  = "cbr"
rate  = "1Mbit"
class = "U"
"""
)


def test_classes_are_counted_alike(tmp_path: Path) -> None:
    found = {}
    for engine in ("kernel", "sim"):
        summary, run = one(tmp_path, CLASSES, engine)
        queue, classes = summary["queue"], summary["classes"]
        assert [c["name"] for c in classes] == ["L", "C", "U"]
        for total in ("packets", "bytes", "drops", "marks"):
            assert sum(c[total] for c in classes) == queue[total] > 0, (engine, total)
        delay = sum(c["packets"] * c["delay_ms"]["mean"] for c in classes) / queue["packets"]
        assert delay == pytest.approx(queue["delay_ms"]["mean"], rel=1e-12)
        # The four intervals cover all of the measured time, so the samples contain every byte.
        used = [c["samples"]["utilisation"]["mean"] for c in classes]
        assert sum(used) == pytest.approx(queue["utilisation"], rel=1e-12)
        rate = classes[0]["samples"]["rate_mbit"]
        assert rate["n"] == 8
        assert rate["mean"] * 2 * 2 == pytest.approx(classes[0]["bytes"] * 8 / 1e6, rel=1e-12)
        histogram = run.histogram("delay_ns.L")
        assert histogram["count"].sum() == classes[0]["packets"]
        found[engine] = (summary, run.series(), used)
    (kernel, series, used), (sim, others, same) = found["kernel"], found["sim"]
    assert columns(kernel) == columns(sim)
    keys = ["flow", "link", "quantity"]
    assert set(series.select(keys).unique().rows()) == set(others.select(keys).unique().rows())
    # The source of traffic sends at the same times on both engines, and together the flows fill the
    # link.
    assert used[2] == pytest.approx(same[2], rel=0.02)
    assert sum(used) == pytest.approx(sum(same), rel=0.01)


# --- the command ----------------------------------------------------------------------------


def test_show_prints_what_the_guest_is_told(tailback: Tailback, scenario: Path) -> None:
    done = tailback("kernel", "show", scenario)
    assert (done.returncode, done.stderr) == (0, "")
    assert "insmod /modules/sch_codel.ko" in done.stdout
    assert "codel limit 1000 target 5000us interval 100000us ecn" in done.stdout
    assert re.search(r"^cubic: cubic from s0 .* starts at ", done.stdout, re.MULTILINE)
    other = tailback("kernel", "show", scenario, "--set", "bottleneck.queue=pie")
    assert "tc qdisc add dev out parent 1:1 handle 10: pie" in other.stdout
    wrong = tailback("kernel", "show", scenario, "--set", "bottleneck.rate=fast")
    assert wrong.returncode == 2


def test_lists_say_which_engine_has_what(tailback: Tailback) -> None:
    rows = {}
    for kind in ("aqm", "cc", "traffic"):
        for line in tailback("list", kind).stdout.splitlines():
            name, engines = re.split(r"  +", line)[:2]
            rows[kind, name] = engines
    assert rows["aqm", "codel"] == rows["cc", "dctcp"] == rows["traffic", "cbr"] == "sim, kernel"
    assert rows["aqm", "fifo"] == "sim, kernel (pfifo)"
    assert rows["aqm", "wred"] == "sim, kernel"
    assert rows["aqm", "pi2"] == rows["aqm", "step"] == "sim, kernel"
    assert rows["cc", "reno-sce"] == "sim"
    assert rows["aqm", "sfq"] == rows["cc", "vegas"] == "kernel"
