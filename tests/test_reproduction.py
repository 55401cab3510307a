"""Tests that the code shared by experiments makes the report, the files and the page of a minimal
experiment."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailback import InputError
from tailback.errors import ScenarioWarning
from tailback.metrics.statistics import estimate
from tailback.report import Report, Section, TableCell
from tailback.running.batch import Job
from tailback.running.options import RunOptions
from tailback.running.scenarios import check
from tailback_studies.cli.tables import reproduction
from tailback_studies.reproduction.entries import Entry, counted
from tailback_studies.reproduction.experiment import (
    Findings,
    Found,
    Reproduction,
    Request,
    Study,
    known_parts,
)
from tailback_studies.reproduction.goals import (
    CellsWithin,
    ErrorsBelow,
    cells_verdicts,
    errors_verdicts,
    summary,
    with_tolerances,
)
from tailback_studies.reproduction.judges import Noise, from_csv, judge, to_csv
from tailback_studies.reproduction.page import Page
from tailback_studies.reproduction.shown import NO_OFFLOADS, facts, goals_table, span
from tailback_studies.reproduction.sources import set_value

SCENARIO: dict[str, Any] = {
    "duration": "4s",
    "warmup": "1s",
    "path": {"rtt": "10ms"},
    "bottleneck": {"rate": "10Mbit", "queue": {"aqm": "fifo", "limit": "50p"}},
    "flows": [{"cc": "reno"}],
    "sweep": {"bottleneck.rate": ["5Mbit", "10Mbit"]},
}
PUBLISHED = {5.0: 4.7, 10.0: 5.0}
"""Published throughput by rate, in Mbit/s. At 5 Mbit/s it is about the measured throughput, and at
10 Mbit/s half of the measured throughput."""

THROUGHPUT = CellsWithin[Entry]("throughput", "throughput", "relative", lambda _: True, 0.1, 0.5)
ERRORS = ErrorsBelow[Entry]("errors", "all errors", "relative", lambda _: True, 0.1, 0.2)


class Toy(Reproduction):
    """A published experiment with one table of one row."""

    name = "toy"
    title = "Toy: Nobody, 2026"
    doc = "What a flow gets."
    parts = ("table-1", "table-2")

    def study(self, request: Request) -> Study:
        def findings(results: Found) -> Findings:
            cells = []
            for result in results["table-1"]:
                for runs in result.groups():
                    rate = float(runs[0].params["bottleneck.rate"]) / 1e6
                    values = [run.summary["flows"][0]["throughput_mbit"] for run in runs]
                    name = f"Table 1/{rate:g}Mbit"
                    cell = TableCell.of(
                        name, "throughput_mbit", "Mbit/s", PUBLISHED[rate], estimate(values)
                    )
                    cells.append(Entry(cell=cell, values=tuple(values)))
            entries = with_tolerances([THROUGHPUT], cells)
            verdicts = list(cells_verdicts([THROUGHPUT], entries))
            judges = [judge(verdict, entries) for verdict in verdicts]
            made = facts(results["table-1"], deviations=(NO_OFFLOADS,))
            sections = [Section("result", "How far off", [goals_table(judges, made)])]
            meta = [("cells", counted(entries))]
            report = Report("", "Toy", "A toy.", meta, sections, [e.cell for e in entries])
            found = summary(entries, verdicts)
            page = Page("Toy", "A toy.", sections, made)
            return Findings(report, [e.json() for e in entries], found, judges, page)

        return Study({"table-1": [Job(SCENARIO, {}, request.seeds_or(2, quick=1))]}, findings)


def run(out: Path, *parts: str, **options: Any) -> Any:
    asked = {name: options.pop(name) for name in ("quick", "page") if name in options}
    chosen = RunOptions(**{"out": out, "jobs": 1, "progress": False, **options})
    return Toy().run(parts, chosen, **asked)


def test_an_experiment_fills_in_what_is_its_own(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.report_dir == tmp_path / "reports" / "toy"
    assert [(cell["id"], cell["n"]) for cell in done.cells] == [
        ("Table 1/5Mbit", 2),
        ("Table 1/10Mbit", 2),
    ]
    quantity, goal = done.summary
    assert (quantity["quantity"], quantity["cells"]) == ("throughput_mbit", 2)
    assert (goal["within"], goal["cells"], goal["chance"], goal["holds"]) == (1, 2, 0, True)
    page = (done.report_dir / "report.md").read_text()
    assert "within" in page
    assert "4 s simulated" in page, "a caption says what it rests on"
    with (done.report_dir / "all-cells.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [cell["id"] for cell in done.cells]
    [goal] = json.loads(json.dumps(done.to_dict()))["goals"]
    assert (goal["cells"], goal["holds"]) == (2, True)


def test_the_missed_goals_are_printed_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run(tmp_path)
    reproduction.show(Toy(), done)
    assert "1 of 1 goals met (goals.csv)\nreport:" in capsys.readouterr().out
    missed = {"goal": "Table 2: delay", "limit": "5 %", "cells": 3, "holds": False}
    reproduction.show(Toy(), replace(done, goals=[*done.goals, missed]))
    out = capsys.readouterr().out
    assert "1 of 2 goals met (goals.csv); missed:\n  Table 2: delay: 5 %, 3 values\n" in out


def test_phases_in_the_set_up_of_a_source_are_not_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCENARIO, "flows", [{"cc": "reno", "count": 2}])
    with pytest.warns(ScenarioWarning, match=r"bottleneck\.queue: several TCP flows .*phase"):
        check(SCENARIO)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScenarioWarning)
        run(tmp_path, seeds=1)


def test_a_part_and_another_engine_do_not_take_the_place_of_the_whole(tmp_path: Path) -> None:
    assert run(tmp_path, "table-1", quick=True).report_dir.name == "toy-table-1"
    assert run(tmp_path, "table-2", "table-1", quick=True).report_dir.name == "toy"
    whole = Request(("table-1", "table-2"), False, False, None, "kernel")
    assert Toy().folder(whole) == "toy-kernel"
    with pytest.raises(InputError, match='did you mean "table-1"'):
        known_parts(["tabel-1"], Toy.parts)


def test_listing_experiments_loads_none_of_what_draws_them() -> None:
    code = (
        "import sys\n"
        "from tailback_studies import experiments\n"
        "for name in experiments.NAMES:\n"
        "    assert experiments.get(name).title\n"
        "assert not {'polars', 'altair', 'scipy', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_page_says_what_made_it_and_its_run_facts_once(tmp_path: Path) -> None:
    done = run(tmp_path, page=True, seeds=5)
    page = (done.report_dir / "toy.md").read_text()
    assert "- **command**: tailback reproduce toy --page --seeds 5\n" in page
    assert re.search(r"- \*\*revision\*\*: [\w.+ -]+\n", page)
    assert page.count("5 seeds per scenario") == page.count("4 s simulated") == 1
    (told,) = from_csv((done.report_dir / "goals.csv").read_text())
    assert (told.cells, told.within, told.within_or_chance, told.holds) == (2, 1, 1, True)
    with pytest.raises(InputError, match="remove --part and --quick"):
        run(tmp_path, page=True, quick=True)


def entry(published: float | None, *values: float) -> Entry:
    cell = TableCell.of("id", "quantity", "", published, estimate(values))
    return Entry(cell=cell, values=values)


def test_chance_needs_five_seeds_and_stands_beside_the_count() -> None:
    runs = (0.9, 1.0, 1.1, 1.0, 1.0)
    near, far, few = entry(1.2, *runs), entry(2.0, *runs), entry(1.2, *runs[:4])
    assert (near.chance, far.chance, few.chance) == (True, False, False)
    goal = CellsWithin[Entry]("id", "title", "relative", lambda _: True, 0.01)
    (verdict,) = cells_verdicts([goal], with_tolerances([goal], [near, far, few]))
    assert (verdict.cells, verdict.within, verdict.chance, verdict.holds) == (3, 0, 1, False)


def test_errors_are_held_against_median_and_percentile() -> None:
    entries = [entry(1.0, 1.0), entry(1.0, 1.1), entry(1.0, 1.15), entry(None, 7.0)]
    (verdict,) = errors_verdicts([ERRORS], entries)
    assert verdict.cells == 3
    assert (verdict.median, verdict.p90) == pytest.approx((0.1, 0.15))
    assert not verdict.holds, "0.1 is a little more in binary"
    row = verdict.row(entries)
    assert row["goal"] == {"error": "relative", "median": 0.1, "p90": 0.2}
    assert row["cells"] == 3
    told = judge(verdict, entries, Noise(4, 0.01, 0.02))
    assert goals_table([told], facts([])).rows[0][:2] == [
        "all errors",
        "median at most 10 %, 90th percentile at most 20 %",
    ]
    assert (told.within, told.noise_cells, told.blind, told.holds) == (None, 4, 0, False)
    assert to_csv(from_csv(to_csv([told]))) == to_csv([told])


def test_blind_cells_are_counted_apart() -> None:
    seen, hidden = entry(1.0, 1.1), entry(2.0, 2.1)
    hidden = replace(hidden, cell=replace(hidden.cell, blind=True))
    (verdict,) = errors_verdicts([ERRORS], [seen, hidden])
    told = judge(verdict, [seen, hidden])
    assert (told.cells, told.blind) == (2, 1)
    assert told.blind_median == pytest.approx(0.05)


def test_values_are_set_by_their_path() -> None:
    made: dict[str, Any] = {"tcp": {"delack": True}}
    set_value(made, "tcp.delack", False)
    set_value(made, "bottleneck.queue.target", "5ms")
    assert made == {"tcp": {"delack": False}, "bottleneck": {"queue": {"target": "5ms"}}}
    assert (span([], "s"), span([3, 3], "s"), span([4, 3.5], "s")) == ("", "3 s", "3.5 to 4 s")
