"""Tests the report of a sweep: figures over the swept parameters, and every number in
`cells.csv`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback import examples
from tailback.figures import export, faceted
from tailback.metrics import find, pooling
from tailback.report import Report, ReportFigure, Table, sweep, to_html
from tailback.report.sweep import axes, cells

SCENARIO = """\
title = "Swept"
duration = "4s"
warmup = "1s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fifo", limit = "1bdp" }
[path]
rtt = "40ms"
[[flows]]
name = "flow"
cc = "reno"
class = "bulk"
[[traffic]]
kind = "web"
arrival = "50ms"
[sweep]
"flows.flow.cc" = ["reno", "cubic"]
"bottleneck.queue.limit" = ["0.125bdp", "0.25bdp", "1bdp"]
seeds = 2
[[sweep.zip]]
"bottleneck.rate" = ["10Mbit", "40Mbit"]
"path.rtt" = ["40ms", "10ms"]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tb.Results:
    return tb.run(SCENARIO, out=tmp_path_factory.mktemp("swept"), jobs=1)


@pytest.fixture(scope="module")
def made(swept: tb.Results) -> Report:
    return sweep.of(swept)


def figure(made: Report, name: str) -> ReportFigure:
    return next(figure for figure in made.figures() if figure.id == name)


def values(chart: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.to_dict()["data"]["values"]
    return found


def test_the_axes_are_the_keys_in_the_words_of_the_scenario(swept: tb.Results) -> None:
    cc, limit, rate = axes.axes_of(swept)
    assert (cc.levels, cc.numbers) == (("reno", "cubic"), None)
    assert (limit.numbers, limit.title) == ((0.125, 0.25, 1.0), "queue limit (BDP)")
    assert rate.levels == ("10 Mbit/s, 40 ms", "40 Mbit/s, 10 ms")
    assert axes.roles([cc, limit, rate]) == axes.Roles(limit, cc, (rate,))


def test_utilisation_stands_first_against_the_key_of_numbers(
    swept: tb.Results, made: Report
) -> None:
    opening = made.opening()
    assert opening is not None
    assert opening.id == "link-utilisation"
    rows = values(opening.chart)
    assert len(rows) == 2 * 3 * 2
    own = [
        run.summary["queue"]["utilisation"]
        for run in swept
        if run.labels["flows.flow.cc"] == "cubic"
        and run.labels["bottleneck.queue.limit"] == "0.25bdp"
        and run.labels["path.rtt"] == "10ms"
    ]
    [row] = [
        row
        for row in rows
        if (row["panel"], row["series"], row["x"]) == ("40 Mbit/s, 10 ms", "cubic", 0.25)
    ]
    assert row["y"] == pytest.approx(sum(own) / 2, rel=1e-5)
    spec = export.spec(opening.chart)
    assert spec["facet"]["title"] == "bottleneck rate, path RTT"


def test_distributions_are_of_all_points(made: Report) -> None:
    chart = figure(made, "delay").chart
    rows = values(chart)
    assert len({(row["panel"], row["series"]) for row in rows}) == 12
    for panel, series in {(row["panel"], row["series"]) for row in rows}:
        own = [row for row in rows if (row["panel"], row["series"]) == (panel, series)]
        assert own[-1]["y"] == 1.0
        assert [row["x"] for row in own] == sorted(row["x"] for row in own)
    assert figure(made, "class-delay").title == "Queue delay by class"
    assert values(figure(made, "requests").chart)


def test_the_file_of_cells_has_every_number(swept: tb.Results, made: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(made.files["cells.csv"])))
    assert {row["of"] for row in rows} == {"flow", "source", "class", "link", "run"}
    found = [
        row
        for row in rows
        if (row["of"], row["metric"]) == ("flow", "throughput_mbit")
        and row["flows.flow.cc"] == "reno"
        and row["bottleneck.queue.limit"] == "1bdp"
        and row["bottleneck.rate"] == "10Mbit"
    ]
    assert len(found) == 1
    own = [
        run.summary["flows"][0]["throughput_mbit"]
        for run in swept
        if list(run.labels.values()) == ["reno", "1bdp", "10Mbit", "40ms"]
    ]
    assert float(found[0]["mean"]) == pytest.approx(sum(own) / 2, rel=1e-12)
    assert (found[0]["n"], found[0]["unit"]) == ("2", "Mbit/s")


