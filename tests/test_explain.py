"""Tests explanations of runs. Each scenario has one known cause, which the explanation must
name."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stored_programs
import tailback as package
from conftest import Tailback
from tailback import _native
from tailback.base.numbers import grouped
from tailback.errors import DamagedResults, InputError, ScenarioWarning
from tailback.explain import between, explain, programs, words
from tailback.explain.account import read
from tailback.report.model import Facts, ReportFigure, Table
from tailback.report.sweep import traces
from tailback.store import changes
from tailback.store.run_folder import StoredRun

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
    return package.run(scenario, out=results, progress=False)[0].stored


def found(results: Path, **keys: Any) -> Found:
    return explain(run(results, **keys)).to_dict()


def said(part: Found) -> str:
    return " ".join(part["sentences"])


FIFO = {"aqm": "fifo", "limit": "1bdp"}
LATE = [{"cc": "cubic", "start": "9.9s"}]
"""A flow for scenarios about another source of traffic. A scenario needs a flow, so this flow
starts late and has no effect."""
WIDE = {"rate": "1Gbit", "queue": {"aqm": "fifo", "limit": "100000p"}}


def test_whose_application_has_no_more_to_send(results: Path) -> None:
    """Each request fits into the initial window. The sender therefore sends each request at once,
    and then waits for the next request.
    """
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
    """The window cannot reach the bandwidth-delay product before the end of the run."""
    got = found(results, duration="1s", path={"rtt": "100ms"}, bottleneck=WIDE)
    flow, link = got["flows"][0], got["links"][0]
    assert flow["limit"] == "cwnd"
    assert set(flow["shares"]) == {"cwnd", "handshake"}
    assert flow["seconds"]["handshake"] == pytest.approx(0.1, abs=0.001)
    assert "never reduced" in said(flow)
    assert link["standing_share"] < 0.1
    assert "neither dropped nor marked a packet" in said(link)


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
    """The first loss happens just after the window has doubled and filled the buffer."""
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


def test_how_slow_start_ended(results: Path) -> None:
    """A loss, a mark, one of HyStart's two rules, ssthresh or BBR's model ends slow start. In one
    case, slow start never ends."""

    def end(**keys: Any) -> tuple[Found, str]:
        flow = found(results, **{"duration": "3s", **keys})["flows"][0]
        start = [text for text in flow["sentences"] if text.startswith("Slow start ")]
        assert len(start) == 1
        return flow["slow_start"], start[0]

    narrow = {"rate": "50Mbit", "queue": FIFO}
    reno = [{"cc": "reno"}]
    by_loss, text = end(bottleneck=narrow, flows=reno)
    first = found(results, duration="3s", bottleneck=narrow, flows=reno)["flows"][0]
    listed = first["reductions"]["listed"][0]
    assert (by_loss["why"], by_loss["ended_s"], by_loss["cwnd"]) == (
        listed["reason"],
        listed["time_s"],
        listed["from"],
    )
    # The buffer is one bandwidth-delay product. Slow start sends more than the path and the buffer
    # can hold, so the queue drops packets.
    assert by_loss["queue_ms"] == pytest.approx(20, rel=0.2)
    (event,) = found(results, duration="3s", bottleneck=narrow, flows=reno)["links"][0]["events"]
    assert by_loss["lost"] == event["busiest_count"] > 50
    assert by_loss["settled"]
    assert f"the overshoot cost {by_loss['lost']} segments." in text

    marks = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True}}
    by_mark, text = end(bottleneck=marks, flows=[{"cc": "reno", "ecn": True}])
    assert (by_mark["why"], by_mark["lost"]) == ("ece", 0)
    assert "by CE marks (ECE). The queue had grown to " in text

    deep = {"rate": "20Mbit", "queue": {"aqm": "fifo", "limit": "10bdp"}}
    slow = {"rate": "5Mbit", "queue": {"aqm": "fifo", "limit": "10bdp"}}
    by_delay, text = end(bottleneck=slow)
    assert by_delay["why"] == "hystart_delay"
    assert 4 < by_delay["queue_ms"] < 20
    assert "the RTT of a round rose" in text
    assert "no segment had been lost" in text
    by_train, text = end(bottleneck=deep)
    assert (by_train["why"], by_train["lost"]) == ("hystart_train", 0)
    assert "the train of ACKs lasted half of the smallest RTT" in text

    far: dict[str, Any] = {"bottleneck": deep, "path": {"rtt": "60ms"}}
    by_css, text = end(**far, flows=[{"cc": {"name": "reno", "slow_start": "hystart++"}}])
    assert (by_css["why"], by_css["lost"], by_css["settled"]) == ("hystart++", 0, True)
    assert "by HyStart++: the RTT of a round rose" in text
    by_search, text = end(**far, flows=[{"cc": {"name": "cubic", "slow_start": "search"}}])
    assert (by_search["why"], by_search["lost"]) == ("search", 0)
    assert "by SEARCH: the bytes delivered were a quarter less" in text
    # The buffer overflows just after slow start ends, because of the packets already in flight.
    # `lost` counts these drops, because slow start caused them.
    short = {"rate": "50Mbit", "queue": {"aqm": "fifo", "limit": "2bdp"}}
    late, text = end(
        path={"rtt": "100ms"},
        bottleneck=short,
        flows=[{"cc": {"name": "reno", "slow_start": "search"}}],
    )
    assert late["why"] == "search"
    assert late["lost"] > 1000
    assert "and the overshoot cost 1," in text

    known, text = end(bottleneck=deep, flows=reno, tcp={"initial_ssthresh": 20})
    assert (known["why"], known["cwnd"]) == ("threshold", 20)
    assert "initial_ssthresh" in text

    model, _ = end(bottleneck=deep, flows=[{"cc": "bbr"}])
    assert model["why"] == "full_pipe"

    never, text = end(duration="1s", path={"rtt": "100ms"}, bottleneck=WIDE, flows=reno)
    assert never is None
    assert text == "Slow start did not end."


def test_a_queue_that_an_aqm_holds_is_no_standing_queue(results: Path) -> None:
    many = [{"cc": "cubic", "count": 4}]
    keys: dict[str, Any] = {"warmup": "2s", "flows": many}
    held = {"rate": "20Mbit", "queue": {"aqm": "pie", "target": "20ms"}}
    link = found(results, bottleneck=held, **keys)["links"][0]
    assert link["target_ms"] == 20
    assert link["standing_share"] > 0.5
    assert link["standing_ms"] < 20
    assert link["queue"] == "held"
    assert "the AQM holds it below its target of 20 ms." in said(link)
    assert "standing queue" not in said(link)
    # A FIFO has no target delay. The queue of a FIFO counts as a standing queue, because no AQM
    # controls it.
    fifo = found(results, bottleneck={"rate": "20Mbit", "queue": FIFO}, **keys)["links"][0]
    assert (fifo["target_ms"], fifo["queue"]) == (None, "standing")


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
    """All segments in flight and the tail loss probe are lost, so the retransmission timeout
    fires."""
    bottleneck = {**WIDE, "schedule": {"drops": [*range(200, 215)]}}
    got = found(results, duration="3s", bottleneck=bottleneck, tcp={"rwnd": "14kb"})
    flow = got["flows"][0]
    assert flow["reductions"]["by_reason"]["timeout"] >= 1
    timeout = next(r for r in flow["reductions"]["listed"] if r["reason"] == "timeout")
    assert timeout["to"] == 1
    # The probe comes after two RTTs, and the timeout at least 200 ms later.
    assert flow["seconds"]["timeout"] > 0.2
    assert "a retransmission timeout" in said(flow)


def test_a_loss_that_a_probe_repairs(results: Path) -> None:
    """The window is one segment, so a tail loss probe has to detect the loss."""
    bottleneck = {**WIDE, "schedule": {"drops": [40]}}
    got = found(results, duration="3s", bottleneck=bottleneck, tcp={"rwnd": "1500b"})
    assert got["flows"][0]["reductions"]["by_reason"] == {"probe": 1}


def test_a_reduction_that_was_spurious(results: Path) -> None:
    """The link pauses for a second, so the retransmission timeout is spurious, and TCP undoes its
    reduction."""
    steps = [["0s", "10Mbit"], ["3s", "1kbit"], ["4s", "10Mbit"]]
    bottleneck = {"rate": {"steps": steps}, "queue": {"aqm": "fifo", "limit": "1000p"}}
    got = found(results, bottleneck=bottleneck, tcp={"rwnd": "30kb"})
    reductions = got["flows"][0]["reductions"]
    assert reductions["undone"] >= 1
    undone = [one for one in reductions["listed"] if one.get("undone")]
    assert undone
    assert undone[0]["reason"] == "timeout"
    assert 3 < undone[0]["time_s"] < 4
    assert "1 undone" in said(got["flows"][0])


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
    """A source sends at twice the link's rate for a tenth of the time."""
    constant = {"on_distribution": "constant", "off_distribution": "constant"}
    on_off = {"kind": "on-off", "rate": "20Mbit", "on": "20ms", "off": "180ms", **constant}
    bottleneck = {"rate": "10Mbit", "queue": {"aqm": "fifo", "limit": "1000p"}}
    link = found(results, bottleneck=bottleneck, flows=LATE, traffic=[on_off])["links"][0]
    assert link["queue"] == "bursts"
    assert link["standing_share"] < 0.1


