"""Tests the validation of the simulator against Linux, with synthetic numbers and with a few real
runs."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import Tailback
from pages import prose
from tailback.kernel.kit import Kit
from tailback.running import scenarios
from tailback.running.options import RunOptions
from tailback_studies.reproduction import published
from tailback_studies.reproduction.judges import from_csv
from tailback_studies.validation import causes, grid, page
from tailback_studies.validation.cells import Cell, Measure, cell
from tailback_studies.validation.verdicts import LIMITS, OF_RATE, judges, misses, verdict

THROUGHPUT, ORDER, DELAY, SIGNALS, RATIO, COMPLETION, RETRANSMITS = LIMITS


def summary(*throughputs: float, delay: float = 5.0, marks: int | None = 0, drops: int = 0) -> Any:
    """Return the parts of a run's summary that `cell` reads."""
    return {
        "flows": [
            {"name": f"f{i}", "throughput_mbit": t, "retransmits": drops}
            for i, t in enumerate(throughputs)
        ],
        "queue": {"delay_ms": {"mean": delay}, "marks": marks, "drops": drops, "utilisation": 1.0},
    }


def alone(sim: list[Any], kernel: list[Any], mix: tuple[str, ...] = ("reno",)) -> Cell:
    """Return synthetic results of a scenario at 10 Mbit/s with an RTT of 40 ms."""
    return cell("fifo", mix, 10e6, 0.04, sim, kernel)


def measure(sim: list[float], kernel: list[float], quantity: str = "delay") -> Measure:
    """Return one measure in ms."""
    return Measure(quantity, "ms", tuple(sim), tuple(kernel))


def test_errors_are_relative_to_the_kernel() -> None:
    assert measure([9.0, 11.0], [8.0, 8.0]).error == pytest.approx(0.25)
    assert measure([0.0], [0.0]).error == 0
    assert measure([1.0], [0.0]).error == math.inf


def test_noise_is_welchs_interval_of_the_difference() -> None:
    found = measure([10.0, 11.0, 12.0], [9.0, 10.0, 11.0])
    # Two samples of three values with variance 1 have a standard error of sqrt(2/3), and 4 degrees
    # of freedom.
    assert found.noise == pytest.approx(2.776445 * math.sqrt(2 / 3) / 10, rel=1e-6)
    assert not found.inside_noise, "three seeds say too little of their spread"
    five = [8.0, 9.0, 10.0, 11.0, 12.0]
    assert measure([x + 1 for x in five], five).inside_noise
    near = [9.0, 9.1, 9.2, 9.3, 9.4]
    assert not measure([x + 1 for x in near], near).inside_noise
    # With one seed or no spread, noise cannot explain an error.
    assert measure([10.0], [9.0]).noise is None
    assert not measure([10.0, 10.0], [9.0, 9.0]).inside_noise


def test_a_pair_is_judged_by_its_fair_shares_and_by_its_ratio() -> None:
    found = alone([summary(6.0, 3.0)], [summary(5.0, 4.0)], ("reno", "cubic"))
    # An error of 1 Mbit/s is 20 % of the fair share of 5 Mbit/s, and 10 % of the rate of 10 Mbit/s.
    assert [m.error for m in found.of("throughput")] == pytest.approx([0.2, -0.2])
    assert [m.error_of_rate for m in found.of("throughput")] == pytest.approx([0.1, -0.1])
    (ratio,) = found.of("ratio")
    assert ratio.shown("sim").mean == pytest.approx(2.0)
    assert ratio.shown("kernel").mean == pytest.approx(1.25)
    assert ratio.error == pytest.approx(0.6)
    # Ratios of 2 and 1/2 are equally far from 1, so their mean error is 0.
    both = alone([summary(2.0, 1.0), summary(1.0, 2.0)], [summary(1.0, 1.0)] * 2, ("reno", "reno"))
    assert both.of("ratio")[0].error == pytest.approx(0.0)
    # A single flow is compared with the kernel's throughput, not with the link's rate.
    (one,) = alone([summary(6.0)], [summary(5.0)]).of("throughput")
    assert [one.error, one.error_of_rate] == pytest.approx([0.2, 0.2])


