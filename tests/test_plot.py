"""Tests figures of `plot`: contents, labels and sizes."""

from __future__ import annotations

import json
import math
import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

import tailback
from conftest import SCENARIO, Tailback
from tailback.metrics import estimate
from tailback.plot import Figure, PlotRequest, figure, output, style, words
from tailback.plot.kinds import KINDS

GRID = (
    SCENARIO
    + """
[[traffic]]
kind = "web"

[sweep]
"bottleneck.queue.aqm" = ["codel", "pie"]
"bottleneck.rate" = ["4Mbit", "10Mbit"]
"path.rtt" = ["5ms", "0.02s", "80ms"]
seeds = 2
"""
)
MM = 96 / 25.4


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    """Sweep a grid of 24 runs."""
    return tailback.run(GRID, out=tmp_path_factory.mktemp("out"), jobs=1)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    """Make one run."""
    return tailback.run(SCENARIO, out=tmp_path_factory.mktemp("out"), jobs=1)


def drawn(results: tailback.Results, **asked: Any) -> Figure:
    where = asked.pop("where", {})
    return figure(results, PlotRequest(where={k: (v,) for k, v in where.items()}, **asked))


def rows(made: Figure) -> list[dict[str, Any]]:
    """Return the data of a figure."""
    spec = made.chart.to_dict()
    found: list[dict[str, Any]] = max(spec["datasets"].values(), key=len)
    return found


