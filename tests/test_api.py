"""Tests the Python API."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailback
from conftest import SCENARIO, SWEEP
from tailback import _native, metrics
from tailback.base import toml
from tailback.base.numbers import short
from tailback.comparison.quantities import select
from tailback.metrics.estimates import with_spread
from tailback.metrics.naming import identifier
from tailback.metrics.ratio import ratio
from tailback.metrics.statistics import t_quantile
from tailback.running import engines
from tailback.running.engines.sim import Sim
from tailback.running.spread import recipe


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    return tailback.run(SWEEP, out=tmp_path_factory.mktemp("out"))


def test_a_grid_stands_for_the_sweep_of_the_file(tmp_path: Path) -> None:
    grid = {"path.rtt": ["10ms", "20ms"], "bottleneck.queue.aqm": ["fifo", "codel"]}
    # Replace the whole queue, because a FIFO rejects CoDel's options.
    swept = tailback.sweep(SWEEP, grid, set={"bottleneck.queue": "fifo"}, seeds=1, out=tmp_path)
    found = [(run.params["path.rtt"], run.params["bottleneck.queue.aqm"]) for run in swept.points]
    assert found == [(1e7, "fifo"), (1e7, "codel"), (2e7, "fifo"), (2e7, "codel")]


def test_frames(results: tailback.Results) -> None:
    frame = results.frame()
    assert frame.height == 12 * 2
    assert frame["bottleneck.rate"].to_list()[:8] == [5e6] * 8
    assert frame["flow"].to_list()[:2] == ["cubic", "dctcp"]
    assert frame["throughput_mbit"].null_count() == 0
    assert frame["completion_s"].null_count() == 24
    first = results.points[0].summary["flows"][0]
    assert frame["rtt_p99_ms"][0] == first["rtt_ms"]["p99"]
    queues = results.queues()
    assert queues["link"].to_list() == ["bottleneck"] * 12
    assert queues["delay_max_ms"][3] == results[3].summary["queue"]["delay_ms"]["max"]
    assert len(results.groups()) == 6
    assert "<table>" in results._repr_html_()


def test_series_and_histograms_agree_with_the_summary(results: tailback.Results) -> None:
    run = results.points[0]
    delay = results.histogram(run)
    queue = run.summary["queue"]
    assert delay["count"].sum() == queue["packets"]
    # The mean is computed from the middles of buckets, so its error is at most half a bucket, which
    # is 2^-11 of the value.
    total = sum((low + (width - 1) / 2) * n for low, width, n in delay.iter_rows())
    mean_ms = total / queue["packets"] / 1e6
    assert math.isclose(mean_ms, queue["delay_ms"]["mean"], rel_tol=2**-11)
    rtt = run.histogram("rtt_ns", flow="dctcp")
    assert rtt["count"].sum() > 0

    series = results.series(0)
    assert series.schema == {
        "time_ns": pl.Int64,
        "flow": pl.String,
        "link": pl.String,
        "quantity": pl.String,
        "value": pl.Float64,
    }
    cwnd = series.filter(pl.col("flow") == "cubic", pl.col("quantity") == "cwnd")
    assert cwnd.height >= 19, "one sample for each record interval of 100 ms in 2 s"
    assert cwnd["time_ns"].is_sorted()


def test_stored_results_can_be_opened(results: tailback.Results) -> None:
    again = tailback.open_results(results.root)
    assert again.to_dict() == results.to_dict()
    assert again.title == "two flows"
    with pytest.raises(tailback.InputError, match="no results"):
        tailback.open_results(results.root / "runs")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 0}', '{"format": 1}', '{"format": 1, "x": 2}']
)
def test_an_index_that_is_none_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_text(text, encoding="utf-8")
    with pytest.raises(tailback.InputError, match=r"index\.json: "):
        tailback.open_results(tmp_path)


def test_a_scenario_can_be_a_file_text_or_a_table(tmp_path: Path, scenario: Path) -> None:
    table = {
        "duration": "2s",
        "warmup": "500ms",
        "seed": 1,
        "bottleneck": {"rate": "10Mbit", "queue": {"aqm": "codel", "ecn": True}},
        "path": {"rtt": "20ms"},
        "flows": [{"cc": "cubic"}, {"cc": "dctcp"}],
    }
    ids = {
        tailback.run(source, out=tmp_path).points[0].run_id
        for source in (scenario, str(scenario), SCENARIO, table)
    }
    assert len(ids) == 1


def test_many_scenarios_share_runs(tmp_path: Path) -> None:
    jobs = [
        tailback.Job(SCENARIO, {"bottleneck.rate": rate}) for rate in ("5Mbit", "10Mbit", "5Mbit")
    ]
    a, b, again = tailback.run_many(jobs, out=tmp_path, seeds=2)
    assert a.to_dict() == again.to_dict()
    assert a.points[0].run_id != b.points[0].run_id
    assert len(list((tmp_path / "runs").iterdir())) == 4
    assert tailback.run_many([], out=tmp_path) == []


def test_errors_come_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(tailback.ScenarioError) as wrong:
        tailback.run_many(
            [tailback.Job(SCENARIO), tailback.Job(SCENARIO, {"path.rtt": -1})], out=out
        )
    [diagnostic] = wrong.value.diagnostics
    assert diagnostic.place == "--set path.rtt=-1:1:10"
    assert (diagnostic.option, diagnostic.line, diagnostic.column) == ("path.rtt=-1", 1, 10)
    assert (diagnostic.source, diagnostic.width) == ("path.rtt=-1", 2)
    assert diagnostic.message.startswith("wrong value -1")
    assert str(diagnostic).startswith("--set path.rtt=-1:1:10: wrong value -1")
    with pytest.raises(tailback.InputError, match="cannot be in a scenario"):
        tailback.run(SCENARIO, set={"path.rtt": object()}, out=out)
    with pytest.raises(tailback.InputError, match="seeds"):
        tailback.run(SCENARIO, seeds=0, out=out)
    assert not out.exists()


def test_a_panic_costs_its_run_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sim = engines.get("sim")

    class Fragile(Sim):
        def run(self, scenario: Any, index: int, store: Any, control: Any) -> None:
            fail = index == 2
            sim.run(scenario, index, store, _native.Control(fail=True) if fail else control)

    monkeypatch.setattr(engines, "get", lambda _name, _kernel=None: Fragile())
    with pytest.raises(tailback.RunsFailed) as failed:
        tailback.run(SCENARIO, seeds=4, out=tmp_path, jobs=2)
    [message] = failed.value.failures
    assert "seed 3" in message
    assert "asked to panic" in message
    assert capfd.readouterr().err == "", "the panic is reported once, by its run"
    [results] = failed.value.results
    assert [run.seed for run in results.points] == [1, 2, 4]
    monkeypatch.undo()
    assert len(tailback.run(SCENARIO, seeds=4, out=tmp_path)) == 4


def test_a_run_can_be_cancelled(tmp_path: Path) -> None:
    scenario = tailback.check(SCENARIO)
    control = _native.Control()
    control.cancel()
    store = _native.Store(tmp_path)
    long = tailback.check(SCENARIO, set={"duration": "1000s", "bottleneck.rate": "1Gbit"})
    with pytest.raises(tailback.Cancelled):
        long.run(0, store, control)
    assert not store.contains(long.points[0].run_id)
    with pytest.raises(IndexError):
        scenario.run(1, store, control)


@pytest.mark.parametrize(
    "module",
    [
        *("polars", "altair", "numpy", "scipy", "jinja2", "vl_convert"),
        *("concurrent.futures", "hashlib", "html", "shutil", "tempfile"),
    ],
)
def test_running_does_not_import_what_it_does_not_need(
    scenario: Path, tmp_path: Path, module: str
) -> None:
    code = (
        "import sys\n"
        "from tailback.cli import main\n"
        f"sys.argv = ['tailback', 'run', {str(scenario)!r}, '--out', {str(tmp_path)!r}]\n"
        "try:\n    main.main()\n"
        "except SystemExit as done:\n    assert done.code == 0\n"
        f"assert {module!r} not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_what_shows_few_flows_reads_few(tmp_path: Path) -> None:
    many = {"flows.cubic.count": 70, "duration": "50ms", "warmup": "0s", "record.series": "off"}
    [run] = tailback.run(SCENARIO, set=many, out=tmp_path)
    brief, left_out = run.brief
    assert (len(brief["flows"]), left_out) == (60, 11)
    assert brief == {**run.summary, "flows": run.summary["flows"][:60]}
    assert list(brief["queues"]) == list(run.summary["queues"])
    [few] = tailback.run(SCENARIO, set={**many, "flows.cubic.count": 2}, out=tmp_path)
    assert few.brief == (few.summary, 0)


def test_metrics() -> None:
    summary = {
        "flows": [
            {"name": "reno", "throughput_mbit": 6.0},
            {"name": "dctcp/1", "throughput_mbit": 1.0},
            {"name": "dctcp/2", "throughput_mbit": 3.0},
            {"name": "late", "throughput_mbit": None},
        ],
        "jain": 0.5,
    }
    assert ratio(summary, "reno", "dctcp") == 3.0
    assert ratio(summary, "dctcp/1", "reno") == 1 / 6
    assert ratio(summary, "reno", "late") is None
    assert metrics.is_of("dctcp/1", "dctcp/1")
    assert not metrics.is_of("dctcp-2", "dctcp"), "another table's flow"
    assert metrics.find("jain").value(summary) == 0.5
    assert metrics.find("rtt_ms.p50").value({"rtt_ms": {"p50": None}}) is None
    assert metrics.find("drops", on="link").on == "link"
    with pytest.raises(tailback.InputError, match='did you mean "utilisation"'):
        metrics.find("utilization")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("throughput_mbit", "throughput_mbit"),
        ("rtt_ms.p99", "rtt_p99_ms"),
        ("srtt_ms_mean", "srtt_mean_ms"),
        ("occupancy_bytes_mean", "occupancy_mean_bytes"),
        ("utilisation.p25", "utilisation_p25"),
        ("completion_s.81kB", "completion_81kB_s"),
        ("normalised.1MB.p99", "normalised_1MB_p99"),
        ("rate_mbit.n", "rate_n"),
        ("from_s", "from_s"),
    ],
)
def test_names_are_identifiers_with_the_unit_last(path: str, name: str) -> None:
    assert identifier(path) == name


def test_metrics_are_called_by_name_and_by_path() -> None:
    names = [(metric.on, metric.name) for metric in metrics.METRICS]
    assert len(set(names)) == len(names)
    for metric in metrics.METRICS:
        assert metric.name.isidentifier()
        assert metrics.find(metric.name, metric.on) is metric
        assert metrics.find(metric.path, metric.on) is metric
        assert select([f"{metric.on}.{metric.name}"]) == [metric]
        assert select([f"{metric.on}.{metric.path}"]) == [metric]


def test_columns_of_frames_are_the_words_of_metrics(results: tailback.Results) -> None:
    called = {metric.name for metric in metrics.METRICS}
    assert {"rtt_p99_ms", "srtt_mean_ms", "throughput_mbit"} <= {*results.frame().columns} & called
    columns = {*results.queues().columns}
    assert {"delay_p99_ms", "occupancy_mean_bytes", "utilisation"} <= columns & called


def test_students_t() -> None:
    # Two-sided 95 % quantiles of Student's t, from printed tables.
    for freedom, expected in ((1, 12.706), (2, 4.303), (3, 3.182), (9, 2.262), (30, 2.042)):
        assert round(t_quantile(freedom), 3) == expected
    found = metrics.estimate([1.0, 2.0, None, 3.0])
    assert (found.n, found.mean) == (3, 2.0)
    assert found.half_width == pytest.approx(4.30265 / math.sqrt(3), abs=1e-4)
    assert metrics.estimate([1.0]).ci95 is None
    assert metrics.estimate([2.0, 2.0, 2.0]).ci95 is None, "identical runs say nothing"
    assert metrics.estimate([None]).mean is None


def test_numbers() -> None:
    found = [short(x) for x in (None, "a", 5e6, 0.98765, 12345.6, 0.00012346, 3, 99.99)]
    assert found == ["–", "a", "5000000", "0.9877", "12346", "0.0001235", "3", "99.99"]
    assert with_spread(metrics.estimate([1.0, 2.0, 3.0])) == "2.0 ±2.5"
    assert with_spread(metrics.estimate([7.1251, 7.1252, 7.1253])) == "7.125"
    assert with_spread(metrics.estimate([7.25])) == "7.25"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        TEXT,
        st.recursive(
            st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | TEXT,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    )
)
def test_tables_written_as_toml_read_back_the_same(table: dict[str, object]) -> None:
    import tomllib

    assert tomllib.loads(toml.dumps(table)) == table


def test_a_scenario_is_loaded_for_an_engine(tmp_path: Path) -> None:
    text = SCENARIO.encode()
    sim = _native.load(text, "f")
    assert (sim.engine, sim.engine_version) == ("sim", tailback.engine_version())
    kernel = _native.load(text, "f", engine="kernel", engine_version="6.17")
    assert (kernel.engine, kernel.engine_version) == ("kernel", "6.17")
    assert kernel.points[0].canonical == sim.points[0].canonical
    assert kernel.points[0].run_id != sim.points[0].run_id
    assert kernel.id != sim.id
    # A scenario that was loaded for one engine cannot run on the other engine.
    with pytest.raises(ValueError, match="loaded for the kernel"):
        kernel.run(0, _native.Store(tmp_path), _native.Control())
    with pytest.raises(ValueError, match="no engine"):
        _native.load(text, "f", engine="simulator")  # type: ignore[arg-type]

    # The simulator rejects a feature that only the kernel has, and the error states the position of
    # the feature.
    own = b"""duration = "1s"
