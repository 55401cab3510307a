"""Compares the simulator's response to marks and losses with the tables of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

import responses
from responses import CCS, Case, Observed
from tailback.kernel.kit import Kit

#: Largest allowed difference between the times of corresponding rows, in us. Differences add up: a
#: round trip over Linux's links is about 0.5 us longer.
TIME_US = 200


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, Observed]:
    return responses.run(responses.names(), "sim", tmp_path_factory.mktemp("sim"))


@pytest.mark.parametrize("cc", CCS)
@pytest.mark.parametrize("name", responses.names())
def test_the_simulator_responds_as_the_kernel(
    name: str, cc: str, simulated: dict[Case, Observed]
) -> None:
    table = responses.golden(name)
    observed = simulated[name, cc].trace
    rows = responses.changes(observed)
    if (known := responses.DELAYED.get(name)) is not None:
        # Known deviation: the traces of the engines agree only until the receive window is almost
        # at its maximum.
        first = responses.compare(table.rows[cc], rows).first
        assert first is not None
        assert min(row.acked for row in first) >= known
        return
    assert [r.response for r in rows] == [r.response for r in table.rows[cc]]
    off = max(abs(a.time_us - b.time_us) for a, b in zip(rows, table.rows[cc], strict=True))
    assert off <= TIME_US
    # A trace has at most one row per microsecond, so the number of rows may differ slightly between
    # engines.
    assert abs(len(observed) - table.count[cc]) <= max(3, table.count[cc] // 1000)


def test_scenarios_cover_every_state(simulated: dict[Case, Observed]) -> None:
    states = {row.state for one in simulated.values() for row in one.trace}
    assert states == set(responses.STATES)
    causes = {cause for one in simulated.values() for cause in one.causes}
    assert causes == {"scheduled", "scheduled_mark"}


def test_the_kernel_writes_the_tables(kernel_kit: Kit, tmp_path: Path) -> None:
    which = ["mark-then-loss", "window-loss-twice"]
    kernel = responses.golden(which[0]).kernel
    if kernel_kit.version != kernel:
        pytest.skip(f"the tables are of Linux {kernel}, the guest kernel has {kernel_kit.version}")
    found = responses.run(which, "kernel", tmp_path)
    for name in which:
        text = responses.table(name, {cc: found[name, cc] for cc in CCS}, kernel)
        assert text == (responses.GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
        for cc in CCS:
            assert "scheduled" in found[name, cc].causes
