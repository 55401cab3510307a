"""Tests the files of a report with made-up contents."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

import tailback as tb
from tailback.errors import ScenarioWarning
from tailback.figures import cumulative, export, thin
from tailback.figures.interactive import interactive
from tailback.figures.theme import CATEGORIES, DARK, ORDERED, theme
from tailback.report import (
    Column,
    Facts,
    Mark,
    Report,
    ReportFigure,
    Section,
    Table,
    TableCell,
    Text,
    Value,
    pdf,
    summarise,
    sweep,
    to_csv,
    to_html,
    to_markdown,
    write,
)
from tailback.report.tables import labels, left, right


def chart(rows: int = 3) -> Any:
    frame = pl.DataFrame({"x": list(range(rows)), "y": [v * v for v in range(rows)]})
    return alt.Chart(frame).mark_line().encode(x="x:Q", y="y:Q")


def report(*blocks: Text | ReportFigure | Table, cells: tuple[TableCell, ...] = ()) -> Report:
    section = Section("one", "Section one", blocks or [Text("nothing")])
    return Report("name", "Title <1>", "Lead", [("engine", "sim 0")], [section], cells)


CELLS = (
    TableCell("T/row 1/a", "a", "1", 2.0, 2.1, 3, 0.05, tolerance=0.1),
    TableCell("T/row 2/a", "a", "1", 4.0, 4.8, 3, 0.05, tolerance=0.1),
    TableCell("T/row 3/a", "a", "1", 1.0, None, 0, None, tolerance=0.1),
    TableCell("T/row 1/b", "b", "BDP", None, 0.5, 1, None),
)


def test_a_page_needs_nothing_from_the_network() -> None:
    page = to_html(report(ReportFigure("f", "Figure", chart(), "caption")))
    # Remove the contents of scripts, because this test checks only elements that can load a file.
    elements = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert elements.count("<script") == 3
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)\s*=", elements) == []
    assert "@import" not in page
    assert "window.vegaEmbed" in page
    # The library, the figures and the drawing code are in three scripts. No text in a script ends
    # the script early.
    assert page.count("</script") == 3


def test_a_page_without_figures_carries_no_javascript() -> None:
    assert "<script" not in to_html(report())


def test_the_figures_of_a_page_can_be_read_back() -> None:
    figure = ReportFigure("f", "Figure", chart().properties(title="</script><b>"), "caption")
    page = to_html(report(figure))
    found = re.search(r'<script id="figures"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    specs = json.loads(found.group(1))
    assert specs["f"]["title"] == "</script><b>"
    assert specs["f"]["config"]["title"]["anchor"] == "start", "the house style"


def test_text_is_escaped_and_marked_up() -> None:
    page = to_html(report(Text("a < b, `x<y`, **bold**\n\n[link](https://example.org)")))
    assert "<p>a &lt; b, <code>x&lt;y</code>, <strong>bold</strong></p>" in page
    assert '<a href="https://example.org">link</a>' in page
    assert "Title &lt;1&gt;" in page


def test_a_figure_states_what_it_rests_on() -> None:
    facts = Facts(12, 3, "60 s simulated", "5 s", "sim 0.1", ("w = 1",), ("no VM",))
    page = to_markdown(report(ReportFigure("f", "Figure", chart(), "caption", facts)))
    for said in ("12, 3 seeds", "60 s", "the first 5 s", "sim 0.1", "w = 1", "no VM"):
        assert said in page
    assert "![Figure](figures/f.svg)" in page


def test_what_everything_rests_on_is_said_once() -> None:
    blocks = [
        ReportFigure("a", "A", chart(), "", Facts(12, 3, "60 s simulated", "5 s", "sim 0.1")),
        ReportFigure("b", "B", chart(), "", Facts(12, 3, "60 s simulated", "", "sim 0.1")),
        ReportFigure(
            "c", "C", chart(), "", Facts(12, 3, "90 s simulated", "", "sim 0.1", ("w = 1",))
        ),
    ]
    made = report(*blocks, Text("words rest on nothing"))
    assert made.common() == {
        "runs": "12, 3 seeds per scenario",
        "duration": "60 s simulated",
        "engine": "sim 0.1",
    }
    # The top of a report states what applies to most tables. A table for which a fact at the top is
    # not true states its own value.
    head = dict(made.head())
    assert head["engine"] == "sim 0.1"
    assert head["duration"] == "60 s simulated (unless stated below)"
    assert "not counted" not in head
    for page in (to_html(made), to_markdown(made)):
        assert page.count("12, 3 seeds per scenario") == 1
        assert page.count("90 s simulated") == 1
        assert page.count("w = 1") == 1


def test_a_page_begins_with_a_figure() -> None:
    blocks = (Text("one"), ReportFigure("a", "A", chart(), ""), ReportFigure("b", "B", chart(), ""))
    page = to_html(report(*blocks))
    places = [page.index(f'<figure id="{name}"') for name in "ab"]
    assert places[0] < page.index("<p>one</p>") < places[1]
    chosen = Report("name", "Title", "", [], [Section("s", "S", blocks)], first="b")
    page = to_html(chosen)
    assert page.index('<figure id="b"') < page.index("<p>one</p>") < page.index('<figure id="a"')
    assert page.count("<figure ") == 2


def test_the_first_columns_are_those_that_say_what_a_row_is_of() -> None:
    assert labels(Table("t", "", [*left("a", "b"), *right("c"), *left("d")], [])) == 2
    assert labels(Table("t", "", right("a", "b"), [])) == 1
    assert labels(Table("t", "", left("a", "b"), [])) == 1
    page = to_html(report(Table("t", "", [*left("a", "b"), *right("c")], [["x", "y", 1.0]])))
    assert '<table data-labels="2">' in page


def test_a_table_on_paper_is_never_smaller_than_it_can_be_read() -> None:
    columns = [*left("metric"), *(Column(f"variant number {i}") for i in range(20))]
    rows: list[list[Value]] = [[f"quantity {j}", *["1234.5 ±67.8"] * 20] for j in range(3)]
    parts = pdf.table_parts(Table("t", "Wide", columns, rows, "caption"), {})
    assert len(parts) > 1
    assert all(part["size"] >= 7.0 for part in parts)
    heads = [[head["text"].replace("\n", " ") for head in part["heads"]] for part in parts]
    assert all(head[0] == "metric" for head in heads), "each part says what its rows are of"
    assert [name for head in heads for name in head[1:]] == [column.title for column in columns[1:]]
    # The caption of a divided table is under its last part. Columns are divided evenly between the
    # parts.
    assert [bool(part["caption"]) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert max(map(len, heads)) - min(map(len, heads)) <= 2
    [whole] = pdf.table_parts(Table("t", "Narrow", columns[:4], [row[:4] for row in rows]), {})
    assert whole["size"] == 8.0


def test_curves_on_a_page_zoom_say_their_values_and_have_legends_that_pick() -> None:
    frame = pl.DataFrame({"x": [0, 1, 0, 1], "y": [1, 2, 3, 4], "flow": ["a", "a", "b", "b"]})
    lines = alt.Chart(frame).mark_line().encode(x="x:Q", y="y:Q", color="flow:N")
    named = alt.Chart(frame).mark_bar().encode(x="flow:N", y="y:Q", color="flow:N")
    made = export.spec(alt.vconcat(lines, lines, named).resolve_scale(x="shared"))
    before = json.dumps(made)
    spec = interactive(made)
    assert json.dumps(made) == before, "figures in files have no interaction"
    first, second, bars = spec["vconcat"]
    assert [tip["field"] for tip in first["encoding"]["tooltip"]] == ["flow", "x", "y"]
    zooms = [p for p in first["params"] if p["bind"] == "scales"]
    assert zooms == second["params"], "panels of one axis move together"
    assert zooms[0]["select"]["encodings"] == ["x"]
    [pick] = [p for p in first["params"] if p["bind"] == "legend"]
    assert pick["select"]["fields"] == ["flow"]
    for part in (first, second, bars):
        assert part["encoding"]["opacity"]["condition"]["param"] == pick["name"]
    assert "params" not in bars, "names do not zoom"
    assert export.svg(spec).startswith("<svg")


def test_every_colour_of_the_style_has_one_for_the_dark() -> None:
    used = {*CATEGORIES, *ORDERED, *re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(theme()))}
    assert used <= set(DARK)
    page = to_html(report(ReportFigure("f", "F", chart(), "")))
    for light, dark in DARK.items():
        assert f'.chart svg [fill="{light}"] {{ fill: {dark}; }}' in page


def test_a_table_shows_verdicts_and_what_is_missing() -> None:
    columns = [Column("name", align="left"), Column("value", ".2f", unit="BDP"), Column("error")]
    rows: list[list[Value]] = [["a|b", 1.234, Mark("+0.1", "miss")], ["c", None, None]]
    table = Table("t", "Table", columns, rows)
    text = to_markdown(report(table))
    assert "| name | value (BDP) | error |" in text
    assert "| --- | ---: | ---: |" in text
    assert "| a\\|b | 1.23 | +0.1 |" in text
    assert "| c | — | — |" in text
    assert '<span class="status miss">+0.1</span>' in to_html(report(table))


def test_cells_as_csv_keep_every_digit() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(CELLS))))
    assert [row["status"] for row in rows] == ["pass", "miss", "miss", "info"]
    assert float(rows[1]["error"]) == 4.8 - 4.0
    assert (rows[2]["measured"], rows[2]["error"], rows[3]["published"]) == ("", "", "")


def test_an_error_equal_to_the_tolerance_agrees() -> None:
    assert TableCell("x", "x", "1", 2.0, 2.1, 1, None, tolerance=0.1).status == "pass"
    assert TableCell("x", "x", "1", 2.0, 2.1001, 1, None, tolerance=0.1).status == "miss"


def test_summary_counts_cells_with_both_numbers() -> None:
    (only,) = summarise(CELLS)
    assert only["quantity"] == "a"
    assert only["cells"] == 2
    assert only["median_rel_error"] == pytest.approx((0.05 + 0.2) / 2)
    assert only["median_abs_error"] == pytest.approx((0.1 + 0.8) / 2)
    assert only["p90_abs_error"] == pytest.approx(0.8)


def test_nearest_rank_of_ten_values() -> None:
    cells = [TableCell(f"{i}", "q", "1", 10.0, 10.0 + i, 1, None) for i in range(1, 11)]
    (only,) = summarise(cells)
    assert only["p90_abs_error"] == 9.0


def test_writing_replaces_all_of_an_older_report(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "name"
    write(report(ReportFigure("old", "Old", chart(), ""), cells=CELLS), folder)
    index = write(report(ReportFigure("new", "New", chart(), ""), cells=CELLS), folder)
    assert index == folder / "index.html"
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert files == [
        ".tailback-report.json",
        "cells.csv",
        "figures/new.svg",
        "figures/new.vl.json",
        "index.html",
        "report.md",
    ]
    assert [p.name for p in folder.parent.iterdir()] == ["name"], "nothing is left beside it"
    assert (folder / "figures/new.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "name"
    write(report(), folder)
    before = (folder / "index.html").read_bytes()
    with pytest.raises(alt.MaxRowsError):
        write(report(ReportFigure("f", "Figure", chart(5001), "")), folder)
    assert (folder / "index.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["name"]


def test_thinning_keeps_extremes_and_says_so() -> None:
    n = 30_000
    values = [float(i % 97) for i in range(n)]
    values[12_345] = 1e6
    frame = pl.DataFrame({"time_s": [i / 100 for i in range(n)], "flow": "a", "value": values})
    kept, rule = thin(frame, by=["flow"], limit=3000)
    assert kept.height <= 3000
    assert kept["value"].max() == 1e6
    assert kept["value"].min() == 0.0
    assert kept["time_s"].is_sorted()
    assert rule
    assert "30000" in rule
    short = frame.head(100)
    assert thin(short, by=["flow"], limit=3000) == (short, None)


def test_cumulative_distribution_of_buckets() -> None:
    frame = cumulative([0.0, 1.0, 3.0], [1.0, 2.0, 4.0], [1, 2, 1])
    assert frame.rows() == [(0.0, 0.0), (1.0, 0.25), (2.0, 0.75), (4.0, 1.0)]
    assert cumulative([], [], []).is_empty()


def test_javascript_is_kept_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    export.javascript.cache_clear()
    made = export.javascript()
    (kept,) = (tmp_path / "tailback").iterdir()
    assert kept.read_text(encoding="utf-8") == made
    assert "</script" not in made
    export.javascript.cache_clear()


def test_the_report_of_a_sweep_has_what_its_scenario_warns_of(tmp_path: Path) -> None:
    text = """\
duration = "2s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "dualpi2", any_ect = true }
[[flows]]
cc = "dctcp"
"""
    with pytest.warns(ScenarioWarning, match="step_thresh = 1ms is below two packet times"):
        results = tb.run(text, out=tmp_path)
    [warning] = results.warnings
    assert "min_qlen_step = 2" in warning
    page = sweep.write_folder(tmp_path).read_text(encoding="utf-8")
    assert "Warnings" in page
    assert "below two packet times of the link, 1211 us each" in page
    quiet = tb.run(text, set={"bottleneck.burst": "tc"}, out=tmp_path)
    assert quiet.warnings == []
    assert "Warnings" not in sweep.write_folder(tmp_path).read_text(encoding="utf-8")
