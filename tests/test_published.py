"""Checks that evidence pages are short and state a result, and that their complete results are
published as data."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from pages import DOCS, EVIDENCE, reports, site
from tailback.report import Facts, Report, ReportFigure, Section, Table, Text
from tailback.report.tables import left
from tailback_studies.reproduction import judges, published
from tailback_studies.reproduction.judges import Judge
from tailback_studies.reproduction.page import Page

PAGE = """\
# An experiment

What it is.

- **command**: tailback reproduce some --page
- **revision**: f83aa3d
- **duration**: {durations}

## How far off

**Goals**

| goal | error |
| --- | ---: |
| delay, a \\| b | 3 % |

*runs*: 40, 5 seeds per scenario

## Errors beyond 25 %

**One by one**

| cell | error | empty |
| --- | ---: | --- |
{rows}

![A curve](some/curve.svg)

## Set-up

It ran on **both** engines.
""".format(
    durations=", ".join(f"{n} s" for n in range(30)),
    rows="\n".join(f"| cell {n} | {90 - n} % | \u2014 |" for n in range(20)),
)


def judged(*, holds: bool, within: int | None) -> Judge:
    return Judge(
        judge="delay",
        error="relative",
        limit="3 %",
        cells=10,
        median=0.01,
        p90=0.05,
        within=within,
        blind=4,
        holds=holds,
    )


def test_a_page_has_the_verdict_and_the_worst_misses_first() -> None:
    text = published.page(
        published.Whole.parse(PAGE),
        "some",
        [judged(holds=True, within=9), judged(holds=False, within=2)],
    )
    assert "1 of 2 criteria are met." in text
    assert "Of the 20 individual errors with a limit, 11 are within their limits." in text
    assert "8 comparisons use held-out values" in text
    assert "| delay | 3 % | 10 | 2 | 1 % | 5 % | 4 | **no** |" in text
    assert "(section \u201cErrors beyond 25 %\u201d) lists 20 errors." in text
    assert "The table below shows the 5 largest errors." in text
    assert "| cell 0 | 90 % |" in text
    assert "| cell 5 |" not in text
    assert "![A curve](some/curve.svg)" in text
    assert "It ran on **both** engines." in text
    assert "(some-all.results.json)" in text
    # The short page has a line of facts about the runs. A fact that is too long for this line
    # appears only on the page of the complete results.
    assert "**duration**" not in text
    assert "No published values were held out" not in text


def test_a_page_without_criteria_shows_what_was_found() -> None:
    text = published.page(published.Whole.parse(PAGE), "some", [])
    assert "Verdict" not in text
    assert "| delay, a \\| b | 3 % |" in text


def test_the_opening_figure_takes_no_place_of_a_section() -> None:
    drawn = f"## {published.OPENING}\n\n![A rate](figures/rate.svg)\n\nThe rate of each flow.\n\n"
    after = PAGE.index("## Errors beyond")
    whole = published.Whole.parse(PAGE[:after] + drawn + PAGE[after:])
    text = published.page(whole, "some", [])
    assert text.count("The rate of each flow.") == text.count(f"## {published.OPENING}") == 1
    assert "## Errors beyond 25 %" in text


def test_a_page_shows_the_first_figure_and_its_caption_before_the_misses() -> None:
    captioned = PAGE.replace("curve.svg)", "curve.svg)\n\nWhat the curve shows.")
    text = published.page(published.Whole.parse(captioned), "some", [judged(holds=False, within=2)])
    figure = text.index("![A curve](some/curve.svg)\n\nWhat the curve shows.")
    assert text.index("## Verdict") < figure < text.index("## Largest errors")


def test_a_page_without_a_figure_takes_the_one_that_opens_the_report() -> None:
    chart = alt.Chart(pl.DataFrame({"x": [1]})).mark_point()
    facts = Facts(runs=3)
    drawn = [ReportFigure(name, name.upper(), chart, "A caption.", facts) for name in "abc"]
    report = Report("", "Some", "Lead.", [], [Section("all", "All", drawn[:2])], first="b")
    page = Page("Some", "Lead.", [Section("one", "One", [Text("First.")])])
    text = page.with_figure(report).text("tailback reproduce some", 1.0)
    assert "![B](figures/b.svg)" in text
    # The report's number of runs does not apply to a page with one figure of the report, so this
    # page omits it.
    assert "**runs**" not in text
    illustrated = replace(page, sections=[Section("one", "One", [drawn[2]])])
    assert illustrated.with_figure(report) == illustrated


def test_the_head_of_a_page_has_its_own_facts_not_those_of_most_tables() -> None:
    whole = Facts(runs=840, seeds=5, duration="59 to 179 s simulated")
    part = Facts(runs=3, seeds=1, duration="60 s simulated")

    def table(name: str, facts: Facts) -> Table:
        return Table(name, name, left("flow"), [["1"]], facts=facts)

    blocks = [table("a", whole), *(table(name, part) for name in "bcd")]
    text = Page("Some", "Lead.", [Section("one", "One", blocks)], whole).text("command", 1.0)
    head, _, below = text.partition("## ")
    assert "- **duration**: 59 to 179 s simulated (unless stated below)" in head
    assert "- **runs**: 840, 5 seeds per scenario (unless stated below)" in head
    assert below.count("60 s simulated") == below.count("3, 1 seed per scenario") == 3
    assert "179 s" not in below


def test_the_site_links_the_reports_that_exist(tmp_path: Path) -> None:
    command = "<code>tailback reproduce sce-2019</code>"
    assert command in reports.item("sce-2019", tmp_path)
    report = tmp_path / "sce-2019"
    report.mkdir()
    for name in ("index.html", "cells.csv", "report.md"):
        (report / name).write_text(name, encoding="utf-8")
    assert 'href="../reports/sce-2019/index.html"' in reports.item("sce-2019", tmp_path)
    reports.copy(report, tmp_path / "site")
    assert sorted(file.name for file in (tmp_path / "site").iterdir()) == [
        "cells.csv",
        "index.html",
    ]


def test_a_page_never_has_more_words_than_it_may() -> None:
    long = PAGE.replace("It ran", "word " * 900 + "It ran")
    assert (
        len(
            published.page(
                published.Whole.parse(long), "some", [judged(holds=True, within=9)]
            ).split()
        )
        <= published.MAX_WORDS
    )


def test_the_results_have_everything() -> None:
    whole = json.loads(published.Whole.parse(PAGE).json())
    assert [fact[0] for fact in whole["facts"]] == ["command", "revision", "duration"]
    goals, facts = whole["sections"][0]["blocks"]
    assert goals["rows"] == [["delay, a \\| b", "3 %"]]
    assert goals["right"] == [False, True]
    assert facts == {"text": "*runs*: 40, 5 seeds per scenario"}
    table, figure = whole["sections"][1]["blocks"]
    assert len(table["rows"]) == 20
    assert figure == {"title": "A curve", "figure": "some/curve.svg"}
    tables: list[dict[str, object]] = []
    text = "\n\n".join(site.markdown(whole, tables))
    assert len(tables) == 2
    assert "It ran on **both** engines." in text


def test_cells_of_others_are_letters_in_the_table() -> None:
    nasty = "<script>x</script> **bold** `a<b` [x](javascript:x)"
    table = {"title": nasty, "columns": [nasty], "right": [False], "rows": [[nasty]]}
    html = site.table_html(table)
    assert "<script" not in html
    assert "<a " not in html
    assert "<strong>bold</strong> <code>a&lt;b</code>" in html


PUBLISHED = sorted(EVIDENCE.glob(f"*{published.RESULTS}"))


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: str(file.name))
def test_published_pages_are_short(file: Path) -> None:
    name = file.name.removesuffix(published.RESULTS)
    page = (EVIDENCE / f"{name}.md").read_text(encoding="utf-8")
    assert len(page.split()) <= published.MAX_WORDS


def test_a_page_is_made_again_from_what_is_stored(tmp_path: Path) -> None:
    criteria = [judged(holds=True, within=9)]
    (tmp_path / "some").mkdir()
    goals = tmp_path / "some" / judges.FILE
    goals.write_text(judges.to_csv(criteria), encoding="utf-8")
    page = published.write(PAGE, "some", criteria, tmp_path)
    assert published.pages(tmp_path) == {page: page.read_text(encoding="utf-8")}


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_a_click_on_a_heading_sorts(tmp_path: Path) -> None:
    rows = [["b", "9.5 %"], ["a", "\u2014"], ["c", "-12 %"], ["d", "1,000 %"]]
    table = {"title": "", "columns": ["name", "error"], "right": [False, True], "rows": rows}
    script = (DOCS / "_static" / "tables.js").read_text(encoding="utf-8")
    clicks = """
      document.addEventListener("DOMContentLoaded", function () {
        const names = () => Array.from(document.querySelectorAll("tbody td:first-child"),
                                       (cell) => cell.textContent).join("");
        const seen = [];
        for (const button of [1, 1, 0]) {
          document.querySelectorAll("th button")[button].click();
          seen.push(names());
        }
        document.title = seen.join(" ");
      });"""
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><title></title><script>{script}{clicks}</script>{site.table_html(table)}",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--user-data-dir={tmp_path}/profile", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "<title>cbda dbca abcd</title>" in done.stdout
