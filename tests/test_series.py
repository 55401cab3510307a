"""Tests that statistics of recorded series are weighted by time, so they do not depend on how the
series was sampled."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from conftest import ROOT
from tailback.errors import InputError
from tailback.metrics import series
from tailback.plot import PlotRequest
from tailback.plot.plan import PlotPanel
from tailback.plot.resolve import resolve

# After slow start, the window is large and changes little for a long time. Half of the changes
# therefore happen in the first moments of the run.
TEXT = """\
duration = "20s"
warmup   = "{warmup}"

[bottleneck]
rate  = "40Mbit"
queue = {{ aqm = "fifo", limit = "400p" }}

[path]
rtt = "60ms"

[[flows]]
name = "one"
cc   = "cubic"
stop = "18s"

[record]
series   = "{series}"
interval = "20ms"
"""
MODES = ("interval", "changes", "acks")


@pytest.fixture(scope="module", params=["0s", "1.5s"])
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tb.Results]:
    """Run a scenario with each kind of sampling."""
    out = tmp_path_factory.mktemp("out")
    return {
        mode: tb.run(TEXT.format(series=mode, warmup=request.param), out=out, jobs=1)
        for mode in MODES
    }


def by_hand(results: tb.Results) -> tuple[float, dict[float, float]]:
    """Return the mean of the window over the measured time, and the time that the window spends at
    each value."""
    summary = results[0].summary
    flow = summary["flows"][0]
    begin, end = flow["from_s"], flow["to_s"]
    rows = results.series(0, "cwnd").sort("time_ns")
    times = [*(rows["time_ns"] / 1e9), math.inf]
    held: dict[float, float] = {}
    for value, (first, last) in zip(rows["value"], pairwise(times), strict=True):
        length = min(last, end) - max(first, begin)
        if length > 0:
            held[value] = held.get(value, 0.0) + length
    return sum(v * t for v, t in held.items()) / sum(held.values()), held


def drawn(results: tb.Results, **asked: Any) -> list[dict[str, Any]]:
    results.require_whole()
    plan = resolve(results, PlotRequest(**asked))
    found: list[dict[str, Any]] = plan.kind.draw(plan).layers(PlotPanel(400, 300, 10)).data.values
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_window_is_weighted_by_time_everywhere(runs: dict[str, tb.Results], mode: str) -> None:
    results = runs[mode]
    mean, held = by_hand(results)
    total = sum(held.values())
    shares = np.cumsum([held[value] for value in sorted(held)]) / total
    median = sorted(held)[int(np.searchsorted(shares, 0.5))]
    row = results.series_statistics("cwnd").row(0, named=True)
    assert row["mean"] == pytest.approx(mean, rel=1e-6)
    assert row["p50"] == pytest.approx(median)
    assert (row["flow"], row["link"], row["seed"]) == ("one", None, results[0].seed)
    for kind in ("line", "bar"):
        (one,) = drawn(results, kind=kind, y="cwnd")
        assert one["y"] == pytest.approx(mean, rel=1e-5)
    (box,) = drawn(results, kind="box", y="cwnd")
    assert box["p50"] == pytest.approx(median, rel=1e-5)
    points = [(point["x"], point["y"]) for point in drawn(results, kind="cdf", y="cwnd")[1:]]
    for value, share in points[::10]:
        under = sum(t for v, t in held.items() if v <= value * (1 + 1e-6)) / total
        assert share == pytest.approx(under, abs=1e-4)
    assert points


def test_how_often_a_window_is_sampled_does_not_matter(runs: dict[str, tb.Results]) -> None:
    means = {mode: by_hand(results)[0] for mode, results in runs.items()}
    samples = {mode: results.series(0, "cwnd")["value"].mean() for mode, results in runs.items()}
    for mode in MODES:
        found = runs[mode].series_statistics("cwnd")["mean"].item()
        assert found == pytest.approx(means["interval"], rel=0.01)
    # The unweighted mean of the rows differs from the weighted mean, so this test detects missing
    # weights.
    assert abs(samples["changes"] / means["changes"] - 1) > 0.03  # type: ignore[operator]


def test_over_time_an_interval_has_the_mean_of_its_time(runs: dict[str, tb.Results]) -> None:
    for mode in ("changes", "acks"):
        rows = runs[mode].series(0, "cwnd").sort("time_ns")
        times, values = rows["time_ns"].to_numpy() / 1e9, rows["value"].to_numpy()
        plan = resolve(runs[mode], PlotRequest(kind="time", y="cwnd"))
        chart = plan.kind.draw(plan).layers(PlotPanel(400, 300, 10))
        points = max(
            (layer.data.values for layer in [*chart.layer, chart] if hasattr(layer.data, "values")),
            key=len,
        )
        xs = [point["x"] for point in points]
        width = xs[1] - xs[0]
        fine = np.linspace(0, 1, 4001)[:-1]
        for point in points[5:-5:7]:
            at = times[0] + width * (round((point["x"] - xs[0]) / width) + fine)
            own = values[np.searchsorted(times, at, side="right") - 1].mean()
            assert point["y"] == pytest.approx(own, rel=5e-3)


def test_means_of_a_step() -> None:
    """The series has the value 1 until 1 s, the value 5 until 4 s, and then the value 2."""
    times, values = np.array([0.0, 1.0, 4.0]), np.array([1.0, 5.0, 2.0])
    found = series.means_between(times, values, np.array([0.0, 2.0, 4.0, 6.0, 8.0, 10.0]), 7.0)
    assert found[:4].tolist() == [3.0, 5.0, 2.0, 2.0]
    assert np.isnan(found[4])
    # No time follows the last sample, so its weight is 0, but it is the only value in its interval.
    found = series.means_between(times, values, np.array([0.0, 2.0, 4.0, 6.0]), 4.0)
    assert found.tolist() == [3.0, 5.0, 2.0]


def test_events_and_statistics_of_intervals_count_once() -> None:
    frame = pl.DataFrame(
        {"time_ns": [0, 10, 11, 30], "value": [1.0, 2.0, 3.0, 4.0], "flow": ["a"] * 4}
    ).with_columns(from_ns=pl.lit(10), to_ns=pl.lit(20))
    each = series.weighted(frame, ["flow"], "each")
    assert each["value"].to_list() == [2.0, 3.0]
    assert each["weight_ns"].to_list() == [1, 1]
    state = series.weighted(frame, ["flow"], "state")
    assert dict(state.select("value", "weight_ns").iter_rows()) == {2.0: 1, 3.0: 9}
    growth = series.weighted(frame, ["flow"], "growth")
    assert dict(growth.select("value", "weight_ns").iter_rows()) == {3.0: 1, 4.0: 9}
    assert series.held("completion_ns") == series.held("drop.aqm") == "each"
    assert series.held("cwnd") == series.held("alpha") == "state"


def test_the_events_are_those_that_there_are() -> None:
    causes = (ROOT / "crates/record/src/cause.rs").read_text()
    named = re.findall(r'= "(\w+)", (Drop|Ce|Sce);', causes)
    events = {f"{'drop' if effect == 'Drop' else 'mark'}.{name}" for name, effect in named}
    assert events == {name for name in series.EVENTS if "." in name}
    assert events


def test_an_unknown_series_is_refused(runs: dict[str, tb.Results]) -> None:
    results = runs["interval"]
    for call in (results.series, results.series_statistics):
        with pytest.raises(InputError, match=r'series "cwn" does not exist.*did you mean "cwnd"'):
            call(quantity="cwn")
    with pytest.raises(InputError, match="did you mean"):
        results.series(0, ["cwnd", "backlog_byte"])
    # A series that could have been recorded, but was not, gives an empty frame.
    assert results.series(quantity="drop.loss").is_empty()
    assert results.series(quantity="acked_bytes").is_empty()
    assert results.series_statistics("acked_bytes").columns[-1] == "max"
