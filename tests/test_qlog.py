"""Tests exports to qlog: both schemas, the events of the run, and the data that the export leaves
out.

The schemas in this file are the parts of draft-ietf-quic-qlog-main-schema-13, -quic-events-13 and
qlog 0.3 that tailback writes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import stored_programs
import tailback as package
from conftest import Tailback
from tailback.programs import qlog

SCENARIO = """\
duration = "4s"
host_jitter = "1ms"
warmup   = "500ms"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "40p" }

[path]
rtt = "40ms"

[record]
series = "acks"
events = true

[[flows]]
cc = "cubic"

[[flows]]
cc    = "bbr3"
count = 2
"""
MSS = 1448

_METRICS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": False,
    "properties": {
        "min_rtt": {"type": "number", "exclusiveMinimum": 0},
        "smoothed_rtt": {"type": "number", "exclusiveMinimum": 0},
        "congestion_window": {"type": "integer", "minimum": 1},
        "bytes_in_flight": {"type": "integer", "minimum": 0},
        "packets_in_flight": {"type": "integer", "minimum": 0},
        "ssthresh": {"type": "integer", "minimum": 1},
        "pacing_rate": {"type": "integer", "minimum": 1},
    },
}
_STATE = {
    "type": "object",
    "required": ["new"],
    "additionalProperties": False,
    "properties": {key: {"type": "string"} for key in ("old", "new", "trigger")},
}
_MARKER = {
    "type": "object",
    "required": ["type", "message"],
    "properties": {key: {"type": "string"} for key in ("type", "message", "trigger", "link")},
}


def _event(metrics: str, state: str) -> dict[str, Any]:
    named = {metrics: _METRICS, state: _STATE, "simulation:marker": _MARKER}
    return {
        "type": "object",
        "required": ["time", "name", "data"],
        "properties": {
            "time": {"type": "number", "minimum": 0},
            "name": {"enum": list(named)},
        },
        "allOf": [
            {
                "if": {"properties": {"name": {"const": name}}},
                "then": {"properties": {"data": schema}},
            }
            for name, schema in named.items()
        ],
    }


EVENT = _event("quic:recovery_metrics_updated", "quic:congestion_state_updated")
OLD_EVENT = _event("recovery:metrics_updated", "recovery:congestion_state_updated")

_VANTAGE_POINT = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "name": {"type": "string"},
        "type": {"enum": ["client", "server", "network", "unknown"]},
    },
}
HEAD = {
    "type": "object",
    "required": ["file_schema", "serialization_format", "trace"],
    "properties": {
        "file_schema": {"const": "urn:ietf:params:qlog:file:sequential"},
        "serialization_format": {"const": "application/qlog+json-seq"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "trace": {
            "type": "object",
            "required": ["event_schemas"],
            "properties": {
                "title": {"type": "string"},
                "vantage_point": _VANTAGE_POINT,
                "event_schemas": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "pattern": "^urn:ietf:params:qlog:events:"},
                },
                "common_fields": {
                    "type": "object",
                    "properties": {
                        "time_format": {
                            "enum": ["relative_to_epoch", "relative_to_previous_event"]
                        },
                        # A monotonic clock does not have a known epoch.
                        "reference_time": {
                            "properties": {
                                "clock_type": {"const": "monotonic"},
                                "epoch": {"const": "unknown"},
                            },
                            "required": ["clock_type", "epoch"],
                        },
                    },
                },
            },
        },
    },
}
OLD = {
    "type": "object",
    "required": ["qlog_version", "qlog_format", "traces"],
    "properties": {
        "qlog_version": {"const": "0.3"},
        "qlog_format": {"const": "JSON"},
        "traces": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["vantage_point", "events", "common_fields"],
                "properties": {
                    "vantage_point": _VANTAGE_POINT,
                    "common_fields": {
                        "required": ["time_format", "reference_time"],
                        "properties": {
                            "time_format": {"const": "relative"},
                            "reference_time": {"type": "number"},
                        },
                    },
                    "events": {"type": "array", "items": OLD_EVENT},
                },
            },
        },
    },
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> package.Run:
    """Run a scenario that records a sample of every ACK, and every drop."""
    out = tmp_path_factory.mktemp("results")
    return package.run(SCENARIO, out=out, progress=False).points[0]


Exported = Callable[..., list[Path]]


@pytest.fixture
def exported(tmp_path: Path, tailback: Tailback) -> Exported:
    """Return a function that exports a run, and returns the files that the command names."""

    def export(run: package.Run, form: str, name: str) -> list[Path]:
        done = tailback("export", run.path, "--format", form, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return [Path(line) for line in done.stdout.splitlines()]

    return export


def records(file: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON text sequence. Each record consists of an RS character, the JSON
    and a line feed."""
    texts = file.read_bytes().split(b"\x1e")
    assert texts[0] == b""
    assert all(text.endswith(b"\n") for text in texts[1:])
    return [json.loads(text) for text in texts[1:]]


