"""Tests the league: its data, the pages of algorithms, and the tables of the site."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import league as script
from pages import EVIDENCE, league, verdicts
from pages.league import League, Row, Subject
from tailback.evaluate import cc
from tailback.evaluate.model import Evaluation, SectionResult, SectionVerdict

NASTY = "<script>x</script>"


def section(
    number: str,
    verdict: SectionVerdict,
    value: float | None,
    ci95: tuple[float, float] | None = None,
    *,
    source: str = "RFC 9743",
    at_least: bool = False,
) -> SectionResult:
    return SectionResult(
        *(number, f"Title {NASTY}", source, verdict, "share", value, 0.05, ci95),
        scenario="5.1.2-queue.toml",
        note="what was found",
        command="tailback run 5.1.2-queue.toml --seeds 7",
        at_least=at_least,
    )


L4S = "RFC 9331 section 4.3"
GOOD = Evaluation(
    *("cc", "reno", "sim", "1"),
    (
        section("5.1", "no worse", -0.2, (-0.3, -0.1)),
        section("5.2", "undecided", 0.05),
        section("L4S-a", "fail", 0.9, source=L4S),
    ),
)
BAD = Evaluation(
    *("cc", "bbr3:draft=06", "sim", "1"),
    (
        section("5.1", "fail", 0.01, at_least=True),
        section("5.2", "worse", 0.5, (0.4, 0.6)),
        section("L4S-a", "not observable", None, source=L4S),
    ),
)


STACK = Evaluation(
    *("cc", "quiche", "kernel", "7"),
    (
        section("5.1", "fail", 0.5),
        section("5.2", "not observable", None),
    ),
)
DAY = datetime(2026, 11, 7, tzinfo=UTC)
SECTIONS = [("5.1", ""), ("5.2", ""), ("L4S-a", "")]
FILE = "program=scripts/programs/quiche.toml"


def merged(
    found: Evaluation,
    name: str = "reno",
    before: dict[str, Any] | None = None,
    date: datetime = DAY,
) -> dict[str, Any]:
    return script.merged(before, found, script.Entrant("cc", name, found.engine), date)


@pytest.fixture(autouse=True)
def few_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cc, "sections", lambda: SECTIONS)


@pytest.fixture
def found(tmp_path: Path) -> League:
    return read([merged(GOOD), merged(BAD, "bbr3:draft=06")], tmp_path)


def read(evaluations: list[dict[str, Any]], folder: Path) -> League:
    text = script.as_json(evaluations, quick=True)
    (folder / league.DATA).write_text(text, encoding="utf-8")
    return League.read(folder)


def test_the_data_has_a_line_for_each_section(found: League, tmp_path: Path) -> None:
    reno, bbr3 = found.subjects
    assert (reno.date, reno.version, reno.engine) == ("7 November 2026", "1", "sim")
    assert [row.data["seeds"] for row in bbr3.rows] == [7, 7, 7]
    assert reno.rows[0].data["ci95"] == [-0.3, -0.1]
    lines = (tmp_path / league.DATA).read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith('{"id": ') for line in lines) == 6


def test_verdicts_of_a_subject(found: League) -> None:
    reno, bbr3 = found.subjects
    # Reno does not send ECT(1), so RFC 9331 does not apply to it.
    assert (reno.bad, reno.counts["fail"], reno.counts["undecided"]) == ([], 0, 1)
    assert [row.id for row in reno.better] == ["5.1"]
    # The value with id 5.1 is a fifth of its lower bound, 0.05. The value with id 5.2 is ten times
    # its upper bound.
    assert [(row.id, row.ratio) for row in bbr3.bad] == [("5.2", 10.0), ("5.1", 5.0)]
    assert bbr3.better == []
    assert (reno.slug, bbr3.slug, bbr3.short) == ("reno", "bbr3-06", "bbr3 06")


@pytest.mark.parametrize(
    ("value", "high", "is_better"), [(-0.2, -0.06, True), (-0.2, -0.04, False), (0.2, 0.3, False)]
)
def test_better_means_beyond_the_margin(value: float, high: float, is_better: bool) -> None:
    row = {"verdict": "no worse", "value": value, "bound": 0.05, "ci95": [value, high]}
    assert Row(row, is_asked=True).is_better == is_better
    assert not Row(row, is_asked=False).is_better


def test_the_page_of_an_algorithm_begins_with_the_worst(found: League, tmp_path: Path) -> None:
    made = league.pages(tmp_path)
    page = made[tmp_path / "league" / "bbr3-06.md"]
    assert "other sources. Of these sections, bbr3:draft=06 fails 1" in page
    assert "is worse than CUBIC in 1. 0 sections are undecided." in page
    worst, second = re.findall(r"^- \*\*5.*", page, flags=re.M)
    assert worst.startswith("- **5.2 Title")
    assert "(worse): measured 0.5 [0.4, 0.6], must be at most 0.05." in worst
    assert "Measure: share. The result is what was found." in worst
    assert "(fail): measured 0.01, must be at least 0.05." in second
    assert "Measure: share. The result is what was found." in second
    none = "No section that applies to reno has the verdict *fail* or *worse*."
    assert none in made[tmp_path / "league" / "reno.md"]
    row = "| [bbr3 of draft 06](league/bbr3-06.md) | 1 | 1 | 0 | 5.2 Title"
    assert row in made[tmp_path / "league.md"]
    assert len(found.subjects) == 2


def test_every_cell_links_to_the_row_of_its_section(found: League) -> None:
    html = verdicts.matrix_html(list(found.subjects), lambda page: f"{page}.html")
    cells = re.findall(r'<td class="number ([\w-]+)" data-value="([^"]*)"><a href="([^"]+)"', html)
    page = "evidence/league/{}.html#section-{}"
    assert cells == [
        ("good", "-4", page.format("reno", "5-1")),
        ("bad", "5", page.format("bbr3-06", "5-1")),
        ("good", "1", page.format("reno", "5-2")),
        ("bad", "10", page.format("bbr3-06", "5-2")),
        ("not-asked", "18", page.format("reno", "L4S-a")),
        ("not-asked", "", page.format("bbr3-06", "L4S-a")),
    ]
    for subject in found.subjects:
        rows = verdicts.sections_html(subject, {"5.1.2-queue.toml": "x/5.1.2-queue.toml"})
        ids = re.findall(r'<tr id="([^"]+)">', rows)
        assert ids == ["section-5-1", "section-5-2", "section-L4S-a"]
        assert rows.count('href="x/5.1.2-queue.toml">5.1.2-queue.toml</a><br>seeds 1 to 7') == 3
        assert "<script" not in html + rows


def test_sections_that_were_not_evaluated_keep_their_results() -> None:
    first = merged(GOOD)
    later = Evaluation("cc", "reno", "sim", "2", (section("5.2", "worse", 0.4),))
    second = merged(later, before=first, date=datetime(2026, 11, 8, tzinfo=UTC))
    assert (second["version"], second["date"]) == ("1", "7 November 2026")
    same, changed, last = second["sections"]
    assert [same, last] == [first["sections"][0], first["sections"][2]]
    assert (changed["value"], changed["version"], changed["date"]) == (0.4, "2", "8 November 2026")
    # An evaluation of all sections replaces the results of all earlier evaluations.
    assert merged(GOOD, before=second) == first


def test_a_stack_has_a_page_and_says_what_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    criterion = SimpleNamespace(
        id="L4S-a", unsupported=lambda why: replace(STACK.sections[1], id="L4S-a", note=why)
    )
    monkeypatch.setattr(cc, "CRITERIA", (criterion,))
    entrant = script.Entrant("cc", FILE, "kernel", 3, not_run={"L4S-a": "sends no ECT(1)"})
    assert (entrant.label, entrant.sections()) == ("quiche", ["5.1", "5.2"])
    made = read([merged(GOOD), script.merged(None, STACK, entrant, DAY)], tmp_path)
    [stack] = made.stacks
    assert (stack.slug, stack.short, stack.entry) == ("quiche",) * 3
    assert [row.verdict for row in stack.rows] == ["fail", "not observable", "not run"]
    assert [one.id for one in stack.bad] == ["5.1"]
    texts = league.pages(tmp_path)
    page = texts[tmp_path / "league" / "quiche.md"]
    assert "[quiche](../../reference/programs/quiche.md) on Linux in the kernel engine" in page
    assert "is worse than Linux's CUBIC in none. 0 sections are undecided. 1 section was" in page
    assert f"`tailback evaluate cc {FILE} --engine kernel --seeds 7 --quick`" in page
    row = "| [quiche](league/quiche.md) | Linux | 1 | 0 | 0 | 5.1 Title"
    assert row in texts[tmp_path / "league.md"]
    assert row in texts[tmp_path / "programs.md"]
    html = verdicts.matrix_html(list(made.subjects), lambda target: f"{target}.html")
    assert 'title="not run, sends no ECT(1)">·</a>' in html
    rows = verdicts.sections_html(stack, {"5.1.2-queue.toml": "x.toml"})
    assert rows.count("<tr id=") == 3
    assert "sends no ECT(1)" in rows


def test_the_scenarios_of_a_stack_have_the_stack_in_them(tmp_path: Path) -> None:
    stack = Subject("cc", FILE, [], "kernel", "7", "today")
    folder = verdicts.scenarios_of_stack(verdicts.SCENARIOS / "cc" / "scenarios", stack, tmp_path)
    text = (folder / "5.1.1-timeout.toml").read_text(encoding="utf-8")
    assert '[[programs]]\nname = "subject"\nkind = "quiche"\n' in text
    assert "[[flows]]" not in text


PAGES = sorted((EVIDENCE / league.FOLDER).glob("*.md"))


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.name))
def test_published_pages_are_short(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").split()) <= 500


def test_the_published_pages_are_those_of_the_data() -> None:
    subjects: list[Subject] = list(League.read(EVIDENCE).subjects)
    assert {file.stem for file in PAGES} == {one.slug for one in subjects}
    assert len({one.slug for one in subjects}) == len(subjects)
    data = json.loads((EVIDENCE / league.DATA).read_text(encoding="utf-8"))
    keys = [(one["suite"], one["subject"]) for one in data["evaluations"]]
    assert keys == [one.key for one in script.entrants()]
    for one in data["evaluations"]:
        if one["subject"].startswith("program="):
            # The version of a stack's runs is the version of the engine, a dot, and the program.
            assert re.fullmatch(r"[\d.]+\+\w+\.[\w.-]+", one["version"]), one["subject"]
        for row in one["sections"]:
            # The kernel engine rejects some scenarios.
            rejected = one["engine"] == "kernel" and row["verdict"] == "not observable"
            runs = row["scenario"] and row["verdict"] != league.NOT_RUN and not rejected
            assert not runs or row["seeds"], (one["subject"], row["id"])