def test_errors_over_the_rate_forgive_what_a_fair_share_does_not() -> None:
    """The fair share of one of 64 flows is 1.6 % of the link's rate. The limit is 8 % of the link's
    rate, so even a flow without throughput is within this limit."""
    mix = ("cubic",) * 64
    fair = 10 / 64
    starved = alone([summary(0.0, *[fair] * 63)], [summary(*[fair] * 64)], mix)
    assert OF_RATE.misses(starved) == []
    assert len(THROUGHPUT.misses(starved)) == 1


def test_flows_alike_are_compared_in_order_of_throughput() -> None:
    """If identical flows are sorted by throughput, the engines agree, although the slow flow is not
    the same in all runs."""
    sim = [summary(1.0, 4.0, 5.0), summary(4.0, 1.0, 5.0)]
    kernel = [summary(4.0, 1.0, 5.0), summary(4.0, 1.0, 5.0)]
    found = alone(sim, kernel, ("reno", "reno", "cubic"))
    assert [m.error for m in found.of("order")] == pytest.approx([0.0, 0.0, 0.0])
    assert [m.flow for m in found.of("order")][:2] == [
        "reno, part 1 of 2",
        "reno, part 2 of 2",
    ]
    assert len(THROUGHPUT.misses(found)) == 2
    (miss,) = misses([found])
    assert (miss.limit, miss.count) == (THROUGHPUT, 2)
    # Many flows are compared in four parts. Five flows are divided into parts of 1, 1, 1 and 2
    # flows.
    many = alone([summary(5.0, 1.0, 4.0, 2.0, 3.0)], [summary(*[3.0] * 5)], ("reno",) * 5)
    assert [m.sim for m in many.of("order")] == [(1.0,), (2.0,), (3.0,), (4.5,)]
    # Flows on different hosts are not identical, so they are not sorted by throughput.
    apart = cell("cake", ("reno",) * 3, 10e6, 0.02, sim, kernel, kinds=("a", "b", "c"))
    assert apart.of("order") == []
    (queue,) = (q for q in grid.QUEUES if q.hosts)
    assert len(set(grid.kinds(queue, queue.mixes[0]))) == 2


def test_requests_have_a_mean_over_all_sizes() -> None:
    def web(*bins: tuple[int, float]) -> Any:
        made = [{"n": n, "completion_s": {"mean": mean}} for n, mean in bins]
        return {**summary(), "traffic": [{"completions": {"bins": made}}, {"completions": None}]}

    found = alone([web((3, 0.1), (1, 0.5))], [web((4, 0.25), (0, 0.0))], ())
    (completion,) = found.of("completion")
    assert completion.shown("sim").mean == pytest.approx(200.0)
    assert completion.error == pytest.approx(-0.2)
    assert found.flows == "none"
    assert alone([summary(1.0)], [summary(1.0)]).of("completion") == []


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


def test_what_is_sent_again_is_a_goal_of_its_own() -> None:
    """Count retransmissions by themselves, because senders may retransmit packets that the queue
    never dropped.
    """
    sim = {**summary(9.0, drops=56_101), "flows": [{**summary(9.0)["flows"][0]}]}
    sim["flows"][0]["retransmits"] = 130_886
    found = alone([sim], [summary(9.0, drops=56_101)])
    assert SIGNALS.misses(found) == []
    assert [m.error for m in RETRANSMITS.misses(found)] == [pytest.approx(1.333, abs=1e-3)]
    # A difference of a few packets does not count as an error beyond the limit.
    few = alone([summary(9.0, drops=6)], [summary(9.0, drops=2)])
    assert RETRANSMITS.misses(few) == []
    assert "or 5 packets" in RETRANSMITS.text


def test_goals_count_cells() -> None:
    good = alone([summary(9.0)], [summary(9.0)])
    bad = alone([summary(9.0, delay=6.0)], [summary(10.0, delay=5.0)])
    found = judges([good] * 19 + [bad])
    # The goals are in this order: median, throughput, delay, marks and drops, retransmissions,
    # throughput relative to the rate.
    assert [judge.within for judge in found] == [None, 19, 19, 20, 20, 19]
    assert [judge.holds for judge in found] == [True] * 6
    assert found[0].median == 0
    assert [judge.error for judge in found] == [
        "share",
        "share",
        "relative",
        "relative",
        "relative",
        "capacity",
    ]
    # No pair of flows was measured, so the goal for ratios is left out.
    assert RATIO.name not in [judge.judge for judge in found]
    assert [miss.cell for miss in misses([good, bad])] == [bad, bad]
    assert [judge.holds for judge in judges([good] * 9 + [bad])][:2] == [True, False]


