"""Tests the costs of runs that `check` and `run` print."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import tailback as tb
from conftest import SCENARIO
from tailback.errors import ScenarioWarning
from tailback.running import costs


def test_the_cost_of_runs() -> None:
    class Engine:
        def cpu_s(self, packets: int) -> float:
            return packets / 1000

    found = costs.total([(1_234_000, Engine(), 5), (2_000_000, Engine(), 7_000_000)])
    assert (found.runs, found.packets, found.cpu_s, found.memory) == (2, 3_234_000, 3234, 7_000_000)
    assert found.text() == (
        "2 runs: about 3.2 million packets, 54 min of CPU time in total (on average 27 min a run), "
        "at most 7 MB of memory a run"
    )
    short = costs.total([(400, Engine(), 5), (500, Engine(), 5)])
    assert short.text() == (
        "2 runs: about 900 packets, less than 1 s of CPU time in total, at most 5 B of memory a run"
    )
    assert costs.total([(400, Engine(), 5)]).text() == (
        "1 run: about 400 packets, less than 1 s of CPU time, 5 B of memory"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        costs.warn_of_hours(found)
    with pytest.warns(ScenarioWarning, match=r"1 run: about 3\.7 million packets, 1 h of CPU time"):
        costs.warn_of_hours(costs.total([(3_660_000, Engine(), 5)]))


def test_runs_are_warned_of_before_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "HOUR_S", 0.0)
    with pytest.warns(ScenarioWarning, match="^1 run: about "):
        tb.run(SCENARIO, out=tmp_path, progress=False)
    with warnings.catch_warnings():
        # Stored runs are not executed again, so tailback must not warn about their cost.
        warnings.simplefilter("error")
        tb.run(SCENARIO, out=tmp_path, progress=False)