def test_a_rate_that_falls(results: Path) -> None:
    """The rate falls from 50 to 5 Mbit/s, and the window is too large for the new rate."""
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


PUZZLES = Path(__file__).resolve().parent.parent / "docs/how-to/explain"


def puzzle(results: Path, name: str, **sets: object) -> Found:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        made = package.run(PUZZLES / f"{name}.toml", set=sets, out=results, progress=False)
    return explain(made[0].stored).to_dict()


def test_why_prague_starves_cubic_in_one_queue(results: Path) -> None:
    """Both flows get the same number of marks. Prague reduces its window by a hundredth, and CUBIC
    reduces its window by a third."""
    pair = puzzle(results, "prague-cubic")["pairs"][0]
    assert pair["flows"] == ["prague", "cubic"]
    assert pair["throughput_ratio"] > 10
    prague, cubic = pair["answers"]
    assert prague["reason"] == cubic["reason"] == "ece"
    assert prague["mark_share"] == pytest.approx(cubic["mark_share"], rel=0.2)
    assert prague["step"] > 0.95
    assert cubic["step"] < 0.72
    assert "prague takes the capacity that cubic gives up" in said(pair)


def test_why_dctcp_gets_a_tenth_under_dualpi2(results: Path) -> None:
    """Half of DCTCP's packets are marked, because the step threshold is shorter than two packet
    times."""
    got = puzzle(results, "dctcp-dualpi2")
    dctcp = next(flow for flow in got["flows"] if flow["name"] == "dctcp")
    assert 0.8 < dctcp["throughput_mbit"] < 1.3
    assert dctcp["mark_share"] > 0.4
    (group,) = dctcp["reductions"]["groups"]
    assert group["reason"] == "ece"
    assert group["to"] <= 4
    assert got["links"][0]["events"][0]["cause"] == "step_mark"
    assert any("step_thresh = 1ms is below two packet times" in note for note in got["notes"])
    other = puzzle(results, "dctcp-dualpi2", **{"bottleneck.queue.min_qlen_step": 2})
    assert min(flow["throughput_mbit"] for flow in other["flows"]) > 3