def test_noise_is_counted_beside_and_never_instead() -> None:
    sim = [summary(mbit) for mbit in (4.0, 6.0, 8.0, 10.0, 10.0)]
    spread = alone(sim, [summary(mbit) for mbit in (9.0, 9.0, 9.0, 9.5, 9.5)])
    told = verdict(THROUGHPUT, [spread])
    assert told is not None
    assert (told.within, told.chance, told.holds) == (0, 1, False)
    assert (told.judge.within, told.judge.within_or_chance) == (0, 1)
    (miss,) = misses([spread])
    assert miss.inside_noise
    few = verdict(THROUGHPUT, [spread, alone(sim[:4], [summary(9.5)] * 4)])
    assert few is not None
    assert (few.within, few.chance, few.holds) == (0, None, False)
    assert few.judge.within_or_chance is None


def test_the_kernel_is_compared_with_itself() -> None:
    """The kernel's noise is the difference between two pairs of seeds on the kernel engine, scaled
    to five seeds."""
    found = measure([10.0] * 5, [9.0, 11.0, 50.0, 12.0, 14.0])
    assert found.own_noise == pytest.approx(3 * math.sqrt(2 / 5) / 19.2)
    assert measure([10.0], [9.0]).own_noise is None
    told = verdict(DELAY, [Cell("fifo", ("reno",), 10e6, 0.04, (found,))])
    assert told is not None
    assert told.judge.noise_cells == 1
    assert told.judge.noise_median == pytest.approx(found.own_noise)


def test_causes_are_what_was_measured() -> None:
    noisy = [summary(mbit) for mbit in (4.0, 6.0, 8.0, 10.0, 10.0)]
    noise = alone(noisy, [summary(9.0)] * 5)
    drawn = alone([summary(1.0, 4.0)] * 5, [summary(4.0, 1.0)] * 5, ("reno", "reno"))
    # If the flows are compared in their order, the engines differ by more than the limit, but by
    # less than the noise.
    turns = [summary(2.0, 8.0), summary(4.0, 6.0)] * 3
    nearly = alone(turns, [summary(8.0, 2.0)] * 5 + [summary(5.0, 5.0)], ("reno", "reno"))
    assert ORDER.misses(nearly)
    assert not ORDER.missed(nearly)
    beyond = [miss for miss in misses([noise, drawn, nearly]) if miss.limit is THROUGHPUT]
    ran = grid.GridRuns([], {}, Path("nowhere"), [])
    causes_found = {cause.text for cause in causes.explain(beyond, ran, RunOptions())}
    assert causes_found == {causes.NOISE, causes.DRAWN}

    off = alone([summary(5.0)] * 5, [summary(6.0)] * 5)
    (miss,) = misses([off])
    assert causes.judged(miss, []).text == causes.NOT_RUN
    same = alone([summary(5.0)] * 5, [summary(6.0)] * 5)
    told = causes.judged(miss, [same])
    assert (told.text, told.sim, told.kernel) == (causes.UNKNOWN, (5.0, 5.0), (6.0, 6.0))
    assert told.error == pytest.approx(-1 / 6)
    # In the neighbouring scenario, the engines differ in the opposite direction, so the cause is a
    # phase effect.
    other = alone([summary(6.0)] * 5, [summary(5.0)] * 5)
    assert causes.judged(miss, [other]) == causes.Cause(causes.PHASES, 0.0, (5.0, 6.0), (5.0, 6.0))


