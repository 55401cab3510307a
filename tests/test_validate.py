"""The simulator against Linux: verdicts on made-up numbers, and cells that agree tightly."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import Tailback
from tailback import running
from tailback.kernel.kit import Kit
from tailback.validation import grid, page
from tailback.validation.cells import Cell, Measure, cell
from tailback.validation.verdicts import LIMITS, verdicts, worst

THROUGHPUT, DELAY, SIGNALS, RATIO = LIMITS


def summary(*throughputs: float, delay: float = 5.0, marks: int | None = 0, drops: int = 0) -> Any:
    """What `cell` reads of a run's summary."""
    return {
        "flows": [
            {"name": f"f{i}", "throughput_mbit": t, "retransmits": drops}
            for i, t in enumerate(throughputs)
        ],
        "queue": {"delay_ms": {"mean": delay}, "marks": marks, "drops": drops, "utilisation": 1.0},
    }


def alone(sim: list[Any], kernel: list[Any], mix: tuple[str, ...] = ("reno",)) -> Cell:
    """A cell at 10 Mbit/s and 40 ms."""
    return cell("fifo", mix, 10e6, 0.04, sim, kernel)


def measure(sim: list[float], kernel: list[float], quantity: str = "delay") -> Measure:
    """One measure in ms."""
    return Measure(quantity, "ms", tuple(sim), tuple(kernel))


def test_errors_are_relative_to_the_kernel() -> None:
    assert measure([9.0, 11.0], [8.0, 8.0]).error == pytest.approx(0.25)
    assert measure([0.0], [0.0]).error == 0
    assert measure([1.0], [0.0]).error == math.inf


def test_noise_is_welchs_interval_of_the_difference() -> None:
    found = measure([10.0, 11.0, 12.0], [9.0, 10.0, 11.0])
    # Two samples of 3 with variance 1: standard error sqrt(2/3), 4 degrees of freedom.
    assert found.noise == pytest.approx(2.776445 * math.sqrt(2 / 3) / 10, rel=1e-6)
    assert not found.inside_noise, "three seeds say too little of their spread"
    five = [8.0, 9.0, 10.0, 11.0, 12.0]
    assert measure([x + 1 for x in five], five).inside_noise
    near = [9.0, 9.1, 9.2, 9.3, 9.4]
    assert not measure([x + 1 for x in near], near).inside_noise
    # One seed, or no spread at all: nothing is excused.
    assert measure([10.0], [9.0]).noise is None
    assert not measure([10.0, 10.0], [9.0, 9.0]).inside_noise


def test_a_pair_is_judged_by_the_share_of_the_link_and_by_its_ratio() -> None:
    found = alone([summary(6.0, 3.0)], [summary(5.0, 4.0)], ("reno", "cubic"))
    assert [m.error for m in found.of("throughput")] == pytest.approx([0.1, -0.1])
    (ratio,) = found.of("ratio")
    assert ratio.shown("sim").mean == pytest.approx(2.0)
    assert ratio.shown("kernel").mean == pytest.approx(1.25)
    assert ratio.error == pytest.approx(0.6)
    # A mean of ratios and its reverse are equally far from 1.
    both = alone([summary(2.0, 1.0), summary(1.0, 2.0)], [summary(1.0, 1.0)] * 2, ("reno", "reno"))
    assert both.of("ratio")[0].error == pytest.approx(0.0)


def test_delay_has_an_absolute_limit_too() -> None:
    assert DELAY.within(measure([0.5], [0.21]))
    assert not DELAY.within(measure([0.55], [0.2]))
    assert DELAY.within(measure([11.0], [10.0]))
    assert not DELAY.within(measure([11.1], [10.0]))


def test_signals_are_marks_and_drops() -> None:
    found = alone([summary(9.0, marks=10, drops=2)], [summary(9.0, marks=None, drops=10)])
    (signals,) = found.of("signals")
    assert (signals.sim, signals.kernel) == ((12,), (10,))
    assert SIGNALS.within(signals)


def test_goals_count_cells() -> None:
    good = alone([summary(9.0)], [summary(9.0)])
    bad = alone([summary(9.0, delay=6.0)], [summary(10.0, delay=5.0)])
    found = verdicts([good] * 19 + [bad])
    assert [v.value for v in found] == pytest.approx([0.0, 0.95, 0.95, 1.0])
    assert [v.holds for v in found] == [True] * 4
    # No pair was measured, so nothing can be said of ratios.
    assert RATIO.words not in [v.goal for v in found]
    assert worst([good, bad], 5) == [bad]
    assert [v.holds for v in verdicts([good] * 9 + [bad])][:2] == [True, False]


def test_a_miss_inside_noise_is_no_miss() -> None:
    sim = [summary(mbit) for mbit in (4.0, 6.0, 8.0, 10.0, 10.0)]
    spread = alone(sim, [summary(mbit) for mbit in (9.0, 9.0, 9.0, 9.5, 9.5)])
    (wide,) = [v for v in verdicts([spread]) if v.goal == THROUGHPUT.words]
    assert (wide.value, wide.plain, wide.holds) == (1.0, 0.0, True)
    assert worst([spread], 1) == []
    few = alone(sim[:4], [summary(9.5)] * 4)
    (told,) = [v for v in verdicts([few]) if v.goal == THROUGHPUT.words]
    assert (told.value, told.plain, told.holds) == (0.0, 0.0, False)