SAME = {"flows.dctcp.cc": "cubic", "flows.dctcp.ecn": True}


@pytest.mark.parametrize("sets", [{}, SAME], ids=["beside dctcp", "beside itself"])
def test_why_cubic_takes_turns_on_a_short_path(results: Path, sets: dict[str, object]) -> None:
    """Windows have two segments, so each loss costs a timeout. During the timeout of one flow, the
    other flow uses the link."""
    got = puzzle(results, "cubic-dctcp", **sets)
    (pair,) = got["pairs"]
    assert pair["turns"]
    # During some seconds of the run, neither flow is clearly faster. The number of these seconds
    # decides which of two texts the explanation uses.
    kind = "There are two states" if pair["states"] else "They take turns"
    assert pair["lead"]["changes"] >= 10
    assert min(pair["timer_shares"]) > 0.3
    assert all(answer["to"] == 2 for answer in pair["answers"])
    assert {event["cause"] for event in got["links"][0]["events"]} == {"aqm"}
    assert kind in said(pair)


def test_two_states_are_those_between_which_there_is_little() -> None:
    flow = {
        "name": "a",
        "cc": "cubic",
        "throughput_mbit": 5.0,
        "rtt_ms": None,
        "shares": {},
        "time_s": 100.0,
        "mark_share": None,
        "drop_share": None,
        "reductions": {"groups": []},
    }
    common = {"seconds": 100, "changes": 9, "median_spell_s": 5.0}
    for shares, two in (((0.45, 0.4), True), ((0.36, 0.29), False), ((0.9, 0.1), None)):
        lead = {"shares": dict(zip("ab", shares, strict=True)), "neither": 1 - sum(shares)}
        pair = between.of(flow, {**flow, "name": "b"}, {**common, **lead})
        assert pair["turns"] is (two is not None)
        assert pair["states"] is bool(two)
        text = " ".join(between.sentences(pair))
        assert ("There are two states" in text) is bool(two)
        assert ("They take turns" in text) is (two is False)