def test_more_seeds_find_rare_events_and_few_states() -> None:
    (miss,) = misses([alone([summary(5.0)] * 5, [summary(6.0)] * 5)])

    def found(sim: tuple[float, ...], kernel: tuple[float, ...]) -> str | None:
        again = alone([summary(mbit) for mbit in sim], [summary(mbit) for mbit in kernel])
        return causes.with_more_seeds(miss, [again])

    assert found((5.0, 5.0, 5.1, 6.0), (5.1, 6.0, 6.0, 6.0)) == causes.SETTLED
    # The means of these values differ by less than the limit.
    assert found((5.0, 5.2, 5.4), (5.3, 5.3, 5.3)) == causes.FEW
    assert found((1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 2.0, 3.0, 4.0, 5.0)) == causes.FEW
    # In the cases below, the means differ, and the values of the two engines do not form the same
    # few groups. One engine has a further group, all values form one group, or all values differ.
    assert found((5.0, 5.0, 5.0, 6.0), (5.0, 6.0, 7.0, 7.0)) is None
    assert found((5.0, 5.2, 5.4, 5.6), (5.5, 5.8, 6.1, 6.4)) is None
    assert found((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 3.0, 4.0, 5.0, 6.0)) is None
    assert causes.with_more_seeds(miss, []) is None


def test_neighbours_are_the_same_cell_a_little_off(tmp_path: Path) -> None:
    """Neighbouring scenarios have the scenario's rate, and therefore its settings that depend on
    the rate. If no scenario exceeds a limit, no neighbouring scenarios are run."""
    found = []
    for queue in grid.QUEUES:
        for mix in queue.mixes:
            if queue.fixed or queue.base == "fast":
                continue
            at = Cell(queue.name, mix, 10e6, 0.02, (), {"sim": ["a"]})
            loaded = scenarios.load(queue.file, scenarios.texts(causes.around(queue, at)), 1)
            assert len(loaded.points) == len(causes.RTTS)
            found += loaded.points
    assert {point.params["bottleneck.rate"] for point in found} == {10e6}
    assert {point.params["path.rtt"] for point in found} == {19.6e6, 19.8e6, 20.2e6, 20.4e6}
    for name in ("fast-0.1bdp", "step-down"):
        (queue,) = (q for q in grid.QUEUES if q.name == name)
        at = Cell(name, queue.mixes[0], 250e6, 0.02, (), {"sim": ["a"]})
        loaded = scenarios.load(queue.file, scenarios.texts(causes.around(queue, at)), 1)
        assert [p.params["path.rtt"] for p in loaded.points] == [19.6e6, 19.8e6, 20.2e6, 20.4e6]
    # RED's thresholds are those for the slower link, because all of these scenarios use the rate of
    # this link.
    thresholds = {point.params.get("bottleneck.queue.max") for point in found}
    assert thresholds == {None, 37500.0}
    one = Cell("red", ("reno",), 10e6, 0.02, (), {"sim": ["a"], "kernel": ["a"]})
    ran = grid.GridRuns([], {}, tmp_path, [])
    assert causes.neighbours([one], ran, RunOptions(), stored=True) == {one.id: []}


def test_every_scenario_is_complete() -> None:
    for queue in grid.QUEUES:
        for mix in queue.mixes:
            loaded = scenarios.load(queue.file, scenarios.texts(grid.sets(queue, mix)), None)
            if queue.fixed:
                # The validation uses this scenario file unchanged. The mix of flows in its table
                # must match the flows of the file.
                groups = tomllib.loads(queue.file.read_text(encoding="utf-8"))["flows"]
                flows = [flow["cc"] for flow in groups for _ in range(flow.get("count", 1))]
                assert (len(loaded.points), tuple(flows)) == (5, mix)
                assert queue.point[0] > 0 < queue.point[1]
                continue
            if queue.base == "fast":
                assert len(loaded.points) == 15
                continue
            # The scenarios combine 2 rates, 3 round-trip times and 5 seeds. Queues with requests
            # are validated with only 2 round-trip times. Some queues are validated with only one
            # round-trip time.
            one = ("fq_", "cake", "dualpi2-options", "dualpi2-udp")
            times = 2 if queue.family == "web" else 1 if queue.name.startswith(one) else 3
            assert len(loaded.points) == 10 * times
        assert set(queue.quick) <= set(queue.mixes)


