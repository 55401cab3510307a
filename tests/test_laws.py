"""Compares the simulator's response functions with Linux's response functions (laws/linux.tsv)."""

from __future__ import annotations

import pytest

import laws
from laws import CASES, Case

#: Cases with at most a few hundred thousand packets. crates/engine/tests/laws.rs tests cases with
#: more packets.
SHORT = [case for case in CASES if case.every < 100_000]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return laws.windows(SHORT, "sim", tmp_path_factory.mktemp("sim"))


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_the_simulators_window_is_that_of_linux(
    case: Case, simulated: dict[str, list[float]]
) -> None:
    of_linux = laws.linux()[case.name]
    assert len(of_linux) == case.lists
    # The largest allowed difference is the half-width of Linux's confidence interval over the lists
    # of random numbers, but at least one segment.
    off = laws.mean(simulated[case.name]) - laws.mean(of_linux)
    assert abs(off) <= laws.half_width(of_linux)


def test_marks_at_regular_distances_leave_dctcp_half_a_distance() -> None:
    # A reduction lasts for a round of W packets. The reduction also resets the count of packets
    # towards the next increase of the window (`tcp_init_cwnd_reduction`). After the reduction, the
    # window grows only if W more packets are acknowledged before the next mark. So the window
    # settles at W = n/2. The reduction by alpha W/2 = 1/4 segment is rounded to 0.
    [window] = laws.linux()["dctcp, every 100th marked"]
    assert window == pytest.approx(100 / 2, abs=1)