def test_bbr_does_not_give_way_to_losses(results: Path) -> None:
    """BBR restores its window after recovery, so its losses do not count as reductions."""
    flows = [{"cc": "bbr"}, {"cc": "cubic"}, {"cc": "bbr3"}]
    bottleneck = {"rate": "20Mbit", "queue": FIFO}
    got = found(results, warmup="2s", bottleneck=bottleneck, flows=flows, path={"rtt": "40ms"})
    bbr = got["flows"][0]
    groups = [g for g in bbr["reductions"]["groups"] if g["reason"] in words.LOSSES]
    restored, followed = (sum(g[name] for g in groups) for name in ("restored", "followed"))
    assert 0.8 * followed < restored <= followed
    assert followed > 10
    assert f"in {restored} of {followed} cases" in said(bbr)
    cubic = got["flows"][1]["reductions"]["groups"][0]
    assert cubic["restored"] < cubic["followed"] / 2
    for pair in got["pairs"]:
        text = said(pair)
        assert "bbr does not yield to losses" in text
        assert "bbr answers" not in text
        assert "bbr3 answers" not in text
        assert "each time" not in text


def test_counts_say_what_time_they_are_of(results: Path) -> None:
    bottleneck = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True}}
    flows = [{"cc": "prague"}]
    got = found(results, duration="40s", warmup="5s", bottleneck=bottleneck, flows=flows)
    flow, link = got["flows"][0], got["links"][0]
    (group,) = flow["reductions"]["groups"]
    assert group["count"] > group["listed"] == 1000
    after = group["count"] - group["before_warmup"]
    assert f"{group['count']} ({after} after the warm-up) × CE marks" in said(flow)
    last = flow["reductions"]["listed"][-1]["time_s"]
    assert f"medians of the first 1000, from {group['first_s']:.3f} s up to {last:.3f} s" in said(
        flow
    )
    mark = link["events"][0]
    assert mark["count"] > mark["measured"] > 0
    assert f"{grouped(mark['measured'])} after the warm-up" in said(link)


def test_programs_are_named_and_not_explained(tmp_path: Path) -> None:
    run = stored_programs.stored(tmp_path, stored_programs.program("iperf3", 4.0))[0].stored
    got = explain(run)
    (program,) = got.to_dict()["programs"]
    assert (program["name"], program["explained"], program["held"]) == ("iperf3", False, {})
    *_, part = got.parts()
    assert part.title == "programs"
    assert part.sentences == [
        "Programs are not explained, since tailback records nothing inside them: iperf3."
    ]
    links = [{"name": "bottleneck", "shares": {"iperf3": 0.25}}]
    told = programs.sentence(programs.of(run.summary, links))
    assert told.endswith("iperf3 (25.0 % of the bytes that waited in bottleneck).")
    assert explain(run, ["cubic"]).programs == []
    with pytest.raises(InputError, match='"iperf3" is a program, and programs are not'):
        explain(run, ["iperf3"])
    assert programs.refusal("x", {"flows": [], "traffic": []}) == (
        '--flow: flow "x" does not exist: this run has no flow and no source'
    )


