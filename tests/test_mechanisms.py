"""Tests the page that shows what each mechanism changes in the reproduced experiments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mechanisms as script
import tailback as tb
from mechanisms import EXPERIMENTS, MECHANISMS, Mechanism
from pages import EVIDENCE, mechanisms
from tailback.running.batch import Job
from tailback.running.options import RunOptions
from tailback_studies.experiments.imc_bbr_2023 import layout, points
from tailback_studies.reproduction.judges import Judge

USED = {
    "remembered": {"ccafct-2020"},
    "connections": {"ccafct-2020"},
    "prague-0.7": {"pam-2025-l4s"},
    "bbr-bursts": {"pam-2025-l4s"},
    "accecn-receiver": {"pam-2025-l4s"},
    "host-jitter": {"pam-2025-l4s"},
    "vm": {"imc-bbr-2023"},
    "pauses": {"pam-2025-l4s"},
    "offloads": {"ccafct-2020", "imc-bbr-2023"},
    "shaper-burst": {
        *("ccafct-2020", "dualpi2-2022", "imc-bbr-2023", "l4s-tests-2020", "pam-2025-l4s"),
    },
    "fq-pacing": {"dualpi2-2022"},
}
"""The experiments whose published set-ups use a mechanism, as their pages state."""


def of(name: str) -> Mechanism:
    [one] = [one for one in MECHANISMS if one.id == name]
    return one


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_mechanism_reaches_every_run_that_it_concerns(name: str) -> None:
    """`turned` switches a mechanism on or off, and raises an error if a run keeps its id. A
    mechanism must be used by the experiments whose pages say so."""
    jobs = script.study_of(name).jobs
    few = {group: own[:: max(1, len(own) // 8)] for group, own in jobs.items()}
    for mechanism in MECHANISMS:
        found = script.turned(few, mechanism)
        assert found.used == (name in USED[mechanism.id]), mechanism.id
        changed = [job for group in found.jobs.values() for job in group if job is not None]
        assert len(changed) == found.changed
        own = [job for group in few.values() for job in group]
        assert len(own) == found.total
        if mechanism.id in ("offloads", "shaper-burst") and changed:
            again = script.turned({"": changed}, mechanism)
            kept = [j for group in found.jobs.values() for j in group]
            before = [one for one, new in zip(own, kept, strict=True) if new is not None]
            ids = [script.run_ids(job) for job in again.jobs[""] if job is not None]
            assert ids == [script.run_ids(job) for job in before]


def test_a_mechanism_does_not_change_the_published_scenario() -> None:
    jobs = script.study_of("pam-2025-l4s").jobs["rows"][:1]
    before = json.dumps(jobs[0].scenario)
    for mechanism in MECHANISMS:
        script.turned({"rows": jobs}, mechanism)
    assert json.dumps(jobs[0].scenario) == before


def test_prague_changes_its_version_and_no_other_flow() -> None:
    [job] = script.study_of("pam-2025-l4s").jobs["rows"][:1]
    new = of("prague-0.7").turned(script.scenario_of(job))
    assert new is not None
    prague, classic = new["flows"]
    assert prague["cc"] == {"name": "prague", "version": "0.6", "alpha_bits": 24}
    assert classic == script.scenario_of(job)["flows"][1]
    [job] = script.study_of("l4s-tests-2020").jobs["rows"][:1]
    new = of("prague-0.7").turned(script.scenario_of(job))
    assert new is not None
    # The option `window` does not exist in version 0.7 of Prague. RTT scaling stays off, as
    # published.
    assert new["flows"][0]["cc"] == {"name": "prague", "rtt_scaling": "off", "version": "0.7"}


def test_a_sweep_over_congestion_controls_is_no_silent_miss() -> None:
    scenario = {
        "title": "swept",
        "flows": [{"name": "flow", "cc": "cubic"}],
        "sweep": {"flows.flow.cc": ["cubic", {"name": "prague"}]},
    }
    with pytest.raises(ValueError, match="swept: a sweep chooses one of prague"):
        of("prague-0.7").turned(scenario)


def test_bursts_of_bbr_have_no_effect_on_joined_segments(tmp_path: Path) -> None:
    """The page says that `path.offloads` already joins BBR's segments."""
    [row] = [row for row in layout.ROWS if row.name == f"5.15/bbr/{layout.Place(100, 500, 5).name}"]
    scenario = {**points.made(row), "duration": "3s"}
    assert of("bbr-bursts").turned(scenario) is None
    [flow] = scenario["flows"]
    other = {**scenario, "flows": [{**flow, "tcp": {"pacing": "gso"}}]}
    both = tb.run_many([Job(scenario), Job(other)], out=tmp_path, progress=False)
    one, two = (next(iter(found)) for found in both)
    assert one.run_id != two.run_id
    assert one.summary["flows"] == two.summary["flows"]