def test_every_flow_is_a_sequence_of_the_current_schema(
    run: package.Run, exported: Exported
) -> None:
    files = exported(run, "qlog", "all.sqlog")
    names = ["all.cubic.sqlog", "all.bbr3-1.sqlog", "all.bbr3-2.sqlog"]
    assert [file.name for file in files] == names
    check = jsonschema.Draft202012Validator(EVENT)
    for file in files:
        head, *events = records(file)
        jsonschema.validate(head, HEAD)
        assert len(events) > 100
        for event in events:
            check.validate(event)
        times = [event["time"] for event in events]
        assert times == sorted(times)


def test_the_older_schema_tells_the_same(run: package.Run, exported: Exported) -> None:
    new = exported(run, "qlog", "new.sqlog")
    old = exported(run, "qlog-0.3", "old.qlog")
    for current, former in zip(new, old, strict=True):
        whole = json.loads(former.read_bytes())
        jsonschema.validate(whole, OLD)
        events = records(current)[1:]
        theirs = whole["traces"][0]["events"]
        assert [(e["time"], e["data"]) for e in events] == [(e["time"], e["data"]) for e in theirs]


def test_the_reader_finds_the_windows_of_the_run(run: package.Run, exported: Exported) -> None:
    series = run.series()
    for name, file in zip(
        ("cubic", "bbr3/1", "bbr3/2"), exported(run, "qlog", "x.sqlog"), strict=True
    ):
        [trace] = qlog.parse(file.read_bytes(), file)
        rows = series.filter((series["flow"] == name) & (series["quantity"] == "cwnd")).sort(
            "time_ns"
        )
        # The export contains only the rows in which the window changes.
        expected, last = [], None
        for at, value in zip(rows["time_ns"], rows["value"], strict=True):
            if value != last:
                expected.append((at / 1e6, value * MSS))
            last = value
        assert trace.cwnd == expected
        assert trace.vantage == "client"
        assert trace.epoch_ms is None
        assert len(trace.smoothed_rtt) > 10
        assert trace.latest_rtt == []


def test_states_and_annotations(run: package.Run, exported: Exported) -> None:
    cubic, bbr, _ = exported(run, "qlog", "x.sqlog")
    states = [e["data"] for e in records(cubic)[1:] if e["name"].endswith("state_updated")]
    assert states[0] == {"new": "slow_start"}
    assert all(a["new"] == b["old"] for a, b in itertools.pairwise(states))
    assert {"recovery", "congestion_avoidance"} <= {state["new"] for state in states}
    assert {s["trigger"] for s in states if s["new"] == "recovery"} == {"fast_recovery"}
    markers = [e["data"] for e in records(cubic)[1:] if e["name"] == "simulation:marker"]
    kinds = [marker["type"] for marker in markers]
    assert kinds.count("slow_start_exit") == 1
    drops = run.summary["flows"][0]["drops"]
    dropped = [e for e in records(cubic)[1:] if e["data"].get("type") == "packet_dropped"]
    assert sum(event["time"] >= 500 for event in dropped) == drops > 0
    account = json.loads((run.path / "account.json").read_bytes())["flows"][0]["reductions"]
    undone = ("undo_dsack", "undo_original")
    assert kinds.count("reduction") == sum(r not in undone for r in account["reason"]) > 0
    phases = [e["data"]["new"] for e in records(bbr)[1:] if e["name"].endswith("state_updated")]
    assert phases[:2] == ["startup", "drain"]
    assert "probe_bw_up" in phases