def test_shares_add_up_and_every_reduction_is_counted(results: Path) -> None:
    bottleneck = {"rate": "20Mbit", "queue": {"aqm": "codel", "ecn": True}}
    flows = [{"cc": "cubic"}, {"cc": "dctcp"}, {"cc": "prague"}, {"cc": "bbr3"}, {"cc": "reno"}]
    stored = run(results, warmup="1s", bottleneck=bottleneck, flows=flows)
    for flow in explain(stored).flows:
        assert sum(flow["shares"].values()) == pytest.approx(1)
        assert flow["time_s"] == pytest.approx(9)
        reductions = flow["reductions"]
        listed = reductions["listed"]
        whole = sum(reductions["by_reason"].values())
        assert len(listed) == min(whole, 1000)
        assert [one["time_s"] for one in listed] == sorted(one["time_s"] for one in listed)
        before = sum(group["before_warmup"] for group in reductions["groups"])
        if len(listed) == whole:
            assert before == sum(one["time_s"] < 1 for one in listed)
    names = {flow["name"]: flow for flow in stored.summary["flows"]}
    for flow in explain(stored).flows:
        timeouts = flow["reductions"]["by_reason"].get("timeout", 0)
        assert timeouts >= names[flow["name"]]["timeouts"]


def test_an_older_run_says_what_is_missing(results: Path, tmp_path: Path) -> None:
    stored = run(results, duration="1s", bottleneck={"rate": "10Mbit", "queue": FIFO})
    folder = tmp_path / "results/runs" / stored.path.name
    shutil.copytree(stored.path, folder)
    (folder / "account.json").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["account.json"], manifest["sha256"]
    (folder / "manifest.json").write_bytes(_native.seal(json.dumps(manifest, indent=2)))
    got = explain(StoredRun(folder))
    assert (got.flows, got.links) == ([], [])
    (note,) = got.notes
    assert "run the scenario again" in note


def test_what_is_not_an_account_is_damage(results: Path, tmp_path: Path) -> None:
    stored = run(results, duration="1s", bottleneck={"rate": "10Mbit", "queue": FIFO})
    folder = tmp_path / "results/runs" / stored.path.name

    def store(account: Mapping[str, Any]) -> StoredRun:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stored.path, folder)
        data = json.dumps(account).encode()
        (folder / "account.json").write_bytes(data)
        manifest = json.loads((folder / "manifest.json").read_text())
        mark = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["files"]["account.json"] = mark
        del manifest["sha256"]
        (folder / "manifest.json").write_bytes(_native.seal(json.dumps(manifest, indent=2)))
        return StoredRun(folder)

    whole = read(stored)
    assert whole is not None
    assert read(store(whole)) == whole
    flow = whole["flows"][0]
    short = {**flow, "reductions": {**flow["reductions"], "time_ns": [1]}}
    strange = {**flow, "limited_ns": {"gremlins": 1}}
    for wrong in ([short], [strange], [], [flow, flow]):
        with pytest.raises(DamagedResults, match=r"account\.json"):
            explain(store({**whole, "flows": wrong}))
    with pytest.raises(DamagedResults, match="format"):
        read(store({**whole, "format": 7}))
    # Values that an earlier version did not record stay unknown.
    earlier = {key: value for key, value in flow.items() if key != "slow_start"}
    (told,) = explain(store({**whole, "flows": [earlier]})).flows
    assert "slow_start" not in told
    assert not any("Slow start" in text for text in told["sentences"])