def both(tmp_path: Path, queue: str, mix: tuple[str, ...], rate: str, rtt: str) -> Cell:
    """Run a scenario with one seed for 10 s on both engines. Return the results."""
    (chosen,) = (q for q in grid.QUEUES if q.name == queue)
    base = {
        **grid.sets(chosen, mix),
        "duration": "10s",
        "warmup": "2s",
        "sweep": {"path.rtt": [rtt]},
        "bottleneck.rate": rate,
    }
    sim, kernel = (
        [
            run.summary
            for run in tailback.run(chosen.file, set=base, seeds=1, engine=engine, out=tmp_path)
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


def test_a_family_names_its_page_and_its_queues() -> None:
    impaired = [q.name for q in grid.QUEUES if q.family == "impairments"]
    assert len(impaired) == 14
    assert page.named(impaired) == ["impairments"]
    assert page.named(impaired[1:]) == impaired[1:]
    assert page.named(["codel", "wred"]) == ["codel", "wred"]


def test_the_command(tailback: Tailback) -> None:
    refused = tailback("validate", "--queue", "codl")
    assert refused.returncode == 2
    assert "codel" in refused.stderr
    nowhere = tailback("validate", "--write")
    assert nowhere.returncode == 2
    assert "docs" in nowhere.stderr


def test_the_report_of_a_small_grid(tmp_path: Path, kernel_kit: Kit, tailback: Tailback) -> None:
    assert kernel_kit.version
    (tmp_path / "docs" / "evidence").mkdir(parents=True)
    done = tailback("validate", "--quick", "--queue", "codel", "--seeds", "1", "--write", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert set(shown["engines"]) == {"sim", "kernel"}
    assert [c["flows"] for c in shown["cells"]] == [["reno"]] * 4
    assert [v["holds"] for v in shown["summary"]] == [True] * 6
    assert shown["misses"] == []
    # A validation of some queues does not overwrite the page of all queues.
    docs = tmp_path / "docs" / "evidence"
    assert not (docs / "validation.md").exists()
    text = (tmp_path / "docs" / "evidence" / "validation-codel.md").read_text(encoding="utf-8")
    for name in ("errors-codel.svg", "goals.csv"):
        assert (tmp_path / "docs" / "evidence" / "validation-codel" / name).is_file()
    whole = json.loads((docs / f"validation-codel{published.RESULTS}").read_text("utf-8"))
    figures = [b["figure"] for s in whole["sections"] for b in s["blocks"] if "figure" in b]
    assert "validation-codel/errors-codel.svg" in figures
    # The page shows both engines side by side, because there are only a few scenarios.
    (side,) = (s for s in whole["sections"] if s["title"] == published.SIDE_BY_SIDE)
    (table,) = (b for b in side["blocks"] if "columns" in b)
    assert [row[0] for row in table["rows"]] == [c["id"] for c in shown["cells"]]
    delay = {m["quantity"]: m for m in shown["cells"][0]["measures"]}["delay"]
    of_both = "; ".join(f"{delay[engine]['mean']:.4g}" for engine in ("sim", "kernel"))
    assert table["rows"][0][table["columns"].index("mean queue delay, ms")] == of_both
    assert len(text.split()) <= published.MAX_WORDS
    assert "- **command**: tailback validate --quick --seeds 1 --queue codel --write\n" in text
    assert prose.unsourced("docs/evidence/validation-codel.md", text) is None
    told = from_csv((tmp_path / "docs" / "evidence" / "validation-codel" / "goals.csv").read_text())
    assert [judge.within for judge in told] == [None, 4, 4, 4, 4, 4]
    assert {judge.within_or_chance for judge in told} == {None}
    # `--stored` compares the stored runs, with the same result.
    again = tailback(
        "validate", "--quick", "--queue", "codel", "--seeds", "1", "--stored", "--json"
    )
    assert json.loads(again.stdout) == shown
    nothing = tailback("validate", "--quick", "--queue", "pie", "--seeds", "1", "--stored")
    assert nothing.returncode == 2


def test_many_flows_have_a_short_name() -> None:
    def name(*mix: str) -> str:
        return Cell("fq_codel", mix, 10e6, 0.02, ()).flows

    assert name(*["reno"] * 32, *["cubic"] * 32) == "32 reno+32 cubic"
    assert name(*["cubic"] * 8) == "8 cubic"
    assert name("cubic", "cubic") == "cubic+cubic"