def test_causes_name_cells_of_the_grid() -> None:
    queues = {queue.name: queue for queue in grid.QUEUES}
    mixes = {"+".join(mix) for queue in grid.QUEUES for mix in queue.mixes}
    for entry in page.causes():
        assert set(entry) <= {"queues", "flows", "at", "cause"}
        assert set(entry.get("queues", [])) <= set(queues)
        assert set(entry.get("flows", [])) <= mixes
    table = [{"queues": ["fifo"], "flows": ["reno"], "cause": "phase"}]
    assert page.cause(alone([summary(1.0)], [summary(1.0)]), table) == "phase"
    assert page.cause(alone([summary(1.0)], [summary(1.0)], ("cubic",)), table) == page.UNEXPLAINED


def test_every_scenario_is_complete() -> None:
    for queue in grid.QUEUES:
        for mix in queue.mixes:
            loaded = running.load(
                queue.file, running.texts({"flows": grid.flows(queue, mix)}), None
            )
            # 2 rates, 3 round-trip times (1 where flows have queues of their own, or where
            # something else is looked at), 5 seeds.
            one = ("fq_", "cake", "dualpi2-options", "dualpi2-udp")
            assert len(loaded.points) == (10 if queue.name.startswith(one) else 30)
        assert set(queue.quick) <= set(queue.mixes)


def both(tmp_path: Path, queue: str, mix: tuple[str, ...], rate: str, rtt: str) -> Cell:
    """A cell with one seed, 10 s long."""
    (chosen,) = (q for q in grid.QUEUES if q.name == queue)
    base = {
        "flows": grid.flows(chosen, mix),
        "duration": "10s",
        "warmup": "2s",
        "sweep": {"path.rtt": [rtt]},
        "bottleneck.rate": rate,
    }
    sim, kernel = (
        [
            run.summary
            for run in running.run(chosen.file, set=base, seeds=1, engine=engine, out=tmp_path)
        ]
        for engine in grid.ENGINES
    )
    return cell(queue, mix, float(rate.removesuffix("Mbit")) * 1e6, 0.0, sim, kernel)


@pytest.mark.parametrize(
    ("queue", "mix", "rate", "rtt"),
    [
        ("codel", ("reno",), "50Mbit", "40ms"),
        ("codel-ecn", ("cubic",), "10Mbit", "10ms"),
        ("codel-ecn", ("dctcp",), "50Mbit", "10ms"),
        ("fifo", ("cubic",), "10Mbit", "40ms"),
    ],
)
def test_cells_agree(
    tmp_path: Path, kernel_kit: Kit, queue: str, mix: tuple[str, ...], rate: str, rtt: str
) -> None:
    assert kernel_kit.version
    found = both(tmp_path, queue, mix, rate, rtt)
    errors = {m.quantity: abs(m.error) for m in found.measures}
    assert errors["throughput"] <= 0.01
    assert errors["delay"] <= 0.05
    (signals,) = found.of("signals")
    assert signals.kernel[0] > 0
    assert errors["signals"] <= 0.05


def test_the_command(tailback: Tailback) -> None:
    refused = tailback("validate", "--queue", "codl")
    assert refused.returncode == 2
    assert "codel" in refused.stderr
    nowhere = tailback("validate", "--write")
    assert nowhere.returncode == 2
    assert "docs" in nowhere.stderr


def test_the_report_of_a_small_grid(tmp_path: Path, kernel_kit: Kit, tailback: Tailback) -> None:
    assert kernel_kit.version
    (tmp_path / "docs").mkdir()
    done = tailback("validate", "--quick", "--queue", "codel", "--seeds", "1", "--write", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert set(shown["engines"]) == {"sim", "kernel"}
    assert [c["flows"] for c in shown["cells"]] == [["reno"]] * 4
    assert [v["holds"] for v in shown["summary"]] == [True] * 4
    # A part does not stand in the place of the whole.
    assert not (tmp_path / "docs" / "validation.md").exists()
    text = (tmp_path / "docs" / "validation-codel.md").read_text(encoding="utf-8")
    for name in ("validation-codel/errors.svg", "validation-codel/cells.csv"):
        assert (tmp_path / "docs" / name).is_file()
    assert "](validation-codel/errors.svg)" in text
    assert "`tailback validate --quick --seeds 1 --queue codel --write`" in text


def test_many_flows_have_a_short_name() -> None:
    def name(*mix: str) -> str:
        return Cell("fq_codel", mix, 10e6, 0.02, ()).flows

    assert name(*["reno"] * 32, *["cubic"] * 32) == "32 reno+32 cubic"
    assert name(*["cubic"] * 8) == "8 cubic"
    assert name("cubic", "cubic") == "cubic+cubic"