def test_the_command_prints_sentences_and_json(
    tailback: Tailback, scenario: Path, tmp_path: Path
) -> None:
    assert tailback("run", scenario, "--quiet").returncode == 0
    done = tailback("explain")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("flow cubic: ")
    assert " % used\n" in done.stdout
    assert "held back by its congestion window" in done.stdout
    printed = json.loads(tailback("explain", "--json", "--flow", "dctcp").stdout)
    assert [flow["name"] for flow in printed["flows"]] == ["dctcp"]
    assert printed["flows"][0]["reductions"]["listed"][0].keys() >= {"time_s", "from", "to"}
    both = json.loads(tailback("explain", "--json", "--flow", "dctcp", "--flow", "cubic").stdout)
    assert [flow["name"] for flow in both["flows"]] == ["cubic", "dctcp"]
    assert len(both["pairs"]) == 1
    wrong = tailback("explain", "--flow", "cubik", "--flow", "none")
    assert wrong.returncode == 2
    assert '\n  write "' in wrong.stderr
    assert 'flow "none" does not exist' in wrong.stderr
    run_id = next((tmp_path / "results/runs").glob("[!.]*")).name
    assert tailback("explain", run_id[:8]).stdout == done.stdout


def test_a_comparison_says_which_reasons_differ(tmp_path: Path) -> None:
    scenario = {
        "duration": "5s",
        "warmup": "1s",
        "bottleneck": {"rate": "20Mbit", "queue": {"aqm": "fifo", "limit": "4bdp"}},
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
    }
    variants = {"fifo": {}, "codel": {"bottleneck.queue": "codel"}, "small": {"tcp.rwnd": "20kb"}}
    made = package.compare(scenario, variants, seeds=3, out=tmp_path, progress=False)
    (at,) = made.reasons
    found = {(reason.name, reason.quantity): reason for reason in at.reasons}
    assert found["bottleneck", "standing_ms"].differ == ["codel", "small"]
    assert found["cubic", "limited.rwnd"].differ == ["small"]
    assert found["cubic", "limited.rwnd"].values["small"] > 0.9
    assert made.to_dict()["reasons"][0]["reasons"][0]["quantity"].startswith("limited")
    page = made.report(tmp_path / "page").read_text(encoding="utf-8")
    assert "Reasons that differ" in page
    # Variants that differ only in their titles have the same reasons.
    same = package.compare(
        scenario, {"one": {}, "other": {"title": "x"}}, seeds=3, out=tmp_path, progress=False
    )
    assert same.reasons == []


def test_a_report_says_why(results: Path) -> None:
    from tailback.report import sweep

    scenario = {
        "duration": "2s",
        "bottleneck": {"rate": "10Mbit", "queue": "codel"},
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
        "sweep": {"bottleneck.rate": ["10Mbit", "20Mbit"]},
    }
    report = sweep.of(package.run(scenario, out=results, progress=False))
    section = next(section for section in report.sections if section.id == "reasons")
    tables = {block.id: block for block in section.blocks if isinstance(block, Table)}
    assert [row[0] for row in tables["limits"].rows] == ["10Mbit", "20Mbit"]
    assert tables["queues"].rows[0][1] == "bottleneck"


EVENTS = """
duration = "8s"
[path]
rtt = "20ms"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "codel" }
impairments = [{ kind = "loss", probability = 0.001 }]
[record]
interval = "100ms"
[[flows]]
name = "one"
cc = "cubic"
[[flows]]
name = "two"
cc = "reno"
count = 2
[[events]]
at = "3s"
set = { "bottleneck.rate" = "8Mbit", "bottleneck.delay" = "5ms", "bottleneck.queue.target" = "9ms" }
stop = ["one", "two/2"]
[[events]]
at = "4s"
set = { "bottleneck.queue.limit" = "30p", "bottleneck.impairments[0].probability" = 0.02 }
"""


