"""Tests `evaluate bbr`: cases that pass, cases that fail by design, and a planted fault for each
case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tailback as package
from conftest import ROOT, Tailback
from tailback.errors import InputError
from tailback.evaluate.bbr import aggregation, subject
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.bbr.trace import StateTrace
from tailback.evaluate.model import Evaluation, Request
from tailback.evaluate.suites import evaluate
from tailback.running.options import RunOptions

DRAFT = "bbr3:draft=06"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a results folder that all tests share, so that common runs are reused."""
    return tmp_path_factory.mktemp("results")


def evaluated(name: str, store: Path, *parts: str) -> Evaluation:
    """Evaluate a congestion control with these cases, or with all cases."""
    return evaluate("bbr", Request(name, RunOptions(out=store, progress=False), parts=parts))


def verdicts(evaluation: Evaluation) -> dict[str, str]:
    """Return the verdict of each case."""
    return {section.id: section.verdict for section in evaluation.sections}


def test_there_are_the_22_cases_of_the_draft() -> None:
    assert [case.id for case in CASES] == [f"A.{n}" for n in range(1, 23)]
    assert all(case.file.is_file() for case in CASES)


def test_every_scenario_runs_by_itself() -> None:
    for case in CASES:
        assert package.check(case.file) is not None


def test_the_draft_passes_every_case(store: Path) -> None:
    evaluation = evaluated(DRAFT, store)
    assert set(verdicts(evaluation).values()) == {"pass"}, evaluation.sections
    values = {section.id: section.value for section in evaluation.sections}
    # The measured values equal the draft's values: gains of 128/256 and 230/256, and whole numbers
    # of rounds and steps.
    assert (values["A.3"], values["A.8"]) == (0.5, 230 / 256)
    assert (values["A.4"], values["A.5"]) == (4, 3)
    assert (values["A.14"], values["A.18"], values["A.19"]) == (4, 4, 4)
    assert values["A.1"] == pytest.approx(0, abs=0.1)
    # Passing values are on the correct side of their bounds.
    for one in evaluation.sections:
        assert one.value is not None
        assert one.bound is not None
        if one.is_exact:
            assert one.value == pytest.approx(one.bound, abs=0.01), one.id
        elif one.at_least:
            assert one.value >= one.bound - 0.1, one.id
        else:
            assert one.value <= one.bound + 0.1, one.id
    assert evaluation.sections[11].limit == "at least 95"
    assert all(section.to_dict()["trace"] for section in evaluation.sections)


def test_the_branch_fails_where_it_differs_by_design(store: Path) -> None:
    found = verdicts(evaluated("bbr3", store))
    failed = [case for case, verdict in found.items() if verdict != "pass"]
    assert failed == ["A.3", "A.4", "A.8", "A.18", "A.19"]


@pytest.mark.parametrize(
    ("fault", "finds"),
    [
        ("down_gain=0.8", "A.8"),
        ("drain_gain=0.4", "A.3"),
        ("probe_rtt=100ms", "A.10"),
        ("min_window=2", "A.14"),
    ],
)
def test_a_planted_fault_fails_its_case_alone(store: Path, fault: str, finds: str) -> None:
    cases = ("A.1", "A.3", "A.4", "A.5", "A.8", "A.10", "A.11", "A.14", "A.20")
    found = verdicts(evaluated(f"{DRAFT},{fault}", store, *cases))
    assert [case for case, verdict in found.items() if verdict != "pass"] == [finds]
    assert found[finds] == "fail"


def test_a_situation_that_does_not_come_about_is_undecided(store: Path) -> None:
    # With this gain the queue in the draft's case A.9 drains, so BBR correctly changes from DOWN to
    # CRUISE.
    result = evaluated(f"{DRAFT},down_gain=0.7", store, "A.9").sections[0]
    assert result.verdict == "undecided"
    assert result.note.startswith("The queue drained within")


def test_a_window_without_room_for_aggregation_is_found(store: Path) -> None:
    found = verdicts(evaluated(f"{DRAFT},ack_aggregation=false", store, "A.12", "A.13"))
    assert found == {"A.12": "fail", "A.13": "fail"}


