"""Tests that the laboratory in the browser gives the same results as native runs, and that its page
works as its text describes."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import http.client
import io
import itertools
import json
import re
import shutil
import subprocess
import tomllib
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

import guard
from conftest import COMMAND, SCENARIO, Tailback
from tailback import _native, examples, interop
from tailback.base import toml
from tailback.errors import InputError, ScenarioWarning
from tailback.interop.lab import page, server, stored
from tailback.report.sweep import write_folder
from tailback.running.batch import Job, run_many
from tailback.store.results import Results
from tailback.store.run_folder import StoredRun

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BUDGET = 800_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

LONG = frozenset({"datacentre", "satellite", "sweep"})
"""Examples whose runs take more than a second."""


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder that `make lab` wrote."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (WEB / "dist/single.html").is_file() or not (WEB / "node_modules").is_dir():
        pytest.skip("the laboratory is not built; run: make lab")
    if _native.engine_version().encode() not in (WEB / "dist/tailback.wasm").read_bytes():
        pytest.skip("the laboratory was built from other sources; run: make lab")
    return WEB / "dist"


def node(script: str, *words: str, given: object = None) -> Any:
    """Run a script that tests the laboratory's web page. Return the parsed JSON that it prints."""
    done = subprocess.run(
        ["node", str(WEB / "test" / script), *words],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def scenarios() -> dict[str, str]:
    """Return scenarios that together use every algorithm and key, and the examples of the
    reference."""
    guarded = {name: toml.dumps(table) for name, table in guard.scenarios().items()}
    return guarded | {name: examples.text(name) for name in examples.names() if name not in LONG}


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _series(run: StoredRun) -> dict[str, str]:
    """Return a hash of the times (s) and values of each series."""
    import polars as pl

    frame = run.series().with_columns(pl.col("flow", "link", "quantity").cast(pl.String))
    parts = frame.partition_by("flow", "link", "quantity", as_dict=True, maintain_order=True)
    return {
        "\t".join(str(name or "") for name in key): _sha(
            # Divide in NumPy. Polars would multiply by 1e-9 instead of dividing by 1e9, and would
            # round differently.
            (part["time_ns"].to_numpy().astype(float) / 1e9).tobytes()
            + part["value"].to_numpy().tobytes()
        )
        for key, part in parts.items()
    }


def test_a_browser_measures_what_native_runs_measure(built: Path, tmp_path: Path) -> None:
    """Run ids, summaries, series and the data of `explain` are identical byte by byte in browser
    and native runs."""
    del built
    files = {
        name: (guard.HERE / name).read_text(encoding="utf-8") for name in ("trace.txt", "sizes.txt")
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    texts = scenarios()
    jobs = [{"name": name, "text": text, "files": files} for name, text in texts.items()]
    found = node("parity.mjs", given=jobs)
    paths = []
    for number, text in enumerate(texts.values()):
        path = tmp_path / f"{number}.toml"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        ran = run_many([Job(path) for path in paths], out=tmp_path / "results", progress=False)
    checked = 0
    for one, native in zip(found, ran, strict=True):
        assert one.get("version") == _native.engine_version(), one
        for here, point in zip(one["points"], native.points, strict=True):
            run = StoredRun(point.path)
            assert here["run_id"] == point.path.name, one["name"]
            for file in ("summary", "account"):
                assert here[file] == _sha((point.path / f"{file}.json").read_bytes()), one["name"]
            assert here["series"] == _series(run), one["name"]
            checked += 1
    assert checked >= 90


def test_what_the_page_records_besides_changes_no_summary(built: Path) -> None:
    del built
    names = ("first", "dualpi2", "parking-lot")
    jobs: list[dict[str, object]] = [
        {"name": name, "text": examples.text(name), "files": {}, "watch": watch}
        for name in names
        for watch in (False, True)
    ]
    found = node("parity.mjs", given=jobs)
    for plain, watched in zip(found[::2], found[1::2], strict=True):
        assert plain["points"][0]["summary"] == watched["points"][0]["summary"]
        assert plain["points"][0]["account"] == watched["points"][0]["account"]
        # The run that the page animates records packets, so it also has series of drops and marks.
        assert plain["points"][0]["series"].keys() < watched["points"][0]["series"].keys()


def test_a_fork_of_a_browsers_run_equals_a_native_run_with_the_change(
    built: Path, tmp_path: Path
) -> None:
    """The browser can continue a run from a snapshot with a changed value. The results equal a
    native run with this change in `[[events]]`."""
    del built
    base = examples.text("first")
    changes = {
        "rate": 'set = { "bottleneck.rate" = "3Mbit" }',
        "queue": 'set = { "bottleneck.queue.limit" = "0.2bdp" }',
        "path": 'set = { "bottleneck.delay" = "9ms", "bottleneck.loss" = 0.002 }',
    }
    texts = {n: f'{base}\n[[events]]\nat = "7.25s"\n{line}\n' for n, line in changes.items()}
    fork = {"text": base, "time": 7.25}
    found = node(
        "parity.mjs",
        given=[{"name": n, "text": text, "files": {}, "fork": fork} for n, text in texts.items()],
    )
    paths = [tmp_path / f"{name}.toml" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    ran = run_many([Job(path) for path in paths], out=tmp_path / "results", progress=False)
    for here, native in zip(found, ran, strict=True):
        [point] = native.points
        [one] = here["points"]
        assert one["run_id"] == point.path.name
        for file in ("summary", "account"):
            assert one[file] == _sha((point.path / f"{file}.json").read_bytes()), here["name"]
        assert one["series"] == _series(StoredRun(point.path)), here["name"]


def test_the_page_is_small(built: Path) -> None:
    assert (built / "single.html").stat().st_size <= BUDGET


def test_the_page_asks_for_nothing_from_elsewhere(built: Path) -> None:
    text = (built / "single.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe-inline" not in policy[1]
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', text.partition("<script>")[0]) == []


SWEPT = """
[sweep]
"bottleneck.queue" = ["codel", { aqm = "fq_codel", target = "10ms" }]
seeds = 2
"""


def swept(folder: Path) -> Results:
    """Run a small sweep."""
    path = folder / "swept.toml"
    path.write_text(SCENARIO + SWEPT, encoding="utf-8")
    [results] = run_many([Job(path)], out=folder / "results", progress=False)
    return results


MARKUP = "<img src=x onerror='window.hacked=1'>"

RECORDS: list[dict[str, Any]] = [
    {"trace": {"common_fields": {"time_format": "absolute"}}},
    {"time": 1.7e12, "name": "quic:recovery_parameters_set", "data": {"max_datagram_size": 1200}},
    {"time": 1.7e12 + 500, "name": "quic:packet_sent", "data": {}},
    {
        "time": 1.7e12 + 1000,
        "name": "quic:recovery_metrics_updated",
        "data": {"congestion_window": 12000, "smoothed_rtt": 40.5, "bytes_in_flight": "many"},
    },
    {
        "time": 1.7e12 + 1e9,
        "name": "quic:recovery_metrics_updated",
        "data": {"congestion_window": 24000},
    },
]
"""A qlog sequence with times since 1970, a text in place of a number, and a sample after the end of
the run."""


def varint(number: int) -> bytes:
    """Encode a non-negative number in groups of seven bits."""
    low = number & 127
    return bytes([low | 128]) + varint(number >> 7) if number > 127 else bytes([low])


def hostile(values: int, rows: int, run: int) -> bytes:
    """Return a small Parquet file. Its column claims to have `values` values, in a row group that
    claims to have `rows` rows. The column's page has a run of zero-bit numbers, whose header is
    `run`."""
    body = b"\0" + varint(run)
    size = b"\x15" + varint(2 * len(body))
    page = b"\x15\0" + size + size + b"\x2c\x15" + varint(2 * values) + b"\x15\x10\0\0" + body
    column = b"\x15\x04\x29\x18\x04flow\x15\0\x16" + varint(2 * values) + b"\x46\x08\0"
    group = b"\x19\x1c\x3c" + column + b"\0\x26" + varint(2 * rows) + b"\0"
    about = b"\x36\x02\x19\x1c" + group + b"\0"
    return b"PAR1" + page + about + len(about).to_bytes(4, "little") + b"PAR1"


def write_measurements(folder: Path, results: Results) -> None:
    """Write the files that the browser drops on the page."""
    run = results[0].path
    [old, _] = interop.get("qlog-0.3").export(run, folder / "one.qlog", ())
    old.rename(folder / "old.qlog")
    interop.get("flent").export(run, folder / "exported.flent.gz", ())
    data = json.loads(gzip.decompress((folder / "exported.flent.gz").read_bytes()))
    data["results"][f"Ping (ms) {MARKUP}"] = [7.5, None]
    (folder / "run.flent.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    records = "".join(f"\x1e{json.dumps(record)}\n" for record in RECORDS)
    (folder / "new.sqlog").write_text(records + '\x1e{"time": 1', encoding="utf-8")
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "empty.qlog").write_text('{"traces": [{"events": [[1], [2]]}]}', encoding="utf-8")
    (folder / "damaged.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    (folder / "bomb.gz").write_bytes(gzip.compress(bytes((32 << 20) + 1), 1))
    (folder / "column.parquet").write_bytes(hostile(values=1 << 40, rows=1, run=1 << 41))
    (folder / "group.parquet").write_bytes(hostile(values=1 << 40, rows=1 << 40, run=1 << 41))
    (folder / "bits.parquet").write_bytes(hostile(values=1, rows=1, run=(1 << 41) + 1))


@pytest.fixture(scope="session")
def seen(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the browser's page shows after each step."""
    del built
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    results = swept(tmp_path_factory.mktemp("report"))
    report = write_folder(results.root)
    dropped = tmp_path_factory.mktemp("dropped")
    write_measurements(dropped, results)
    found: dict[str, Any] = node(
        "browser.mjs", CHROMIUM, str(report), str(dropped), str(results.root)
    )
    return {**found, "results": results, "dropped": dropped}


def first_id(text: str) -> str:
    """Return the run id of a native run of a scenario."""
    return _native.load(text.encode(), "a.toml").points[0].run_id


def test_the_page_runs_from_a_file_and_from_a_server(seen: dict[str, Any]) -> None:
    assert seen["file"] == seen["http"] == first_id(examples.text("first"))
    assert seen["title"] == "CUBIC through a FIFO"
    assert (seen["charts"], seen["errors"], seen["outside"]) == (9, [], [])
    assert seen["rows"] > 5
    assert "packets wait at bottleneck (fifo)" in seen["picture"]


def test_charts_without_time_agree_with_a_native_run(seen: dict[str, Any], tmp_path: Path) -> None:
    """The plotted distribution and samples equal the distribution and samples of the native run."""
    (wait, share), (flight, rate), (same, rtt) = (
        [float(number) for number in re.findall(r"[\d.]+", text.replace(" ms", ""))]
        for text in seen["under"]
    )
    path = tmp_path / "first.toml"
    path.write_text(examples.text("first"), encoding="utf-8")
    [results] = run_many([Job(path)], out=tmp_path / "results", progress=False)
    buckets = results[0].histogram("delay_ns")
    below = int(buckets.filter(pl.col("lower") / 1e6 <= wait)["count"].sum())
    assert below / int(buckets["count"].sum()) == pytest.approx(share, abs=0.02)
    assert 0.05 < share < 0.95
    assert flight == same
    columns = {
        name: results.series(0, name, flow="cubic")["value"].to_list()
        for name in ("in_flight", "delivered_bytes", "srtt_ns")
    }
    interval_s = results[0].manifest["canonical"]["record"]["interval"] / 1e9
    delivered = columns["delivered_bytes"]
    rates = [8e-6 * (to - by) / interval_s for by, to in itertools.pairwise(delivered)]
    samples = zip(columns["in_flight"][1:], rates, columns["srtt_ns"][1:], strict=True)
    wanted = [(r, ns / 1e6) for segments, r, ns in samples if segments == flight]
    assert pytest.approx(rate, rel=0.005) in [r for r, _ in wanted]
    assert pytest.approx(rtt, rel=0.005) in [ms for _, ms in wanted]


def test_mistakes_are_shown_at_their_lines(seen: dict[str, Any]) -> None:
    lines = examples.text("first").splitlines()
    rate = next(number for number, line in enumerate(lines, 1) if line.startswith("rate"))
    cc = next(number for number, line in enumerate(lines, 1) if line.startswith("cc"))
    assert seen["marked"] == [str(rate), str(cc)]
    assert [text.split(" ")[0] for text in seen["problems"]] == [f"{rate}:9", f"{cc}:6"]
    assert 'did you mean "cubic"?' in seen["problems"][1]


def test_a_slider_runs_the_scenario_again_beside_the_run_before(seen: dict[str, Any]) -> None:
    text = examples.text("first").replace('"40ms"', f'"{seen["sliderText"]}"')
    assert seen["sliderText"] == "159ms"
    assert seen["slid"] == first_id(text)
    assert seen["pictures"] == 2
    assert seen["changed"] > 3


def test_a_menu_changes_the_algorithm_and_adds_options(seen: dict[str, Any]) -> None:
    # CoDel does not accept a limit in bytes, so the page removes this option.
    assert seen["queue"] == '{ aqm = "codel" }'
    assert seen["option"] == '{ aqm = "codel", target = "5ms" }'
    assert seen["kept"] == '{ aqm = "fq_codel", target = "5ms" }'
    assert len(seen["codel"]) == 20


def test_a_row_of_the_log_leads_to_its_moment(seen: dict[str, Any]) -> None:
    assert f"{float(seen['firstEvent'].removesuffix(' s')):.2f} s" == seen["jumped"]


def test_a_link_contains_the_scenario(seen: dict[str, Any]) -> None:
    assert seen["linked"] == seen["slid"]
    assert f'rtt = "{seen["sliderText"]}"' in seen["linkedText"]
    assert not seen["banner"]
    assert f"engine 0.0+0; this page has {_native.engine_version()}" in seen["older"]
    assert seen["broken"] == "The link does not contain a scenario that can be read."


def test_text_of_a_scenario_is_never_a_script(seen: dict[str, Any]) -> None:
    assert "<script>" in seen["inertTitle"]
    assert (seen["hacked"], seen["images"]) == (None, 0)
    assert seen["hostileProblems"] >= 3
    assert len(seen["points"]) == 2
    assert "<script" not in seen["svg"]
    assert "<img" not in seen["svg"]
    assert "&lt;script" in seen["svg"]


def test_a_lesson_asks_for_a_prediction_before_it_shows_the_run(seen: dict[str, Any]) -> None:
    assert seen["lesson"] == "A queue that never empties"
    assert (seen["hidden"], seen["revealed"]) == (True, True)
    assert "never falls below about 72 ms" in seen["answer"]


def test_published_values_are_beside_the_runs_of_the_experiment(seen: dict[str, Any]) -> None:
    (exhibit,) = (
        one
        for one in json.loads((WEB / "exhibits.json").read_text(encoding="utf-8"))
        if one["label"] == "Table I: two Reno flows"
    )
    points = _native.load(exhibit["text"].encode(), "exhibit").points
    first, second = seen["published"]
    assert (first["run"], second["run"]) == (points[0].run_id, points[3].run_id)
    rows = [row[0] for row in first["cells"]]
    assert rows == exhibit["rows"]
    assert rows[0] == "Min_Thresh_Reno 0.125 BDP"
    ours = [[row[3] for row in cells["cells"]] for cells in seen["published"]]
    assert [[value != "–" for value in values] for values in ours] == [
        [True, False, False, False, False],
        [True, False, False, True, False],
    ]
    for cells, column in (("publishedAll", 0), ("publishedQueues", 1)):
        published = [float(row[2]) for row in seen[cells]]
        assert published == exhibit["columns"][column]["values"]
        measured = [float(row[3]) for row in seen[cells]]
        assert measured == pytest.approx(published, rel=0.1)
    assert seen["publishedDots"] == 2 * len(rows)
    assert seen["swept"]
    assert not seen["unswept"]
    assert [row[3] != "–" for row in seen["publishedChanged"]].count(True) == 1
    assert seen["publishedLinked"] == len(rows)


def test_exhibits_find_their_values_in_the_summary(tailback: Tailback, tmp_path: Path) -> None:
    exhibits = json.loads((WEB / "exhibits.json").read_text(encoding="utf-8"))
    assert {one["of"] for one in exhibits} >= {"pam-2025-l4s", "sce-2019", "imc-bbr-2023"}
    for name in ("pam-2025-l4s", "sce-2019", "imc-bbr-2023", "l4s-tests-2020", "dualpi2-2022"):
        exhibit = next(one for one in exhibits if one["of"] == name and one["columns"])
        values = tomllib.loads(exhibit["text"])
        values.pop("sweep")
        values["duration"], values["warmup"] = "4s", "1s"
        if "statistics" not in values.get("record", {}):
            values.pop("record", None)
        scenario = tmp_path / f"{name}.toml"
        scenario.write_text(toml.dumps(values), encoding="utf-8")
        done = tailback("run", str(scenario), "--json")
        assert done.returncode == 0, done.stderr
        (summary,) = json.loads(done.stdout)["points"]
        for column in exhibit["columns"]:
            entries = summary[column["list"]] if column["list"] else [summary]
            entries = list(entries.values()) if isinstance(entries, dict) else entries
            item = column["item"]
            found = [e for e in entries if not item or re.sub(r"/\d+$", "", e["name"]) == item]
            assert found, (name, column["name"])
            for entry in found:
                value: Any = entry
                for key in column["field"].split("."):
                    value = value[key]
                assert value > 0, (name, column["name"])


def test_a_slider_changes_the_run_from_a_moment_on(seen: dict[str, Any], tmp_path: Path) -> None:
    """Two moves of the slider change the same event. The saved scenario reproduces the run that the
    page shows."""
    text = seen["forkedToml"]
    events = tomllib.loads(text)["events"]
    [event] = events
    assert event["at"] == "9.999s"
    assert set(event["set"]) == {"bottleneck.rate"}
    assert event["stop"] == ["cubic"]
    assert seen["forkedRate"].replace(" ", "") == event["set"]["bottleneck.rate"]
    assert seen["forkedPictures"] == 2
    path = tmp_path / "forked.toml"
    path.write_text(text, encoding="utf-8")
    [native] = run_many([Job(path)], out=tmp_path / "results", progress=False)
    assert native.points[0].path.name == seen["stopped"]
    assert len({seen["unforked"], seen["forked"], seen["stopped"]}) == 3
    assert seen["fixed"] is True


def test_a_rejected_change_blocks_no_later_change(seen: dict[str, Any]) -> None:
    """The page returns to the last accepted scenario, and shows why it rejected the change."""
    assert seen["restarted"] == seen["forked"]
    assert '"cubic" starts at 0' in seen["rejected"]
    assert (seen["rejectedText"], seen["rejectedStale"]) == (True, False)
    assert seen["later"] not in {seen["forked"], seen["unforked"], seen["stopped"]}
    assert seen["laterBanner"] is True
    assert seen["fixedOption"]
    assert seen["slidBack"] is True


def test_changes_are_added_to_an_inline_list_of_events(
    seen: dict[str, Any], tmp_path: Path
) -> None:
    text = seen["inlinedToml"]
    events = tomllib.loads(text)["events"]
    assert [event["at"] for event in events[:1]] == ["2s"]
    assert [set(event["set"]) for event in events] == [{"bottleneck.rate"}] * 3
    path = tmp_path / "inlined.toml"
    path.write_text(text, encoding="utf-8")
    [native] = run_many([Job(path)], out=tmp_path / "results", progress=False)
    assert native.points[0].path.name == seen["inlined"]


def test_nothing_is_wider_than_a_phone(seen: dict[str, Any]) -> None:
    assert seen["overflow"] <= 0


def curves_of(text: str, label: str) -> list[tuple[str, float, float]]:
    """Return the chart, the time and the value in each row of the page's CSV."""
    rows = csv.DictReader(io.StringIO(text))
    return [
        (row["chart"].split(",")[0], float(row["time_s"]), float(row["value"]))
        for row in rows
        if row["curve"] == label and row["value"]
    ]


def test_a_dropped_qlog_file_is_drawn_beside_the_run(seen: dict[str, Any]) -> None:
    text = seen["csvBesides"]
    log = json.loads((seen["dropped"] / "old.qlog").read_text(encoding="utf-8"))
    events = [
        one for one in log["traces"][0]["events"] if one["name"] == "recovery:metrics_updated"
    ]
    for key, label, chart, unit in (
        ("congestion_window", "cwnd", "Congestion window", 1448),
        ("bytes_in_flight", "in flight", "Congestion window", 1448),
        ("smoothed_rtt", "smoothed RTT", "Smoothed RTT", 1),
    ):
        expected: list[tuple[str, Any, Any]] = [
            (chart, pytest.approx(one["time"] / 1e3), pytest.approx(one["data"][key] / unit))
            for one in events
            if key in one["data"]
        ]
        assert len(expected) > 10
        assert curves_of(text, f"old.qlog: {label}") == expected
        assert f"old.qlog: {label}" in seen["besideLegend"]
        assert f"{label} ({len(expected)} points)" in seen["besides"][0]
    assert "Bytes are shown as segments of 1448 bytes." in seen["besides"][0]

    assert curves_of(text, "new.sqlog: cwnd") == [("Congestion window", 1.0, 10.0)]
    assert curves_of(text, "new.sqlog: smoothed RTT") == [("Smoothed RTT", 1.0, 40.5)]
    assert seen["besides"][1] == (
        "new.sqlog qlog. Read: cwnd (2 points), smoothed RTT (1 point). Ignored: records that "
        "are not JSON (1), events of other kinds (2), values that are not numbers from 0 on (1). "
        "Bytes are shown as segments of 1200 bytes. Not shown: 1 point after the end of the run. "
        "Remove"
    )


def test_a_dropped_data_file_of_flent_is_drawn_beside_the_run(seen: dict[str, Any]) -> None:
    text = seen["csvBesides"]
    data = json.loads(gzip.decompress((seen["dropped"] / "run.flent.gz").read_bytes()))
    for name, chart in (
        ("TCP upload::1", "Rate behind the queue"),
        ("TCP upload::1::tcp_cwnd", "Congestion window"),
        ("TCP upload::1::tcp_rtt", "Smoothed RTT"),
        ("Ping (ms) ICMP", "Smoothed RTT"),
    ):
        pairs = zip(data["x_values"], data["results"][name], strict=True)
        expected = [(chart, at, value) for at, value in pairs if value is not None]
        assert len(expected) > 10
        assert curves_of(text, f"run.flent.gz: {name}") == expected
    assert "TCP upload avg" in data["results"]
    assert curves_of(text, "run.flent.gz: TCP upload avg") == []
    assert "series that the page does not draw" in seen["besides"][2]


def test_a_csv_file_of_the_page_is_drawn_beside_the_run(seen: dict[str, Any]) -> None:
    alone = curves_of(seen["csvAlone"], "cubic")
    four = ("Congestion window", "Smoothed RTT", "Rate behind the queue", "Queue delay")
    again = curves_of(seen["csvBesides"], f"{MARKUP}.csv: cubic")
    assert again == [row for row in alone if row[0] in four]
    assert {row[0] for row in again} == set(four)
    assert seen["csvRemoved"] == seen["csvAlone"]


def test_a_dropped_run_folder_is_drawn_beside_the_run(seen: dict[str, Any]) -> None:
    results: Results = seen["results"]
    known = {run.run_id: run.series() for run in results.points}
    assert len(seen["droppedRuns"]) == min(len(known), 8)
    assert sorted(seen["droppedRuns"]) == sorted(seen["chosenRuns"])
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in csv.DictReader(io.StringIO(seen["csvRuns"])):
        if row["value"]:
            at = (float(row["time_s"]), float(row["value"]))
            curves.setdefault((row["chart"], row["curve"]), []).append(at)
    for text in seen["droppedRuns"]:
        name = text.partition(" ")[0]
        frame = known[name].with_columns(pl.col("flow", "quantity").cast(pl.String))
        for flow in frame["flow"].drop_nulls().unique():
            own = frame.filter(pl.col("flow") == flow)
            rows = own.filter(pl.col("quantity") == "cwnd").sort("time_ns")
            drawn = curves["Congestion window, segments", f"{name}: {flow}"]
            times = [time / 1e9 for time in rows["time_ns"]]
            expected = zip(times, rows["value"], strict=True)
            assert sorted(set(drawn)) == sorted(set(expected))
            rates = curves["Rate behind the queue, Mbit/s", f"{name}: {flow}"]
            last = own.filter(pl.col("quantity") == "delivered_bytes")["value"].max()
            ends = sorted(set(rates))
            spans = zip([(0.0, 0.0), *ends], ends, strict=False)
            bits = sum((end - begin) * value for (begin, _), (end, value) in spans)
            assert bits * 1e6 / 8 == pytest.approx(last, rel=1e-6)
    assert "no folder in it has a series.parquet" in seen["noRun"]


def test_text_of_a_dropped_file_is_never_a_script(seen: dict[str, Any]) -> None:
    assert f"run.flent.gz: Ping (ms) {MARKUP}" in seen["besideLegend"]
    assert seen["besideLegend"].count(f"{MARKUP}.csv: cubic") == 1
    assert seen["besides"][3].startswith(f"{MARKUP}.csv CSV. Read: cubic (")
    assert (seen["besideHacked"], seen["besideImages"]) == (None, 0)


def test_other_files_are_refused_with_the_reason(seen: dict[str, Any]) -> None:
    assert seen["refused"] == [
        "scenario.toml: not the series of a run, not qlog, not a data file of Flent, and not CSV "
        "that this page saved. Nothing was drawn.",
        "empty.qlog: qlog, but without a window, an RTT or a rate. Ignored: events without time "
        "or name (2). Nothing was drawn.",
        "damaged.gz: the compressed data is damaged. Nothing was drawn.",
        "bomb.gz: larger than 32 MiB, which is the limit, also for unpacked data. Nothing was "
        "drawn.",
        *(
            f"{name}.parquet: not the series of a run as tailback writes them. Nothing was drawn."
            for name in ("column", "group", "bits")
        ),
    ]


def test_a_figure_of_a_report_opens_its_runs(seen: dict[str, Any]) -> None:
    """The page beside the report runs the report's sweep. The first run of the sweep has the same
    run id in the laboratory and in the report."""
    results: Results = seen["results"]
    assert seen["reportRun"] == results[0].run_id
    assert len(seen["reportPoints"]) == len(results) == 4
    assert "seed 2" in seen["reportPoints"][1]
    assert not seen["reportBanner"]


def opened_by(report: Path) -> dict[str, dict[str, Any]]:
    """Return the scenario behind the link of each figure of a report, by the figure's id."""
    text = report.read_text(encoding="utf-8")
    links = re.findall(
        r'<figure id="([^"]+)"(?:(?!</figure>).)*?lab\.html#s=([\w-]+)', text, re.DOTALL
    )
    return {
        name: json.loads(zlib.decompress(base64.urlsafe_b64decode(link + "==="), -15))
        for name, link in links
    }


def test_every_figure_of_a_sweep_has_its_scenario(
    tailback: Tailback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure's link to the laboratory contains all runs of the sweep, or the run that the figure
    shows."""
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(page, "BUILT", tmp_path / "page.html")
    results = swept(tmp_path)
    report = write_folder(results.root)
    shown = opened_by(report)
    assert {*shown} == set(re.findall(r'<figure id="([^"]+)"', report.read_text(encoding="utf-8")))
    ids = {
        name: [point.run_id for point in _native.load(one["text"].encode(), "a").points]
        for name, one in shown.items()
    }
    assert ids.pop("time-2") == [results[2].run_id]
    assert ids.pop("time-1") == [results[0].run_id]
    assert len(ids) >= 3
    assert all(one == [run.run_id for run in results] for one in ids.values())
    assert (report.parent / "lab.html").read_text(encoding="utf-8") == PAGE
    assert tailback("report", results.root, "--no-lab").returncode == 0
    assert not (report.parent / "lab.html").exists()
    assert opened_by(report) == {}
    monkeypatch.setattr(page, "BUILT", tmp_path / "none.html")
    monkeypatch.setattr(page, "SHIPPED", tmp_path / "none.html")
    assert opened_by(write_folder(results.root)) == {}


PAGE = f"<!doctype html><body>{page.EMPTY}</body>"


@pytest.fixture
def serving() -> Iterator[server.Server]:
    """Serve a small page for the tests."""
    one = server.Server(PAGE.encode())
    thread = Thread(target=one.serve_forever)
    thread.start()
    yield one
    one.shutdown()
    thread.join()
    one.server_close()


def ask(
    one: server.Server, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, bytes, dict[str, str]]:
    """Request a path. Return status, body and headers of the response."""
    connection = http.client.HTTPConnection(server.HOST, one.server_port, timeout=10)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, dict(answer.getheaders())


def test_the_server_answers_its_address_only(serving: server.Server) -> None:
    address = urlsplit(serving.address)
    assert address.hostname == "127.0.0.1"
    status, body, headers = ask(serving, address.path)
    assert (status, body) == (200, PAGE.encode())
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    for path in ("/", address.path + "x", address.path + "../", "/../../etc/passwd", "/index.html"):
        assert ask(serving, path)[0] == 404, path
    # A request with another host name is rejected, even if this name resolves to this machine.
    assert ask(serving, address.path, host=f"evil.example:{serving.server_port}")[0] == 404
    assert ask(serving, address.path, method="HEAD")[:2] == (200, b"")
    for method in ("POST", "PUT", "DELETE"):
        assert ask(serving, address.path, method=method)[0] == 501


def test_addresses_cannot_be_guessed() -> None:
    with server.Server(b"") as one, server.Server(b"") as two:
        tokens = {urlsplit(each.address).path for each in (one, two)}
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_a_scenario_in_the_page_is_data() -> None:
    text = "title = '</script><script>alert(1)</script><!--'"
    made = page.with_scenario(PAGE, page.scenario(text, {}))
    element = re.search(r'<script type="application/json" id="opened">(.*?)</script>', made)
    assert element is not None
    assert json.loads(element[1])["text"] == text
    assert made.count("<script") == 1
    with pytest.raises(InputError, match="run: make lab"):
        page.with_scenario("<html>", None)


def test_a_scenario_brings_its_traces(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("1\n2\n3\n", encoding="utf-8")
    (tmp_path / "a.toml").write_text(
        SCENARIO.replace('rate  = "10Mbit"', 'rate = { trace = "trace.txt" }'), encoding="utf-8"
    )
    opened = page.load(tmp_path / "a.toml")
    assert opened["files"] == {"trace.txt": "1\n2\n3\n"}
    (tmp_path / "b.toml").write_text("rate =", encoding="utf-8")
    assert page.load(tmp_path / "b.toml")["files"] == {}


def test_the_command_prints_an_address_that_opens_the_scenario(built: Path, scenario: Path) -> None:
    del built
    with subprocess.Popen(
        [*COMMAND, "lab", str(scenario), "--no-browser"], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        address = urlsplit(running.stdout.readline().strip())
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
        connection.request("GET", address.path)
        body = connection.getresponse().read().decode()
        connection.close()
        running.terminate()
    element = re.search(r'id="opened">(.*?)</script>', body)
    assert element is not None
    assert json.loads(element[1])["text"] == scenario.read_text(encoding="utf-8")


def test_a_missing_page_and_a_missing_file_are_said(
    tailback: Tailback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = tailback("lab", "missing.toml", "--no-browser")
    assert done.returncode == 2
    assert "missing.toml" in done.stderr
    monkeypatch.setattr(page, "BUILT", tmp_path / "none.html")
    monkeypatch.setattr(page, "SHIPPED", tmp_path / "none.html")
    with pytest.raises(InputError, match="run: make lab"):
        page.find()


def test_the_examples_of_the_gallery_are_valid() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        for name in examples.names():
            assert _native.load(examples.text(name).encode(), name).points
        for path in json.loads(_native.registry_json())["paths"]:
            text = (
                f'duration = "30s"\n[path]\nprofile = "{path["name"]}"\n[[flows]]\ncc = "cubic"\n'
            )
            assert _native.load(text.encode(), path["name"]).points


def test_a_stored_run_is_its_scenario_again() -> None:
    """Most runs of a sweep can be written as a scenario. Other runs, such as runs with traces, must
    be rejected."""
    rejected = []
    for name, text in scenarios().items():
        point = _native.load(text.encode(), name, folder=guard.HERE).points[0]
        written = stored.scenario(json.loads(point.canonical), point.seed)
        if written is None:
            rejected.append(name)
            continue
        assert _native.load(written.encode(), name).points[0].run_id == point.run_id, written
        assert len(written) < 4 * len(text) + 200, written
    assert "link trace" in rejected
    assert len(rejected) <= 6, rejected


def test_events_of_a_stored_run_are_written() -> None:
    text = """
duration = "20s"
path = { rtt = "20ms" }
[links.near]
rate  = "10Mbit"
delay = "5ms"
loss  = 0.0
queue = { aqm = "codel", limit = "100p" }
impairments = [{ kind = "loss", probability = 0.01 }]
[links.far]
rate  = "10Mbit"
queue = "fifo"
[[flows]]
name  = "a"
cc    = "cubic"
route = ["near", "far"]
[[flows]]
name  = "b"
route = ["near"]
cc    = "reno"
count = 2
start = "15s"
[[events]]
at  = "5s"
set = { "links.near.rate" = "5Mbit", "links.near.delay" = "7ms", "links.near.loss" = 0.01 }
[[events]]
at   = "9s"
set  = { "links.near.queue.target" = "10ms", "links.near.queue.limit" = "50p" }
stop = ["a"]
[[events]]
at    = "10s"
set   = { "links.near.impairments[0].probability" = 0.02, "links.near.queue.target" = "5ms" }
start = ["b"]
"""
    point = _native.load(text.encode(), "events").points[0]
    written = stored.scenario(json.loads(point.canonical), point.seed)
    assert written is not None
    assert _native.load(written.encode(), "written").points[0].run_id == point.run_id
    _, *events = written.split("[[events]]\n")
    assert events[1:] == [
        'at = "9s"\nset = { "links.near.queue.limit" = "50p", '
        '"links.near.queue.target" = "10ms" }\nstop = ["a"]\n\n',
        'at = "10s"\nset = { "links.near.queue.target" = "5ms", '
        '"links.near.impairments[0].probability" = 0.02 }\nstart = ["b"]\n',
    ]


def test_a_run_opens_as_its_scenario(tailback: Tailback, scenario: Path, tmp_path: Path) -> None:
    assert tailback("run", scenario, "--out", tmp_path / "results").returncode == 0
    [run] = (tmp_path / "results/runs").glob("[!.]*")
    written = stored.text(run)
    assert written.startswith(f"# Run {run.name}, ")
    assert _native.load(written.encode(), "a.toml").points[0].run_id == run.name
    assert '[bottleneck]\nqueue = { aqm = "codel", ecn = true }\nrate = "10Mbit"' in written