def test_changes_during_a_run_are_listed(tmp_path: Path) -> None:
    (made,) = package.run(EVENTS, out=tmp_path / "results")
    got = explain(made.stored)
    first, second = got.to_dict()["changes"]
    assert (first["at_s"], second["at_s"]) == (3, 4)
    assert first["sentence"] == (
        "At 3 s: the rate of bottleneck becomes 8 Mbit/s; the delay of bottleneck becomes 5 ms; "
        "the queue of bottleneck gets target = 9 ms; one stops; two/2 stops."
    )
    # The sentence names only what differs from the previous event.
    assert second["sentence"] == (
        "At 4 s: the queue of bottleneck gets limit = 30 packets; "
        "the impairment loss of bottleneck gets probability = 0.02."
    )
    assert got.parts()[0].title == "changes during the run"
    quiet = EVENTS.partition("[[events]]")[0]
    (made,) = package.run(quiet, out=tmp_path / "quiet")
    assert explain(made.stored).to_dict()["changes"] == []


def test_changes_of_a_plugins_queue_are_listed() -> None:
    link = {"name": "bottleneck", "queue": {"name": "mine", "options": {"depth": 3, "ecn": False}}}
    new = {"depth": 4, "ecn": False}
    events = [{"at": s * 10**9, "changes": [{"link": 0, "queue": new}]} for s in (1, 2)]
    found = changes.of({"links": [link], "flows": [], "events": events})
    assert changes.sentences(found) == [
        "At 1 s: the queue of bottleneck gets depth = 4.",
        "At 2 s: nothing changes.",
    ]


@pytest.mark.parametrize(
    ("queue", "option", "value", "told"),
    [
        ({"aqm": "dualpi2"}, "target", "9ms", "target = 9 ms"),
        ({"aqm": "dualpi2"}, "step_thresh", "2ms", "step_thresh = 2 ms"),
        ({"aqm": "step", "threshold": "3kb"}, "threshold", "6kb", "threshold = 6144 bytes"),
        ({"aqm": "wred"}, "classic.probability", 0.05, "classic.probability = 0.05"),
        ({"aqm": "fifo", "limit": "90kb"}, "limit", "60kb", "limit = 61440 bytes"),
    ],
)
def test_only_the_options_that_an_event_changes_are_named(
    queue: dict[str, str], option: str, value: object, told: str, tmp_path: Path
) -> None:
    scenario = {
        "duration": "3s",
        "bottleneck": {"rate": "10Mbit", "queue": queue},
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
        "events": [{"at": "1s", "set": {f"bottleneck.queue.{option}": value}}],
    }
    (made,) = package.run(scenario, out=tmp_path / "results")
    (found,) = explain(made.stored).to_dict()["changes"]
    assert found["sentence"] == f"At 1 s: the queue of bottleneck gets {told}."


def test_offloads_leave_out_the_shares_of_a_flow(tmp_path: Path) -> None:
    def explained(offloads: bool) -> dict[str, Any]:
        scenario = {
            "duration": "5s",
            "bottleneck": {"rate": "100Mbit", "queue": "codel"},
            "path": {"rtt": "20ms", "offloads": offloads},
            "flows": [{"cc": "cubic"}],
        }
        (made,) = package.run(scenario, out=tmp_path / str(offloads))
        return explain(made.stored).to_dict()

    plain, joined = explained(False), explained(True)
    assert plain["flows"][0]["drop_share"] > 0
    assert joined["flows"][0]["drop_share"] is None
    assert joined["flows"][0]["mark_share"] is None
    noted = [any("offloads are on" in note for note in of["notes"]) for of in (plain, joined)]
    assert noted == [False, True]


def test_a_report_draws_no_window_after_a_flow_stops(tmp_path: Path) -> None:
    (made,) = package.run(EVENTS, out=tmp_path / "results")
    drawn = traces._while_sending(made.series(), ["one", "two/1", "two/2"], made)
    ends = dict(drawn.group_by("flow").agg(pl.col("time_s").max()).iter_rows())
    assert ends["one"] == ends["two/2"] == pytest.approx(3, abs=0.1)
    assert ends["two/1"] > 7.8
    (figure,) = traces.figures([[made]], Facts(runs=1, seeds=1))
    assert isinstance(figure, ReportFigure)
    assert "At 3 s: the rate of bottleneck becomes 8 Mbit/s" in figure.caption