def judge(sizes: dict[str, float], *, counted: bool = False) -> Judge:
    return Judge(
        judge="rates",
        error="relative",
        limit="5 %",
        cells=len(sizes),
        median=None if counted else 0.02,
        p90=None if counted else 0.1,
        holds=True,
        sizes=sizes,
    )


def test_changes_count_by_their_direction_beyond_the_noise() -> None:
    published = judge({"a": 0.10, "b": 0.10, "c": 0.10, "d": 0.10})
    again = judge({"a": 0.12, "b": 0.10, "c": 0.10, "d": 0.10})
    other = judge({"a": 0.20, "b": 0.05, "c": 0.11, "d": 0.10})
    [row] = script.compared([published], [again], [other], used=True)
    # Without the mechanism, the error of `a` is larger and that of `b` is smaller. The error of `c`
    # changes by less than the noise.
    assert row["noise"] == 0.02
    assert (row["better"], row["worse"], row["same"], row["chance"]) == (1, 1, 2, 0)
    [row] = script.compared([published], [again], [judge({**other.sizes, "b": 0.1})], used=False)
    # In this comparison, the published set-up does not use the mechanism.
    assert (row["better"], row["worse"]) == (0, 1)


def test_a_criterion_that_counts_has_no_noise() -> None:
    published = judge({"a": 0.0, "b": 1.0, "c": 1.0}, counted=True)
    again = judge({"a": 1.0, "b": 1.0, "c": 1.0}, counted=True)
    other = judge({"a": 0.0, "b": 0.0, "c": 1.0}, counted=True)
    [row] = script.compared([published], [again], [other], used=False)
    assert (row["noise"], row["chance"]) == (0, 1)
    assert (row["better"], row["worse"], row["same"]) == (1, 0, 2)


def test_a_second_command_runs_nothing_again(tmp_path: Path) -> None:
    study = script.study_of("dctcp-internet-2014")
    one = {"two-reno": study.jobs["two-reno"]}
    options = RunOptions.of(out=tmp_path, progress=False)
    jobs = script.turned(one, of("offloads"))
    own = script.results_of(one, options)
    first = script.with_changes(own, jobs, options)
    again = script.with_changes(own, jobs, RunOptions.of(out=tmp_path, read_only=True))
    ids = [[run.run_id for run in found["two-reno"][0]] for found in (own, first, again)]
    assert ids[1] == ids[2]
    assert not set(ids[0]) & set(ids[1])


@pytest.mark.parametrize(
    ("better", "worse", "chance"), [(5, 0, 2 / 32), (0, 6, 2 / 64), (9, 9, 1.0), (0, 0, 1.0)]
)
def test_sign_test_counts_both_directions(better: int, worse: int, chance: float) -> None:
    assert mechanisms.sign_test(better, worse) == pytest.approx(chance)


# --- stored results ------------------------------------------------------------------------------


def stored() -> Iterator[tuple[str, str, dict[str, Any]]]:
    data = json.loads((EVIDENCE / mechanisms.DATA).read_text(encoding="utf-8"))
    assert list(data) == list(EXPERIMENTS)
    for experiment, entry in data.items():
        # For publications that do not name fq, the effect of pacing by fq was not measured.
        missing = {one.id for one in MECHANISMS} - set(entry["mechanisms"])
        assert missing <= {"fq-pacing"}
        for name, found in entry["mechanisms"].items():
            yield experiment, name, found


def test_stored_counts_are_sums() -> None:
    for experiment, name, found in stored():
        where = f"{experiment}, {name}"
        assert found["changed"] + found["rejected"] <= found["scenarios"], where
        assert ("rows" in found) == (found["changed"] > 0), where
        for row in found.get("rows", ()):
            counted = row["better"] + row["worse"] + row["same"]
            assert 0 < counted <= row["cells"], where


def test_the_table_has_every_case_and_its_sums() -> None:
    every = mechanisms.cases(EVIDENCE)
    assert len(every) == sum("rows" in found for _, _, found in stored())
    page = mechanisms.pages(EVIDENCE)[EVIDENCE / mechanisms.PAGE]
    lines = [line for line in page.splitlines() if "](" in line and line.startswith("| ")]
    assert len(lines) == len(every)
    for line, case in zip(lines, every, strict=True):
        assert f"[{case.experiment}]" in line
        better = sum(row["better"] for row in case.rows)
        worse = sum(row["worse"] for row in case.rows)
        assert f"| {better} | {worse} |" in line
        assert case.used == (case.experiment in USED[case.mechanism])


def test_the_page_is_short() -> None:
    page = mechanisms.pages(EVIDENCE)[EVIDENCE / mechanisms.PAGE]
    prose = [line for line in page.splitlines() if not line.startswith("|")]
    assert sum(len(line.split()) for line in prose) <= 800
