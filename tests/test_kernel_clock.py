"""Tests the kernel engine on the machine's clock, and the page that compares it with virtual
time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback as package
from conftest import SCENARIO, Tailback
from pages import prose
from tailback.errors import InputError
from tailback.kernel import guest
from tailback.kernel.kit import Kit
from tailback.running import engines, scenarios, virtual_time


def test_the_clocks_have_versions_of_their_own(kernel_kit: Kit) -> None:
    virtual, real = engines.get("kernel"), engines.get("kernel-realtime")
    assert (virtual.name, real.name) == ("kernel", "kernel")
    assert real.version == f"{virtual.version}-realtime"
    ids = [
        {point.run_id for point in scenarios.load(SCENARIO, [], 2, engine).points}
        for engine in (virtual, real)
    ]
    assert len(ids[0] | ids[1]) == 4
    place = Path("/work")
    words = set(guest.command(kernel_kit, place, 256, 1)) - set(
        guest.command(kernel_kit, place, 256, 1, "real")
    )
    assert words == {"time-travel=inf-cpu", f"time-travel-start={guest.START_NS}"}
    with pytest.raises(InputError, match="kernel-realtime"):
        engines.get("kernel-realtim")


def test_a_run_in_real_time_lasts_as_long_as_it_says(
    kernel_kit: Kit,  # noqa: ARG001
    tailback: Tailback,
    tmp_path: Path,
) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    done = tailback("run", "s.toml", "--engine", "kernel-realtime", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["engine"] == "kernel"
    assert printed["version"].endswith("-realtime")
    [point] = package.open_results(tmp_path / "results").points
    assert point.manifest["environment"]["clock"] == "real"
    assert point.timing["wall_s"] >= point.summary["duration_s"] == 2.0
    assert all(flow["throughput_mbit"] > 0 for flow in point.summary["flows"])


def test_departures_of_the_simulator_are_where_the_rate_has_them(tmp_path: Path) -> None:
    scenario = virtual_time.TIMED.scenario(4.0, packets=True)
    gaps = virtual_time.gaps(package.run(scenario, out=tmp_path), virtual_time.TIMED)
    assert gaps.slot_us == 1211.2
    assert gaps.count > 2000
    assert gaps.off_max_us == pytest.approx(0.0, abs=1e-9)


def test_the_page_shows_every_cell_on_both_clocks() -> None:
    def measured(throughput: float) -> virtual_time.ClockMeasures:
        return virtual_time.ClockMeasures(
            [throughput, throughput + 0.2],
            [5.0, 5.0],
            [9.0, 9.0],
            [3, 4],
            [9e3, 9e3],
            [1514.0] * 2,
            [0.1] * 2,
        )

    both = {"virtual": measured(9.4), "real": measured(8.45)}
    gaps = virtual_time.Gaps(1211.2, 1000, 12.234, 0.1, 0.2, 0.3)
    made = virtual_time.ClockComparison(
        20.0,
        2,
        1,
        "7.3.4+0123-realtime",
        2,
        (0.5, 1.5),
        True,
        [(cell, both) for cell in virtual_time.CELLS],
        [(cell, both) for cell in virtual_time.OFFLOADED],
        {"virtual": gaps, "real": gaps},
    )
    text = virtual_time.page(made)
    assert "| Linux | 7.3.4 |\n| seeds | 2 |\n| duration of a run, s | 20 |" in text
    assert (
        "guests included) | 0.5 |\n| one-minute load average after the runs in real time | 1.5 |"
    ) in text
    assert "SCHED_RR" in text
    for cell in virtual_time.CELLS:
        assert f"| {cell.name} | virtual | 9.5 (9.4 to 9.6) | 5 (5 to 5) |" in text
        assert f"| {cell.name} | real | 8.55 | 5 | 9 | 3.5 |" in text
    assert text.count("real, on |") == len(virtual_time.OFFLOADED)
    # In real time, the throughput is lower than in virtual time by (9.5 - 8.55) / 9.5 = 10 %. Late
    # timers lose 12.234 us of every 1223.434 us, which is 1 %.
    assert "| throughput | 10.00 | 10.00 |" in text
    assert "| rate lost through late timers, % | 1.00 | 1.00 |" in text
    assert prose.loose("virtual-time.md", text) == []
    assert json.dumps(made.to_dict())