def test_version_1_is_not_observable_where_it_has_no_such_state(store: Path) -> None:
    evaluation = evaluated("bbr", store)
    found = verdicts(evaluation)
    assert found["A.14"] == "pass"
    assert found["A.20"] == "pass"
    others = [s for s in evaluation.sections if s.id not in ("A.10", "A.14", "A.20")]
    assert {section.verdict for section in others} == {"not observable"}
    assert others[0].note == (
        "this congestion control does not report max_bw_mbit, full_bw_now, full_bw_reached, "
        "full_bw_rounds."
    )


def test_what_is_no_bbr_is_rejected(tmp_path: Path, tailback: Tailback) -> None:
    done = tailback("evaluate", "bbr", "cubic")
    assert done.returncode == 2
    assert "no BBR" in done.stderr
    assert "bbr3" in done.stderr
    assert not (tmp_path / "results").exists()
    with pytest.raises(InputError, match="draft has no value"):
        subject.parse("bbr3:draft", traced=True)
    done = tailback("evaluate", "bbr", "bbr3:draft=07")
    assert done.returncode == 2
    assert "draft" in done.stderr


def test_a_plugin_is_a_bbr_by_its_name_and_records_its_whole_state() -> None:
    plugin = {"name": "my-bbr", "options": [{"name": "trace"}]}
    found = subject.parse("my-bbr:gain=2", traced=True, added=[plugin])
    assert found.cc == {"name": "my-bbr", "gain": 2, "trace": True}
    assert subject.parse("my-bbr", traced=False, added=[plugin]).cc == {"name": "my-bbr"}
    plain = {"name": "my-bbr", "options": []}
    assert subject.parse("my-bbr", traced=True, added=[plain]).cc == {"name": "my-bbr"}
    with pytest.raises(InputError) as error:
        subject.parse("my-cc", traced=True, added=[plugin, {"name": "my-cc"}])
    assert "does not exist" not in str(error.value)
    assert "one of bbr, bbr2, bbr3, my-bbr, a plugin whose name contains bbr" in str(error.value)
    assert str(error.value).endswith("run: tailback evaluate cc my-cc")


RECORDED_ANYWAY = {"cwnd", "in_flight", "ca_state", "acked_bytes"}
"""States that tailback records for every congestion control."""


def test_the_page_names_the_states_of_every_case() -> None:
    page = (ROOT / "docs/how-to/evaluate-bbr.md").read_text(encoding="utf-8")
    table = page.partition("## A plugin")[2].partition("\n## ")[0]
    named: dict[str, set[str]] = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("| `"):
            for state in re.findall("`(.*?)`", cells[1]):
                named[state] = set(re.findall(r"A\.\d+", cells[3]))
    states = {state for case in CASES for state in case.needs} - RECORDED_ANYWAY
    of = {state: {case.id for case in CASES if state in case.needs} for state in states}
    # Only one case does not need the state `mode`, so the page names this case instead of all
    # others.
    of["mode"] = {case.id for case in CASES} - of["mode"]
    assert named == of


def test_the_json_has_the_states_around_the_decision(store: Path, tailback: Tailback) -> None:
    done = tailback("evaluate", "bbr", DRAFT, "--part", "A.3", "--json", "--out", store)
    assert done.returncode == 0, done.stderr
    [section] = json.loads(done.stdout)["sections"]
    states = [row["state"] for row in section["trace"]]
    assert states.index("DRAIN") < states.index("CRUISE")
    last = next(row for row in section["trace"] if row["state"] == "CRUISE")
    assert last["in_flight"] <= last["bdp"] + 3


def _trace(**columns: list[float]) -> StateTrace:
    count = len(next(iter(columns.values())))
    values: dict[str, Any] = {"mode": [2.0] * count, "phase": [2.0] * count, **columns}
    return StateTrace([0.01 * n for n in range(count)], values)


def test_extra_acked_is_what_exceeds_the_bandwidth() -> None:
    # The expected rate is 1 segment in 10 ms. The third ACK acknowledges 5 segments, and then no
    # segment is acknowledged for 50 ms.
    acked = [1, 2, 7, 7, 7, 7, 7, 8]
    trace = _trace(
        acked_bytes=[1448.0 * n for n in acked],
        bw_mbit=[1448 * 8 / 1e4] * 8,
        cwnd=[100.0] * 8,
    )
    assert aggregation.samples(trace) == pytest.approx([1, 1, 5, 0, 0, 0, 0, 1])