def test_what_was_not_recorded_is_absent(tmp_path: Path, exported: Exported) -> None:
    text = SCENARIO.replace('series = "acks"\nevents = true', 'series = "off"')
    run = package.run(text, out=tmp_path / "results", progress=False).points[0]
    cubic = exported(run, "qlog", "x.sqlog")[0]
    events = records(cubic)[1:]
    names = {event["name"] for event in events}
    assert names == {"quic:congestion_state_updated", "simulation:marker"}
    states = [e["data"]["new"] for e in events if e["name"] == "quic:congestion_state_updated"]
    assert states == ["slow_start", "congestion_avoidance"]


def test_a_run_without_a_sender_is_rejected(tmp_path: Path, tailback: Tailback) -> None:
    text = 'duration = "1s"\n[bottleneck]\nrate = "1Mbit"\n[[traffic]]\nkind = "cbr"\n'
    run = package.run(text, out=tmp_path / "results", progress=False).points[0]
    done = tailback("export", run.path, "--format", "qlog")
    assert done.returncode == 2
    assert "no TCP flow" in done.stderr


def _log(head: dict[str, Any], events: list[tuple[float, str, dict[str, Any]]]) -> bytes:
    lines = [head, *({"time": at, "name": name, "data": data} for at, name, data in events)]
    return b"".join(b"\x1e" + json.dumps(line).encode() + b"\n" for line in lines)


