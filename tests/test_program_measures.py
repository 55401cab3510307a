"""Tests results of programs in tables, metrics, frames, assertions, comparisons, plots and reports.
Also tests the numbers and logs in the files of programs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback
from stored_programs import DATE, program, seal, stored
from tailback import metrics
from tailback.cli.tables import results as tables
from tailback.comparison import compare_stored
from tailback.errors import DamagedResults, InputError
from tailback.metrics.assertions import Assertion
from tailback.programs import kept, numbers, qlog
from tailback.report import sweep
from tailback.report.text import inline_html
from tailback.store.results import Results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("programs")
    probe = program("ping", 0.01, kind="ping", results={})
    return stored(out, program("quic", 4.0), probe)


def test_a_program_is_found_where_flows_are(results: Results) -> None:
    summary = results[0].summary
    flow = summary["flows"][0]["throughput_mbit"]
    total = metrics.find("throughput_total_mbit").value(summary)
    assert total == pytest.approx(flow + 4.0 + 0.01)
    # Jain's index is computed over flows. A program that only sends probes does not count as a
    # flow.
    assert summary["jain"] == 1.0
    assert metrics.find("throughput_ratio").value(summary) is None, "three groups"
    two = {**summary, "programs": summary["programs"][:1]}
    assert metrics.find("throughput_ratio").value(two) == pytest.approx(flow / 4.0)
    quic = summary["programs"][0]
    assert metrics.find("results.goodput_mbit").value(quic) == pytest.approx(3.88)
    assert metrics.find("results_loss", "flow").value(quic) is None
    with pytest.raises(InputError, match="does not exist"):
        metrics.find("goodput_mbit")


def test_frames_have_programs_and_5_tuples(results: Results) -> None:
    frame = results.programs()
    assert frame["program"].to_list() == ["quic", "ping"] * 2
    assert frame["throughput_mbit"].to_list() == pytest.approx([4.0, 0.01, 4.1, 0.11])
    row = frame.row(0, named=True)
    assert (row["rtt_p99_ms"], row["ecn_sent_ect0"], row["status_receiver"]) == (31.0, 1696, 0)
    assert row["results_goodput_mbit"] == pytest.approx(3.88)
    tuples = results.tuples()
    assert tuples["sender"].unique().to_list() == ["10.3.0.1:4433"]
    assert tuples.height == 4
    assert results.frame()["flow"].to_list() == ["cubic", "cubic"]
    none = tailback.Results("", "", "sim", "", [], [], Path()).programs()
    assert none.schema["throughput_mbit"] == pl.Float64


def test_assertions_name_programs(results: Results) -> None:
    summary = results[0].summary

    def failed(*args: Any, **more: Any) -> list[str]:
        return list(Assertion(*args, **more).failures(summary))

    assert failed("throughput_mbit", "quic", min=3.9) == []
    assert failed("rtt_ms.p99", "quic", max=30.0) == [
        "rtt_ms.p99 of program quic is 31, expected at most 30 (seed 1)"
    ]
    # Without a name, a metric applies to all flows. A number from output files applies to every
    # program whose files contain this number.
    assert failed("throughput_mbit", min=2.0) == []
    assert failed("results.goodput_mbit", min=3.0) == []
    assert failed("results.loss", max=1.0) == [
        "results.loss of program quic is not available, expected at most 1 (seed 1)"
    ]


def test_the_table_has_rates_rtt_completion_and_status(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    tables.show(results)
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    head = next(line for line in lines if line[:1] == ["program"])
    assert head[:2] == ["program", "kind"]
    assert head[-1] == "status"
    quic = next(line for line in lines if line[:1] == ["quic"])
    assert quic[1:3] == ["4.05", "±0.64"]
    assert quic[-3:] == ["\u2013", "/", "0"]
    assert any(line[:2] == ["ping", "ping"] for line in lines)
    assert "goodput_mbit" in shown


def test_comparisons_have_cells_of_programs(results: Results) -> None:
    root = results.root
    run = [root / "runs" / one.run_id for one in results]
    made = compare_stored(run, ["throughput_mbit", "flow.results.goodput_mbit"])
    found = {(cell.kind, cell.name, cell.metric.path) for cell in made.cells}
    assert ("program", "quic", "throughput_mbit") in found
    assert ("program", "quic", "results.goodput_mbit") in found
    assert ("flow", "cubic", "throughput_mbit") in found


def test_plots_have_programs_as_flows(results: Results) -> None:
    spec = json.dumps(results.plot(y="throughput_mbit", x="flow").to_dict())
    assert '"quic"' in spec
    assert '"cubic"' in spec
    assert "3.88" in json.dumps(results.plot(y="results.goodput_mbit", x="flow").to_dict())


def test_csv_and_damage(results: Results, tmp_path: Path) -> None:
    from tailback.interop import csv

    beside = csv.FORMAT.export(results[0].path, tmp_path / "run.csv", ())[1]
    assert "program,quic,ecn_sent_ect0,1696" in beside.read_text().splitlines()
    bad = {**program("quic", 4.0), "ecn_sent": {}}
    broken = stored(tmp_path / "bad", bad)
    with pytest.raises(DamagedResults, match=r"programs\[0\].ecn_sent.not_ect"):
        broken.require_whole()


# --- numbers and logs -----------------------------------------------------------------------


def leave(root: Path, program: str, side: str, name: str, text: str) -> Path:
    path = root / kept.FOLDER / program / side / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def asked(path: str, file: str = "out.json", scale: float = 1.0) -> dict[str, Any]:
    return {"name": "n", "file": file, "path": path, "scale": scale}


def entry(*results: dict[str, Any], count: int = 1) -> dict[str, Any]:
    return {"name": "iperf3", "count": count, "results": list(results)}


def test_numbers_come_out_of_files_by_path(tmp_path: Path) -> None:
    text = json.dumps({"end": {"streams": [{"rate": 2e6}, {"rate": 4e6}], "0": True}})
    leave(tmp_path, "iperf3", "receiver", "out/out.json", text)
    leave(tmp_path, "iperf3", "sender", "out/bad.json", '{"a": NaN}')
    leave(tmp_path, "iperf3", "sender", "out/huge.json", '{"a": 1e90}')
    for path, wanted in (
        ("end.streams[1].rate", 4.0),
        ("end.streams.0.rate", 2.0),
        ("end.streams[2].rate", 'no "end.streams\\[2\\]" in the file'),
        ("end.rate", 'no "end.rate" in the file'),
        ("end", '"end" is not a number'),
        ("end.0", '"end.0" is not a number'),
    ):
        one = entry(asked(path, scale=1e-6))
        found, missing = numbers.read([one], tmp_path)
        if isinstance(wanted, float):
            assert (found, missing) == ({"iperf3": [("n", wanted)]}, [])
        else:
            assert found == {"iperf3": [("n", None)]}
            assert len(missing) == 1
            assert missing[0].startswith("program iperf3: results.n: ")
            assert wanted.replace("\\", "") in missing[0]
    for file, said in (
        ("none.json", "no file none.json in its output folder"),
        ("bad.json", "not a number of JSON"),
        ("huge.json", "is too large"),
        ("../../../../etc/passwd", "no file"),
    ):
        _, missing = numbers.read([entry(asked("a", file, scale=1e20))], tmp_path)
        assert said in missing[0]
    # A symbolic link may lead outside of the run, so it is not accepted as a file.
    (tmp_path / "programs/iperf3/sender/out/link.json").symlink_to("/etc/hostname")
    _, missing = numbers.read([entry(asked("a", "link.json"))], tmp_path)
    assert "no file link.json" in missing[0]
    found, _ = numbers.read([entry(asked("a"), count=2)], tmp_path)
    assert list(found) == ["iperf3/1", "iperf3/2"]


def update(time: float, name: str, **data: float) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


def header(**common: Any) -> dict[str, Any]:
    trace = {"vantage_point": {"type": "server"}, "common_fields": common}
    return {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}


OLD, NEW = "recovery:metrics_updated", "quic:recovery_metrics_updated"


def test_rtts_below_that_of_the_path_are_seconds() -> None:
    def log(*rtts: float) -> qlog.Trace:
        return qlog.Trace(
            "server", None, latest_rtt=[(float(i), rtt) for i, rtt in enumerate(rtts)]
        )

    assert qlog.rtt_unit_ms(log(0.0203, 0.0312), 20.0) == 1000.0
    assert qlog.rtt_unit_ms(log(20.3, 31.2), 20.0) == 1.0
    # On this path, an RTT of this value is impossible both in s and in ms, so the default unit
    # applies.
    assert qlog.rtt_unit_ms(log(0.000001), 20.0) == 1.0
    assert qlog.rtt_unit_ms(log(), 20.0) == 1.0


def test_qlog_of_both_versions_and_forms(tmp_path: Path) -> None:
    epoch = (DATE + 0.5) * 1e3
    events = [
        update(0.0, OLD, congestion_window=12_000, smoothed_rtt=20.0),
        {"time": 1.0, "name": "transport:packet_sent", "data": {}},
        update(100.0, OLD, congestion_window=24_000, latest_rtt=22.5),
    ]
    old = tmp_path / "old.sqlog"
    records = [header(reference_time=epoch, time_format="relative"), *events]
    # The program was killed, so its log ends with an incomplete record.
    old.write_text(
        "".join(f"\x1e{json.dumps(one)}\n" for one in records) + '\x1e{"time": 2, "metrics_updated'
    )
    (trace,) = qlog.parse(old.read_bytes(), old)
    assert (trace.vantage, trace.epoch_ms) == ("server", epoch)
    assert trace.cwnd == [(0.0, 12_000.0), (100.0, 24_000.0)]
    assert (trace.smoothed_rtt, trace.latest_rtt) == ([(0.0, 20.0)], [(100.0, 22.5)])
    at = {"date_s": DATE, "start_s": 1.0, "end_s": 3.0}
    moved = qlog.over_run(trace, trace.cwnd, **at)
    assert [at for at, _ in moved] == pytest.approx([0.5, 0.6])
    assert [value for _, value in moved] == [12_000.0, 24_000.0]
    # This is the same log, but with one record per line, relative times and an unknown clock.
    new = tmp_path / "new.sqlog"
    common = {
        "time_format": "relative_to_previous_event",
        "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
    }
    renamed = [{**e, "name": NEW} if e["name"] == OLD else e for e in events]
    new.write_text("\n".join(json.dumps(one) for one in [header(**common), *renamed]))
    (trace,) = qlog.parse(new.read_bytes(), new)
    assert trace.epoch_ms is None
    assert trace.cwnd == [(0.0, 12_000.0), (101.0, 24_000.0)]
    moved = qlog.over_run(trace, trace.cwnd, **at)
    assert [at for at, _ in moved] == pytest.approx([1.0, 1.101]), "as if it began with the program"
    # This file has several connections. tailback must detect the format of the file.
    whole = tmp_path / "log.json"
    clock = {"epoch": "1970-01-01T00:00:00.000Z"}
    trace_of = {"common_fields": {"reference_time": clock}, "events": events}
    log = {"qlog_version": "0.4", "traces": [trace_of, {"events": []}, 7]}
    whole.write_text(json.dumps(log))
    (trace,) = qlog.parse(whole.read_bytes(), whole)
    assert (trace.vantage, trace.epoch_ms, len(trace.cwnd)) == ("", 0.0, 2)
    whole.write_text('{"end": 1}')
    assert qlog.parse(whole.read_bytes(), whole) == [], "foreign JSON"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "not JSON"),
        ("{}", "has no traces"),
        ('\x1e{"a": 1}\n\x1e{}', "has no trace"),
        ("[" * 100, "nested more than"),
        ('{"traces": 1e400}', "beyond the range"),
    ],
)
def test_what_is_no_qlog_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.qlog"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        qlog.parse(path.read_bytes(), path)


def test_values_that_are_none_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.qlog"
    bad: list[Any] = [7, {"time": "x"}, {"time": 1, "name": OLD, "data": 3}]
    bad += [update(1, OLD, congestion_window=-1), update(2, OLD, congestion_window=True)]
    path.write_text(json.dumps({"traces": [{"events": [*bad, update(3, NEW, latest_rtt=1)]}]}))
    (trace,) = qlog.parse(path.read_bytes(), path)
    assert (trace.cwnd, trace.latest_rtt) == ([], [(3.0, 1.0)])


def test_the_report_draws_logs_and_links_files(tmp_path: Path) -> None:
    results = stored(tmp_path, program("quic", 4.0))
    run = results[0]
    events = [
        update(20.0 * i, OLD, congestion_window=12_000 + 50 * i, smoothed_rtt=20 + i / 50)
        for i in range(100)
    ]
    records = [header(reference_time=(DATE + 0.5) * 1e3), *events]
    log = "".join(f"\x1e{json.dumps(one)}\n" for one in records)
    leave(run.path, "quic", "sender", "out/server.sqlog", log)
    leave(run.path, "quic", "sender", "stdout.txt", "listening\n")
    leave(run.path, "quic", "receiver", "out/page.html", "<script>1</script>")
    leave(run.path, "quic", "receiver", "out/broken.qlog", "{")
    seal(run.path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        index = sweep.write_folder(tmp_path)
    assert any("broken.qlog: not JSON" in str(one.message) for one in caught)
    page = index.read_text()
    base = f"../../runs/{run.run_id}/programs/quic"
    assert f'<a href="{base}/sender/stdout.txt">stdout.txt</a>' in page
    assert f'<a href="{base}/sender/out/server.sqlog">' in page
    assert "<code>out/page.html</code>" in page, "what a browser runs is no link"
    chart = (index.parent / "figures" / "program-1.vl.json").read_text()
    for words in ("cwnd, kB", "server, server.sqlog", "RTT, ms"):
        assert words in chart
    text = (index.parent / "report.md").read_text()
    assert "| quic | udp | 10.3.0.1:4433 | 10.4.0.1:40000 |" in text
    assert "program,quic,results_goodput_mbit,," in (index.parent / "cells.csv").read_text()
    assert inline_html("[x](../../runs/../a.txt)") == "x"