def texts(made: Figure) -> list[str]:
    """Return the texts of a figure."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", made.svg)


def test_the_default_of_a_sweep_is_its_metric_over_its_numbers(grid: tailback.Results) -> None:
    made = drawn(grid)
    assert made.plan.command() == (
        "--kind line --x path.rtt --y delay_ms.p99 --color bottleneck.queue.aqm "
        "--facet bottleneck.rate"
    )
    said = texts(made)
    assert {"queue delay, 99th percentile (ms)", "path RTT (ms)"} <= set(said)
    assert {"bottleneck rate 4 Mbit/s", "bottleneck rate 10 Mbit/s"} <= set(said)
    assert {"codel", "pie", "queue"} <= set(said)
    # An axis has one unit, so it shows 0.02s as 20 ms.
    assert {"5", "20", "80"} <= set(said)


def test_a_line_is_the_mean_over_seeds_with_its_interval(grid: tailback.Results) -> None:
    found = {(r["column"], r["series"], r["x"]): r for r in rows(drawn(grid))}
    assert len(found) == 2 * 2 * 3
    frame = grid.queues().filter(
        pl.col("bottleneck.rate") == 4e6,
        pl.col("bottleneck.queue.aqm") == "pie",
        pl.col("path.rtt") == timedelta(milliseconds=80),
    )
    wanted = estimate(frame["delay_p99_ms"])
    row = found["4 Mbit/s", "pie", 80]
    assert row["n"] == 2
    assert math.isclose(row["y"], wanted.mean or 0, rel_tol=1e-5)
    assert wanted.ci95 is not None
    assert math.isclose(row["high"], wanted.ci95[1], rel_tol=1e-5)
    assert math.isclose(row["low"], max(0.0, wanted.ci95[0]), rel_tol=1e-5, abs_tol=1e-9)


def test_flows_are_told_apart_and_pooled_within_their_runs(tmp_path: Path) -> None:
    text = SCENARIO.replace('cc = "cubic"', 'cc = "cubic"\ncount = 3')
    results = tailback.run(text, seeds=2, out=tmp_path, jobs=1)
    found = {r["x"]: r for r in rows(drawn(results, kind="bar", y="throughput_mbit"))}
    assert list(found) == ["cubic", "dctcp"]
    frame = results.frame().filter(pl.col("cc") == "cubic")
    by_run = frame.group_by("run_id").agg(pl.col("throughput_mbit").mean())
    assert found["cubic"]["n"] == 2, "runs are what an interval is of, not flows"
    mean = by_run["throughput_mbit"].mean()
    assert isinstance(mean, float)
    assert math.isclose(found["cubic"]["y"], mean, rel_tol=1e-5)
    boxes = rows(drawn(results, kind="box", y="throughput_mbit", x="flow"))
    assert [r["n"] for r in boxes if "n" in r] == [6, 2]


def test_a_distribution_is_that_of_every_packet(grid: tailback.Results) -> None:
    where = {"rate": "4Mbit", "rtt": "5ms"}
    found = [r for r in rows(drawn(grid, kind="cdf", where=where)) if r["series"] == "codel"]
    shares = [r["y"] for r in found]
    assert (shares[0], shares[-1]) == (0, 1)
    assert shares == sorted(shares)
    buckets = grid.histogram().filter(
        pl.col("bottleneck.queue.aqm") == "codel",
        pl.col("bottleneck.rate") == 4e6,
        pl.col("path.rtt") == timedelta(milliseconds=5),
    )
    middle = found[len(found) // 2]
    below = buckets.filter((pl.col("lower") + pl.col("width")) / 1e6 <= middle["x"] * (1 + 1e-5))
    share = int(below["count"].sum()) / int(buckets["count"].sum())
    assert math.isclose(middle["y"], share, rel_tol=1e-5)
    assert middle["low"] <= middle["y"] <= middle["high"]
    above = [r for r in rows(drawn(grid, kind="ccdf", where=where)) if r["series"] == "codel"]
    assert above[0]["y"] == 1
    assert all(r["y"] > 0 for r in above)


def test_boxes_of_packets_have_the_percentiles_of_the_summary(single: tailback.Results) -> None:
    [box] = rows(drawn(single, kind="box", y="delay_ms"))
    delay = single[0].summary["queue"]["delay_ms"]
    for name, rank in (("low", "p1"), ("p25", "p25"), ("p50", "p50"), ("high", "p99")):
        assert math.isclose(box[name], delay[rank], rel_tol=2e-3)


def test_throughput_over_time_adds_up_to_what_was_delivered(single: tailback.Results) -> None:
    found = rows(drawn(single, kind="time", y="throughput"))
    series = single.series(0, "delivered_bytes", flow="cubic")
    grown = (series["value"][-1] - series["value"][0]) * 8 / 1e6
    own = [r["y"] for r in found if r["series"] == "cubic"]
    length = (series["time_ns"][-1] - series["time_ns"][0]) / 1e9
    assert math.isclose(sum(own) / len(own) * length, grown, rel_tol=1e-4)
    assert {"payload throughput (Mbit/s)", "time (s)"} <= set(
        texts(drawn(single, kind="time", y="throughput"))
    )


def test_series_are_pooled_over_seeds(grid: tailback.Results) -> None:
    where = {"rate": "4Mbit", "rtt": "80ms", "aqm": "pie", "flow": "cubic"}
    found = rows(drawn(grid, y="backlog", where={**where, "link": "bottleneck"}))
    assert any(r["low"] is not None for r in found)
    assert all(0 <= r["low"] <= r["y"] <= r["high"] for r in found if r["low"] is not None)
    made = drawn(grid, y="srtt", where=where)
    assert made.plan.kind.name == "time"
    assert "smoothed RTT (ms)" in texts(made)


def test_a_map_has_a_cell_for_each_pair(grid: tailback.Results) -> None:
    made = drawn(grid, kind="heat", x="rtt", y="rate", color="utilisation", facet=("aqm",))
    found = rows(made)
    assert {(r["x"], r["down"]) for r in found} == {
        (x, y) for x in ("5", "20", "80") for y in ("4", "10")
    }
    assert "bottleneck rate (Mbit/s)" in " ".join(texts(made))


def test_a_point_of_a_scatter_is_a_setting(grid: tailback.Results) -> None:
    made = drawn(grid, kind="scatter", x="delay_ms.mean", y="utilisation", color="aqm")
    assert len(rows(made)) == 2 * 2 * 3
    assert {"mean queue delay (ms)", "utilisation"} <= set(texts(made))


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_draws_a_single_run_and_a_sweep(
    kind: str, single: tailback.Results, grid: tailback.Results
) -> None:
    for results, where in ((single, {}), (grid, {"aqm": "pie"})):
        made = drawn(results, kind=kind, where=where)
        assert rows(made)
        assert "NaN" not in made.svg
        assert "undefined" not in made.svg
        assert not [said for said in texts(made) if said in ("null", "None")]


@pytest.mark.parametrize("facets", [(), ("rate",), ("rate", "rtt")])
@pytest.mark.parametrize("width", ["85mm", "178mm"])
def test_a_figure_is_as_wide_as_it_was_asked_to_be(
    grid: tailback.Results, facets: tuple[str, ...], width: str, tmp_path: Path
) -> None:
    where = {"rate": "4Mbit"} if not facets else {}
    where |= {"rtt": "5ms"} if len(facets) < 2 else {}
    asked = PlotRequest(
        kind="cdf", color="aqm", facet=facets, where={k: (v,) for k, v in where.items()}
    )
    made = figure(grid, asked, width=width)
    pixels = float(width.removesuffix("mm")) * MM
    size = re.search(r'width="([\d.]+)"', made.svg)
    assert size is not None
    assert math.isclose(float(size[1]), pixels, rel_tol=1e-4)
    made.save(tmp_path / "figure.pdf")
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", (tmp_path / "figure.pdf").read_bytes())
    assert box is not None
    assert math.isclose(float(box[1]), pixels * 0.75, rel_tol=1e-4), "points"
    # The font size is 7 or 8 points in figures of any width.
    sizes = {float(found) for found in re.findall(r'font-size="([\d.]+)px"', made.svg)}
    assert all(any(abs(size - points * 96 / 72) < 0.01 for points in (7, 8)) for size in sizes)
    chart = alt.Chart.from_dict(made.chart.to_dict())
    assert chart is not None, "what is returned is a chart like any other"


def test_the_same_input_gives_the_same_bytes(grid: tailback.Results, tmp_path: Path) -> None:
    for ending in output.WRITERS:
        paths = [tmp_path / f"{number}{ending}" for number in (1, 2)]
        for path in paths:
            drawn(grid, kind="box", where={"rtt": "5ms"}).save(path, "title")
        assert paths[0].read_bytes() == paths[1].read_bytes(), ending


def test_a_page_needs_no_network_and_holds_no_markup_of_others(
    single: tailback.Results, tmp_path: Path
) -> None:
    page = drawn(single).save(tmp_path / "figure.html", "<b>title</b>").read_text()
    assert "&lt;b&gt;title" in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="https?:', page)


def test_a_chart_of_results_is_changed_like_any_other(grid: tailback.Results) -> None:
    chart = grid.plot(y="utilisation", where={"bottleneck.rate": ["4Mbit"], "path.rtt": "5ms"})
    assert isinstance(chart, alt.LayerChart)
    changed = chart.properties(title="mine").to_dict()
    assert changed["title"] == "mine"
    assert grid.plot(x="rtt", y="jain", facet="rate", kind="line").to_dict()["facet"]


def test_what_differs_is_never_pooled_unasked(grid: tailback.Results) -> None:
    with pytest.raises(
        tailback.InputError, match=r'path RTT differs too .* where={"path.rtt": "5ms"}'
    ):
        grid.plot(kind="cdf", color="aqm", facet="rate")


def test_everything_that_is_wrong_is_said_at_once(grid: tailback.Results) -> None:
    with pytest.raises(tailback.InputError) as wrong:
        grid.plot(
            x="pth.rtt",
            y="delay_ms.p98",
            color="bottleneck.queue.amq",
            kind="boxx",
            where={"rtt": "5 msec"},
            width="85",
            y_scale="lg",  # type: ignore[arg-type]
        )
    said = str(wrong.value)
    for near in ("path.rtt", "delay_ms.p99", "bottleneck.queue.aqm", "box", "5 ms", "log"):
        assert f'did you mean "{near}"?' in said, near
    assert 'width: "85" is not a length; expected a number with mm' in said


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"y": "completion_s"}, 'nothing has a value of "completion_s"'),
        ({"y": "throughput_mbit", "where": {"flow": "renoo"}}, "where flow is renoo"),
        ({"kind": "time", "y": "delay_ms.p99"}, "is not recorded over time; expected one of "),
        ({"kind": "cdf", "x": "rtt"}, "--x: cdf has the values of --y there; expected none"),
        ({"kind": "line", "x": "jain"}, '"jain" is not a key; --kind scatter draws over a metric'),
        ({"y": "path.rtt"}, '"path.rtt" is a key; expected a metric or a series'),
        ({"facet": ("rate", "rtt", "aqm")}, "at most 2"),
        (
            {"x": "rtt", "y": "delay_ms.p99", "kind": "line", "color": "flow"},
            '"flow" does not distinguish link or aqm',
        ),
        (
            {"x": "rtt", "y": "marks", "kind": "line", "color": "flow"},
            "does not distinguish link or aqm; write flow.marks for the value of each flow",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(
    grid: tailback.Results, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(tailback.InputError, match=re.escape(message)):
        drawn(grid, **asked)


def test_the_command(tailback: Tailback, sweep: Path, tmp_path: Path) -> None:
    assert tailback("run", sweep).returncode == 0
    done = tailback("plot", "--out", "figure.svg")
    assert done.returncode == 0
    assert done.stdout == "figure.svg\n"
    assert done.stderr.startswith("drawn: --kind line --x bottleneck.rate --y delay_ms.p99")
    assert "same title" not in done.stderr
    again = tailback("plot", "results", "--where", "flows.cubic.cc=reno", "--width", "85mm")
    assert again.returncode == 0
    made = tmp_path / again.stdout.strip()
    assert made.suffix == ".pdf"
    assert made.read_bytes().startswith(b"%PDF")
    for words_, message in (
        (("--width", "85 pixels"), "--width"),
        (("--out", "figure.jpg"), ".pdf, .svg, .png, .html or .vl.json"),
        (("--kind", "pie"), "use one of line, box, cdf, ccdf, time, scatter, heat, bar"),
        (("--where", "rtt"), "use KEY=VALUE"),
        (("--font-size", "400"), "use 4 to 40 points"),
    ):
        bad = tailback("plot", *words_)
        assert (bad.returncode, bad.stdout) == (2, "")
        assert message in bad.stderr


def test_the_command_draws_a_run(tailback: Tailback, scenario: Path, tmp_path: Path) -> None:
    point = json.loads(tailback("run", scenario, "--json").stdout)["points"][0]
    done = tailback("plot", f"results/runs/{point['run_id']}", "--out", "run.png")
    assert done.returncode == 0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("10Mbit", "10 Mbit/s"),
        ("50Mbps", "400 Mbit/s"),
        ("0.125bdp", "0.125 BDP"),
        ("1000p", "1000 packets"),
        ("64kb", "64 KiB"),
        ("500us", "500 us"),
        ("codel", "codel"),
        ('{ aqm = "codel", target = "5ms" }', "codel, target 5 ms"),
        ('{ name = "cubic", fast_convergence = false }', "cubic, fast convergence off"),
        ("0.5", "0.5"),
    ],
)
def test_values_in_the_words_of_the_scenario(label: str, said: str) -> None:
    assert words.value(label) == said


def test_values_of_one_axis_have_one_unit() -> None:
    assert words.numbers(["500us", "0.02s"]) == ([0.5, 20.0], "ms")
    assert words.numbers(["4Mbit", "1Gbit"]) == ([4.0, 1000.0], "Mbit/s")
    # Sizes in any unit are converted to bytes.
    assert words.numbers(["1500b", "64kb", "1mb"]) == ([1500.0, 65536.0, 1048576.0], "bytes")
    assert words.numbers(["10kb", "100kb"]) == ([10240.0, 102400.0], "bytes")
    assert words.numbers(["20p", "20000b"]) is None
    assert words.numbers(["0.5bdp", "1bdp"]) == ([0.5, 1.0], "BDP")
    assert words.numbers(["0.5bdp", "100p"]) is None
    assert words.numbers(["codel", "5ms"]) is None


def test_colours_differ_in_grey() -> None:
    def light(colour: str) -> float:
        """Return the CIE lightness of a colour."""
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        return float(116 * luminance ** (1 / 3) - 16)

    found = [light(colour) for colour in style.COLOURS[:6]]
    assert found == sorted(found)
    assert all(b - a >= 5 for a, b in pairwise(found))
    # With more curves than colours, dashes and shapes distinguish them.
    assert len({tuple(dash) for dash in style.DASHES}) == len(style.DASHES) == len(style.COLOURS)
    ordered = [light(colour) for colour in style.colours(9, ordered=True)]
    assert ordered == sorted(ordered)


def test_frames_over_a_sweep(grid: tailback.Results, single: tailback.Results) -> None:
    whole = grid.series(quantity="cwnd", flow="cubic")
    assert whole["run_id"].n_unique() == 24
    one = grid[3]
    own = whole.filter(pl.col("run_id") == one.run_id)
    assert own.select("time_ns", "value").equals(
        one.series()
        .filter(pl.col("quantity") == "cwnd", pl.col("flow") == "cubic")
        .select("time_ns", "value")
    )
    assert own["bottleneck.rate"].unique().to_list() == [one.params["bottleneck.rate"]]
    buckets = grid.histogram()
    counts = buckets.group_by("run_id").agg(pl.col("count").sum())
    packets = grid.queues().select("run_id", "packets")
    assert counts.join(packets, on="run_id").filter(pl.col("count") != pl.col("packets")).is_empty()
    sources = grid.sources()
    assert sources["source"].to_list() == ["web"] * 24
    assert sources["requests"].sum() > 0
    bins = grid.completions()
    assert bins["n"].sum() == sources["requests_completed"].sum()
    for empty in (single.sources(), single.classes(), single.completions(), grid.classes()):
        assert empty.is_empty()
        assert pl.Null not in empty.dtypes
        assert {"seed": pl.Int64, "run_id": pl.String}.items() <= dict(empty.schema).items()
    assert dict(single.sources().schema)["throughput_mbit"] == pl.Float64
    assert dict(single.classes().schema)["delay_p99_ms"] == pl.Float64
    assert single.frame()["completion_s"].dtype == pl.Float64, "null throughout, and typed"


def test_a_missing_run_is_said_by_its_name(tmp_path: Path) -> None:
    results = tailback.run(GRID, out=tmp_path, jobs=1)
    table = results[5].path / "histograms.parquet"
    table.write_bytes(b"nothing")
    with pytest.raises(tailback.InputError, match=results[5].run_id):
        results.plot(kind="cdf")