def quic() -> bytes:
    """Return the log of a sender that sends 1200 bytes of stream data every ms for 5 s. Its RTT is
    40 to 44 ms.

    Every hundredth packet is lost. Every tenth of the other packets is marked.
    """
    events: list[tuple[float, str, dict[str, Any]]] = []
    for i in range(5000):
        header = {"packet_type": "1RTT", "packet_number": i}
        stream = {"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 1200}
        sent = {"header": header, "raw": {"length": 1250}, "frames": [stream]}
        events.append((float(i), "quic:packet_sent", sent))
        if i % 100 == 99:
            events.append((i + 50.0, "quic:packet_lost", {"header": header}))
            continue
        ack = {"frame_type": "ack", "acked_ranges": [[i]], "ce": i // 10}
        events.append((i + 40.0, "quic:packet_received", {"header": header, "frames": [ack]}))
        # A second ACK of the same range acknowledges no new data.
        events.append((i + 40.0, "quic:packet_received", {"header": header, "frames": [ack]}))
        metrics = {"latest_rtt": 40.0 + i % 5, "smoothed_rtt": 42.0, "congestion_window": 48_000}
        events.append((i + 40.0, "quic:recovery_metrics_updated", metrics))
    events.sort(key=lambda event: event[0])
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "trace": {
            "title": "quic",
            "vantage_point": {"type": "server"},
            "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
            "common_fields": {"time_format": "relative_to_epoch"},
        },
    }
    return _log(head, events)


def test_a_qlog_file_beside_a_scenario(tmp_path: Path, tailback: Tailback) -> None:
    (tmp_path / "q.sqlog").write_bytes(quic())
    text = SCENARIO.partition("[[flows]]")[0] + '[[flows]]\ncc = "cubic"\n'
    (tmp_path / "path.toml").write_text(text, encoding="utf-8")
    done = tailback("compare", "path.toml", "q.sqlog", "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    cells = {
        (cell["name"], cell["quantity"]): cell["values"]
        for cell in json.loads(done.stdout)["cells"]
    }
    found = {name: values["qlog"]["mean"] for (of, name), values in cells.items() if of == "cubic"}
    # As in a run, the first 0.5 s of the log are not measured. In the remaining 4.54 s, 99 of 100
    # packets are acknowledged.
    assert found["throughput_mbit"] == pytest.approx(9.5, rel=0.01)
    assert (found["rtt_ms.p50"], found["rtt_ms.p99"]) == (42.0, 44.0)
    assert found["rtt_ms.mean"] == pytest.approx(42, abs=0.05)
    assert (found["drops"], found["srtt_ms_mean"]) == (46, 42.0)
    assert found["marks"] == pytest.approx(453, abs=2)


def test_a_log_without_packets_has_no_throughput(
    run: package.Run, exported: Exported, tmp_path: Path, tailback: Tailback
) -> None:
    cubic = exported(run, "qlog", "x.sqlog")[0]
    text = SCENARIO.partition("[[flows]]")[0] + '[[flows]]\ncc = "cubic"\n'
    (tmp_path / "path.toml").write_text(text, encoding="utf-8")
    done = tailback("compare", "path.toml", cubic, "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    values = {c["quantity"]: c["values"] for c in json.loads(done.stdout)["cells"]}
    assert values["throughput_mbit"]["qlog"]["mean"] is None
    assert values["srtt_ms_mean"]["qlog"]["mean"] > 40


@pytest.fixture(scope="module")
def program_run(tmp_path_factory: pytest.TempPathFactory) -> package.Run:
    """Return a run of a flow and a program, which has written a qlog."""
    out = tmp_path_factory.mktemp("program")
    run = stored_programs.stored(out, stored_programs.program("stack", 4.0)).points[0]
    log = run.path / "programs/stack/sender/out/server-1.sqlog"
    log.parent.mkdir(parents=True)
    log.write_bytes(quic())
    stored_programs.seal(run.path)
    return run


def test_the_log_of_a_program_is_copied_unchanged(
    program_run: package.Run, exported: Exported
) -> None:
    files = exported(program_run, "qlog", "all.sqlog")
    assert [file.name for file in files] == ["all.sqlog", "all.stack.server-1.sqlog"]
    assert files[1].read_bytes() == quic()


def compared(run: package.Run, log: Path, tailback: Tailback) -> dict[str, float | None]:
    """Compare a run with a log. Return the mean RTT that the log gives for each sender."""
    done = tailback("compare", run.path, log, "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    cells = [c for c in json.loads(done.stdout)["cells"] if c["quantity"] == "rtt_ms.mean"]
    return {cell["name"]: list(cell["values"].values())[-1]["mean"] for cell in cells}


@pytest.mark.parametrize(
    ("name", "title", "partner"),
    [
        # The log's title names no sender, so tailback assigns the log to the only program. The
        # run's first sender is a flow.
        ("x.sqlog", "quic", "stack"),
        ("x.sqlog", "cubic", "cubic"),
        ("cubic.sqlog", "quic", "cubic"),
    ],
)
def test_a_log_belongs_to_the_sender_that_it_names(
    program_run: package.Run,
    tmp_path: Path,
    tailback: Tailback,
    name: str,
    title: str,
    partner: str,
) -> None:
    log = tmp_path / name
    log.write_bytes(quic().replace(b'"title": "quic"', f'"title": "{title}"'.encode()))
    found = compared(program_run, log, tailback)
    other = {"cubic": "stack", "stack": "cubic"}[partner]
    # In the log, the RTT is 40 to 44 ms.
    assert found[partner] == pytest.approx(42, abs=0.05)
    assert found[other] is None


def test_a_log_in_the_folder_of_a_program_is_that_programs(
    program_run: package.Run, tailback: Tailback
) -> None:
    log = program_run.path / "programs/stack/sender/out/server-1.sqlog"
    assert compared(program_run, log, tailback)["stack"] == pytest.approx(42, abs=0.05)


def test_a_log_that_could_belong_to_several_senders_is_rejected(
    run: package.Run, tmp_path: Path, tailback: Tailback
) -> None:
    log = tmp_path / "q.sqlog"
    log.write_bytes(quic())
    done = tailback("compare", run.path, log, "--no-report")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "error: q.sqlog: the run has several senders, and the log names none of them: bbr3/1, "
        "bbr3/2, cubic\n  rename the file to NAME.sqlog"
    ) in done.stderr


def test_a_file_that_is_no_log_of_a_sender_is_rejected(tmp_path: Path, tailback: Tailback) -> None:
    (tmp_path / "a.qlog").write_text('{"qlog_version": "0.3", "traces": []}', encoding="utf-8")
    (tmp_path / "b.sqlog").write_text('{"no": "trace"}\n{}\n', encoding="utf-8")
    done = tailback("compare", "a.qlog", "b.sqlog", "--no-report")
    assert done.returncode == 2
    assert "a.qlog: 0 traces\n  use a file with one trace" in done.stderr
    assert "b.sqlog: not a qlog file" in done.stderr
