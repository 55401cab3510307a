"""What `check` and `run` say of the cost of runs."""

from __future__ import annotations

import warnings

import pytest

from tailback import costs
from tailback.errors import ScenarioWarning


def test_the_cost_of_runs() -> None:
    class Engine:
        def cpu_s(self, packets: int) -> float:
            return packets / 1000

    found = costs.total([(1_234_000, Engine(), 5), (2_000_000, Engine(), 7_000_000)])
    assert (found.runs, found.packets, found.cpu_s, found.memory) == (2, 3_234_000, 3234, 7_000_000)
    assert found.text() == (
        "2 runs: about 3.2 million packets, 54 min of CPU time, 7 MB of memory a run"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        costs.warn_of_hours(found)
    with pytest.warns(ScenarioWarning, match=r"1 run: about 3\.7 million packets, 1 h of CPU time"):
        costs.warn_of_hours(costs.total([(3_660_000, Engine(), 5)]))