def test_a_table_says_once_what_is_the_same_in_every_row(made: Report) -> None:
    [links] = [
        block
        for section in made.sections
        for block in section.blocks
        if isinstance(block, Table) and block.id == "links"
    ]
    heads = [column.title for column in links.columns]
    assert heads[:4] == ["flows.flow.cc", "bottleneck.queue.limit", "bottleneck.rate", "path.rtt"]
    assert "link" not in heads
    assert "In every row: link bottleneck, aqm fifo." in links.caption
    assert len(links.rows) == 12


def test_names_stand_beside_each_other(tmp_path: Path) -> None:
    text = examples.text("cellular")
    results = tb.run(text, set={"duration": "8s"}, seeds=2, out=tmp_path, jobs=1)
    made = sweep.of(results)
    opening = made.opening()
    assert opening is not None
    assert opening.id == "names"
    parts = opening.chart.to_dict()["concat"]
    assert len(parts) >= 3
    assert {row["name"] for row in parts[0]["data"]["values"]} == {"fifo", "codel", "fq_codel"}
    assert [f.id for f in made.figures()][-3:] == ["time-1", "time-2", "time-3"]
    assert "codel" in to_html(made)


def test_one_run_is_drawn_over_time(tmp_path: Path) -> None:
    made = sweep.of(tb.run(examples.text("first"), set={"duration": "8s"}, out=tmp_path))
    assert [figure.id for figure in made.figures()] == ["time", "delay"]


def test_an_interval_longer_than_the_values_is_cut() -> None:
    rows = [{"y": 1.0, "low": -9.0, "high": 11.0}, {"y": 2.0, "low": 1.9, "high": 2.1}]
    low, high = faceted.around(rows, zero=False)
    assert 0.3 < low < 0.4
    assert 2.6 < high < 2.7
    assert faceted.around([{"y": 0.5}, {"y": 0.9, "high": 1.4}], zero=False, most=1.0)[1] < 1.05


def test_a_logarithmic_axis_ends_at_the_values() -> None:
    axis = faceted.log_axis("t", [0.8, 30.0])
    assert axis.domain is not None
    assert list(axis.domain) == pytest.approx([0.8 / 1.2, 36.0])
    assert list(axis.ticks) == [1.0, 2.0, 5.0, 10.0, 20.0]


def test_many_flows_of_a_kind_leave_room_for_the_queue(tmp_path: Path) -> None:
    scenario = {
        "duration": "1s",
        "bottleneck": {"rate": "10Mbit", "queue": "pie"},
        "path": {"rtt": "10ms"},
        "flows": [{"cc": "reno", "count": 14}],
        "sweep": {"bottleneck.queue.target": ["5ms", "15ms", "40ms"]},
    }
    page = tb.run(scenario, out=tmp_path, progress=False).report()
    text = (page.parent / "report.md").read_text(encoding="utf-8")
    for flow in ("reno/1", "reno/2"):
        assert text.count(f"**flow {flow} (reno): ") == 2
    assert "**flow reno/3" not in text
    # The first and the last sweep point are explained.
    assert text.count("**link bottleneck (pie): ") == 2
    figures = {path.name for path in page.parent.glob("figures/time*.svg")}
    assert figures == {"time-1.svg", "time-2.svg", "time-3.svg"}
    assert "The middle point" in text


@pytest.mark.parametrize(
    "seeds",
    [
        [{"completion_s": 1.0}, {"completion_s": 3.0}],
        [{"completion_s": 1.0}, {"completion_s": None}],
        [{"completion_s": 1.0}, {"completion_s": None, "unfinished_s": 2.0}],
        [{"completion_s": None, "unfinished_s": 2.0}, {"completion_s": None}],
    ],
)
def test_values_that_are_read_once_are_pooled_alike(seeds: list[dict[str, Any]]) -> None:
    for metric in (find("completion_s", "flow"), find("throughput_mbit", "flow")):
        pooled = pooling.over_runs(metric, [pooling.read(metric, part) for part in seeds])
        known = pooled.n > 0 or pooled.at_least is not None
        assert cells._read_over_seeds(metric, seeds) == (pooled if known else None)


def test_vega_chooses_the_ticks_of_an_axis_with_many_values() -> None:
    few = [float(n) for n in range(faceted.MOST_TICKS)]
    assert faceted.FacetAxis("RTT", few).spec()["axis"]["values"] == few
    assert "values" not in faceted.FacetAxis("RTT", [*few, 50.0]).spec()["axis"]