bottleneck.rate = "1Mbit"
[[flows]]
cc = { name = "own", kernel = true }
"""
    assert _native.load(own, "f", engine="kernel").points[0].canonical
    with pytest.raises(tailback.ScenarioError) as refused:
        _native.load(own, "f")
    assert list(map(str, refused.value.diagnostics)) == [
        "f:4:22: own exists in the kernel only; expected --engine kernel"
    ]


def test_a_scenario_keeps_its_source(tmp_path: Path) -> None:
    (tmp_path / "cell.trace").write_text("1\n2\n5\n")
    file = tmp_path / "f.toml"
    file.write_text(
        'duration = "1s"\nbottleneck.rate = { trace = "cell.trace" }\n[[flows]]\ncc = "reno"\n'
        '[sweep]\n"path.rtt" = ["20ms", "10ms"]\n"flows[0].ecn" = [true, false]\nseeds = 2\n'
    )
    loaded = tailback.check(file, set={"path.rtt": "30ms"}, seeds=3)
    assert (loaded.text, loaded.file) == (file.read_text(), str(file))
    assert (loaded.folder, loaded.files) == (tmp_path, ["cell.trace"])
    assert (loaded.overrides, loaded.seeds) == ([("path.rtt", '"30ms"')], 3)
    sweep = json.loads(loaded.sweep)
    assert list(sweep.items()) == [
        ("path.rtt", ["20ms", "10ms"]),
        ("flows[0].ecn", [True, False]),
        ("seeds", 2),
    ]
    again = recipe.of(loaded, "sim")
    assert again.files == (("cell.trace", b"1\n2\n5\n"),)
    assert _native.load(
        again.text, again.name, list(again.values), again.seeds, folder=tmp_path
    ).id == (loaded.id)


def test_a_diagnostic_has_its_parts() -> None:
    text = 'duration = "1s"\nbottleneck.rate = "1Mbit"\n[[flows]]\n  cc = "cubix"\n'
    with pytest.raises(tailback.ScenarioError) as refused:
        tailback.check(text)
    (found,) = refused.value.diagnostics
    assert (found.file, found.line, found.column, found.width) == ("<text>", 4, 8, 7)
    assert found.source == '  cc = "cubix"'
    assert found.option is None
    assert found.message == 'unknown congestion control "cubix"'
    assert found.nearest == "cubic"
    assert found.text.endswith('; did you mean "cubic"?')
    assert str(found) == f"<text>:4:8: {found.text}"
    assert str(found.at("here")) == f"here: {found.text}"
    assert found == found.at(found.place) != found.at("here")
    assert str(_native.Diagnostic("no", "")) == "no"
    copied = pickle.loads(pickle.dumps(refused.value))
    assert str(copied) == str(refused.value)


def test_every_key_has_a_path() -> None:
    keys = {(key["path"], key["entry"]): key for key in json.loads(_native.keys_json())}
    assert keys["bottleneck.queue.target", "codel"]["kind"] == "time"
    assert "cubic" in keys["flows.NAME.cc", None]["words"]
    assert keys["tcp.growth", None]["default"] == "segments"


def test_a_unit_is_said_once() -> None:
    titles = {metric.name: metric.title for metric in tailback.metrics.METRICS}
    assert titles["rtt_p99_ms"] == "rtt_p99_ms"
    assert titles["throughput_mbit"] == "throughput_mbit"
    assert titles["occupancy_mean_bytes"] == "occupancy_mean_bytes"
    assert titles["drops"] == "drops (packets)"
    assert titles["jain"] == "jain"


def test_an_unknown_keyword_of_a_run_names_the_nearest() -> None:
    with pytest.raises(tailback.InputError, match=r'keyword "engin" does not exist.*mean "engine"'):
        tailback.run(SCENARIO, engin="sim")  # type: ignore[call-arg]
