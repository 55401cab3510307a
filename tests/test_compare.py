"""Tests comparisons: their statistics, the flagged differences, and the command."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import SCENARIO, SWEEP, Tailback
from tailback import _native
from tailback.comparison.families import false_discovery
from tailback.comparison.judging import judge
from tailback.comparison.quantities import select
from tailback.comparison.text import difference_text
from tailback.comparison.thresholds import Threshold
from tailback.comparison.variants import parse
from tailback.metrics.differences import Difference, paired, unpaired
from tailback.metrics.harm import harm
from tailback.metrics.statistics import t_quantile
from tailback.running.engines import sim

# The runs are long enough for the queue to settle at its target.
CODEL = SCENARIO.replace("10Mbit", "20Mbit").replace('"2s"', '"6s"').replace('"500ms"', '"2s"')
SLOW = "slow:bottleneck.queue.target=20ms"


# Two-sided quantiles of Student's t at 95 %, from printed tables.
@pytest.mark.parametrize(("freedom", "t95"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262)])
def test_quantiles_of_students_t(freedom: int, t95: float) -> None:
    assert t_quantile(freedom) == pytest.approx(t95, abs=6e-4)
    # Welch's test needs quantiles for fractional degrees of freedom.
    between = t_quantile(freedom + 0.5)
    assert t_quantile(freedom + 1) < between < t_quantile(freedom)


@pytest.mark.parametrize("size", [3.0, 1e6, -3.0])
def test_tails_are_exact_where_there_is_a_closed_form(size: float) -> None:
    # With two degrees of freedom, P(|T| > t) = 1 - t / sqrt(2 + t^2), which is about 1 / t^2 for
    # large t.
    found = paired([0.0, 0.0, 0.0], [size - 1, size, size + 1])
    assert found is not None
    t = 3**0.5 * abs(size)
    assert found.p == pytest.approx(2 / (2 + t * t + t * (2 + t * t) ** 0.5), rel=1e-9)


def test_numbers_are_those_of_the_textbooks_formulas() -> None:
    # The expected values follow from the sums of Abramowitz and Stegun, 26.7.3, for four degrees of
    # freedom. The expected values also follow from Welch's formula, evaluated with fractions.
    base, other = [1.0, 2.5, 2.0, 4.0, 3.1], [1.4, 3.1, 1.9, 4.9, 3.3]
    same, apart = paired(base, other), unpaired(base, other[:4])
    assert same is not None
    assert apart is not None
    assert same.ci95 == pytest.approx(0.4728115642019842, rel=1e-12)
    assert same.p == pytest.approx(0.07861139903123826, rel=1e-12)
    assert apart.ci95 == pytest.approx(2.339077129591631, rel=1e-12)
    assert apart.p == pytest.approx(0.7548658706371696, rel=1e-12)


def test_paired_difference_of_students_sleep_data() -> None:
    # Student (1908) lists the hours of sleep that ten patients gained with two drugs. The result is
    # t = 4.0621, p = 0.002833.
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = paired(one, other)
    assert found is not None
    assert (found.n, found.paired) == (10, True)
    assert found.absolute == pytest.approx(1.58)
    assert found.p == pytest.approx(0.002833, abs=1e-6)
    assert found.ci95 == pytest.approx((2.4598858 - 0.7001142) / 2, abs=1e-6)
    assert found.effect_size == pytest.approx(4.0621 / 10**0.5, abs=1e-4)
    assert found.relative == pytest.approx(1.58 / 0.75)


def test_welch_difference_of_students_sleep_data() -> None:
    # If the same numbers are treated as two independent samples, t = 1.8608 with 17.776 degrees of
    # freedom, and p = 0.07939.
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = unpaired(one, other)
    assert found is not None
    assert not found.paired
    assert found.p == pytest.approx(0.07939, abs=1e-5)
    assert found.ci95 == pytest.approx((3.3654832 + 0.2054832) / 2, abs=1e-6)


def test_a_relative_difference_has_the_spread_of_both() -> None:
    # For each seed, the variant's value is exactly 1.1 times the baseline's value, so the ratio has
    # no spread.
    base = [10.0, 11.0, 12.0]
    found = paired(base, [1.1 * x for x in base])
    assert found is not None
    assert found.relative == pytest.approx(0.1)
    assert found.relative_ci95 == pytest.approx(0.0, abs=1e-9)
    assert found.ci95 is not None
    assert found.ci95 > 0.1


def test_what_has_no_spread_has_no_interval() -> None:
    one = paired([1.0], [2.0])
    assert one is not None
    assert (one.absolute, one.ci95, one.p) == (1.0, None, None)
    same = paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert same is not None
    assert (same.absolute, same.relative, same.ci95, same.p) == (0.0, 0.0, None, None)
    # All five pairs differ in the same direction, so p is the probability of five heads or five
    # tails.
    constant = paired([1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.1, 3.1, 4.1, 5.1])
    assert constant is not None
    assert constant.absolute == pytest.approx(0.1)
    assert (constant.ci95, constant.p) == (None, 2 / 32)
    # There are 20 ways to choose 3 of 6 values. Two of these ways give a difference as large as the
    # difference here.
    apart = unpaired([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    assert apart is not None
    assert (apart.ci95, apart.p) == (None, 0.1)
    assert paired([], []) is None
    assert unpaired([], [1.0]) is None
    # A difference from zero cannot be given in percent.
    grown = paired([0.0, 0.0, 0.0], [1.0, 2.0, 4.0])
    assert grown is not None
    assert (grown.relative, grown.relative_ci95) == (None, None)


def test_differences_as_people_read_them() -> None:
    def text(*values: float | None) -> str:
        absolute, relative, ci95, relative_ci95 = values
        return difference_text(Difference(3, True, absolute or 0.0, relative, ci95, relative_ci95))

    assert text(1.5, 0.12345, 0.3, 0.0213) == "+12.3 ±2.1 %"
    assert text(-1.5, -0.1, 0.3, 0.25) == "-10 ±25 %"
    assert text(4.0, None, 0.51, None) == "+4.00 ±0.51"
    assert text(0.0, 0.0, None, None) == "0"
    assert text(-7.0, -1.0, 2.0, 0.0) == "-100 %"
    assert text(0.0, -0.00001, 0.1, 0.02) == "0.0 ±2.0 %"
    assert difference_text(None) == "–"


def test_of_many_differences_of_nothing_none_is_flagged() -> None:
    draw = random.Random(1).gauss
    found = []
    for _ in range(1000):
        found.append(paired([draw(9, 1) for _ in range(10)], [draw(9, 1) for _ in range(10)]))
        found.append(unpaired([draw(9, 1) for _ in range(5)], [draw(9, 3) for _ in range(10)]))
    ps = [d.p for d in found if d is not None and d.p is not None]
    assert len(ps) == 2000
    # By chance, 5 % of the differences are flagged. Three standard deviations of this share are 1.5
    # %.
    assert 0.035 < sum(p < 0.05 for p in ps) / 2000 < 0.065
    qs = false_discovery(ps, list(range(len(ps))))
    assert not any(q is not None and q < 0.05 for q in qs)


def test_a_against_a_is_equal_and_runs_once(tmp_path: Path) -> None:
    found = tb.compare(CODEL, {"a": {}, "again": {}}, seeds=3, out=tmp_path)
    differences = [d for cell in found.cells for d in cell.differences.values()]
    assert len(differences) > 10
    assert {d.absolute for d in differences} == {0.0}
    assert {d.q for d in differences} == {None}
    assert found.flagged() == []
    assert len(list((tmp_path / "runs").iterdir())) == 3


def test_a_against_a_with_other_seeds_flags_nothing(tmp_path: Path) -> None:
    found = tb.compare(SWEEP, {"a": {}, "again": {"seed": 100}}, seeds=10, out=tmp_path)
    differences = [d for cell in found.cells for d in cell.differences.values()]
    judged = [d for d in differences if d.q is not None]
    assert len(judged) > 60
    assert not any(d.paired for d in differences)
    assert found.flagged() == []
    assert any("their seeds differ" in note for note in found.notes())


def test_a_change_of_the_queue_is_found(tmp_path: Path) -> None:
    variants = {"base": {}, "slow": {"bottleneck.queue.target": "20ms"}}
    found = tb.compare(CODEL, variants, seeds=5, out=tmp_path)
    [cell] = [c for c in found.cells if c.quantity == "delay_ms.mean"]
    difference = cell.differences["slow"]
    assert (cell.kind, cell.name) == ("link", "bottleneck")
    assert difference.paired
    assert difference.flagged
    # The target rose by 15 ms, so the delay rose by about 15 ms.
    assert 10 < difference.absolute < 20
    assert difference.ci95 is not None
    assert difference.ci95 < 3
    assert difference.absolute == pytest.approx(
        (cell.values["slow"].mean or 0) - (cell.values["base"].mean or 0)
    )
    assert f"<td><b>{difference_text(difference)}</b></td>" in found._repr_html_()
    [row] = [r for r in found.summary() if r["quantity"] == "delay_ms.mean"]
    assert (row["variant"], row["cells"], row["flagged"]) == ("slow", 1, 1)
    assert row["median_rel_difference"] == pytest.approx(difference.relative)


def test_engines_are_compared_unpaired(tmp_path: Path) -> None:
    made = tb.compare(CODEL, {"one": {}, "two": {"path.rtt": "21ms"}}, seeds=4, out=tmp_path)
    one, two = made.variants
    assert all(d.paired for cell in made.cells for d in cell.differences.values())
    # The runs cannot be paired, because on the other engine the same seed gives different random
    # numbers.
    found = judge([one, replace(two, engine="kernel")], select(["jain"]))
    [cell] = found.cells
    assert not cell.differences["two"].paired
    [note] = found.notes()
    assert "unpaired (Welch)" in note
    assert "start offsets" in note


def test_a_failed_run_costs_its_pair_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = sim.Sim.run

    def run(self: sim.Sim, scenario: Any, index: int, store: Any, control: Any) -> None:
        point = scenario.points[index]
        fails = point.seed == 2 and '"target":20000000' in point.canonical
        done(self, scenario, index, store, _native.Control(fail=True) if fails else control)

    monkeypatch.setattr(sim.Sim, "run", run)
    variants = {"base": {}, "slow": {"title": "slow", "bottleneck.queue.target": "20ms"}}
    made = tb.compare(SCENARIO, variants, seeds=4, metrics=["jain"], out=tmp_path)
    [cell] = made.cells
    assert len(made.failures) == 1
    assert "seed 2" in made.failures[0]
    assert (cell.values["base"].n, cell.values["slow"].n) == (4, 3)
    assert (cell.differences["slow"].n, cell.differences["slow"].paired) == (3, True)


def test_assertions_hold_in_every_variant(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    limit = '[[assert]]\nmetric = "delay_ms.mean"\nmax = 15\n'
    file.write_text(CODEL + limit, encoding="utf-8")
    two = ("--variant", "base", "--variant", SLOW)
    done = tailback("compare", file, *two, "--seeds", "2", "--no-report", "--json")
    assert done.returncode == 1
    complaints = done.stderr.splitlines()
    assert len(complaints) == 2
    assert all("assertion does not hold: slow: delay_ms.mean" in line for line in complaints)


def test_points_are_matched_by_their_parameters(tmp_path: Path) -> None:
    variants = {"base": {}, "more": {"flows.dctcp.count": 2}}
    found = tb.compare(SWEEP, variants, metrics=["utilisation", "link.marks"], out=tmp_path)
    # The scenario file asks for two seeds.
    assert [cell.values["base"].n for cell in found.cells] == [2] * 12
    assert [tuple(cell.labels.values()) for cell in found.cells[::2]] == [
        (rate, cc) for rate in ("5Mbit", "10Mbit", "20Mbit") for cc in ("cubic", "reno")
    ]
    frame = found.frame()
    assert frame.height == 24
    assert frame.filter(variant="more", quantity="marks")["difference"].null_count() == 0


def test_flows_of_other_names_are_matched_in_order(tmp_path: Path) -> None:
    text = SCENARIO.partition("[[flows]]")[0]
    variants = {
        "two": {"flows": [{"cc": "cubic"}, {"cc": "cubic"}]},
        "both": {"flows": [{"cc": "reno"}, {"cc": "cubic"}]},
        "one": {"flows": [{"cc": "reno", "name": "cubic-2"}]},
    }
    found = tb.compare(text, variants, seeds=2, metrics=["throughput_mbit"], out=tmp_path)
    assert [cell.name for cell in found.cells] == ["cubic", "cubic-2"]
    runs = [column.results[0].summary["flows"] for column in found.variants]
    assert [flow["name"] for flow in runs[1]] == ["reno", "cubic"]
    means = [
        [
            sum(run.summary["flows"][at]["throughput_mbit"] for run in column.results) / 2
            for at in at_
        ]
        for column, at_ in zip(found.variants, ((0, 1), (0, 1), (0,)), strict=True)
    ]
    first, second = found.cells
    # Flows are matched by name first, then in the order of the file. The output mentions which
    # flows were matched by their order.
    assert first.values["both"].mean == pytest.approx(means[1][1])
    assert second.values["both"].mean == pytest.approx(means[1][0])
    assert second.other_names == {"both": "reno"}
    assert not first.other_names
    assert any('both: flow "reno" with "cubic-2" of two' in note for note in found.notes())
    assert first.values["one"].mean is None
    assert second.values["one"].mean == pytest.approx(means[2][0])


def test_a_flow_is_compared_with_the_one_of_its_name(tmp_path: Path) -> None:
    text = SCENARIO.partition("[[flows]]")[0]
    variants = {
        "m1": {"flows": [{"cc": "cubic"}, {"cc": "reno"}]},
        "m2": {"flows": [{"cc": "reno"}, {"cc": "bbr"}]},
    }
    found = tb.compare(text, variants, seeds=2, metrics=["throughput_mbit"], out=tmp_path)
    cells = {cell.name: cell for cell in found.cells}
    m1, m2 = (
        {
            flow["name"]: sum(
                one["throughput_mbit"]
                for run in column.results
                for one in run.summary["flows"]
                if one["name"] == flow["name"]
            )
            / 2
            for flow in column.results[0].summary["flows"]
        }
        for column in found.variants
    )
    reno = cells["reno"]
    assert reno.values["m1"].mean == pytest.approx(m1["reno"])
    assert reno.values["m2"].mean == pytest.approx(m2["reno"])
    assert reno.differences["m2"].absolute == pytest.approx(m2["reno"] - m1["reno"])
    assert cells["cubic"].other_names == {"m2": "bbr"}
    assert cells["cubic"].to_dict()["matched_by_order"] == {"m2": "bbr"}
    assert {reason.name for at in found.reasons for reason in at.reasons} <= {
        *("reno", "cubic", "bottleneck")
    }


def test_json_and_nothing_else(tailback: Tailback, scenario: Path) -> None:
    done = tailback(
        "compare", scenario, "--variant", "z", "--variant", SLOW, "--variant",
        "a:bottleneck.rate=8Mbit", "--variant", "slow:path.rtt=30ms", "--seeds", "2", "--json",
        "--no-report",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert [v["name"] for v in data["variants"]] == ["z", "slow", "a"]
    assert data["variants"][1]["sets"] == {"bottleneck.queue.target": "20ms", "path.rtt": "30ms"}
    assert {v["engine"] for v in data["variants"]} == {"sim"}
    assert data["variants"][0]["engine_version"] == tb.engine_version()
    cell = next(c for c in data["cells"] if c["quantity"] == "delay_ms.mean")
    assert (cell["params"], cell["kind"], cell["unit"]) == ({}, "link", "ms")
    assert list(cell["values"]) == ["z", "slow", "a"]
    assert {v["n"] for v in cell["values"].values()} == {2}
    assert list(cell["differences"]) == ["slow", "a"]
    fields = {"absolute", "relative", "ci95", "effect_size", "p", "q", "flagged"}
    assert fields <= cell["differences"]["slow"].keys()
    assert {"throughput_mbit", "flow.drops", "link.drops", "jain"} <= {
        row["quantity"] for row in data["summary"]
    }


def test_ten_seeds_unless_somebody_says(tailback: Tailback, tmp_path: Path) -> None:
    def seeds(text: str, *more: str) -> int:
        file = tmp_path / "file.toml"
        file.write_text(text, encoding="utf-8")
        done = tailback(
            "compare", file, "--variant", "a", "--variant", "b", "--metric", "jain",
            "--no-report", "--json", *more,
        )  # fmt: skip
        found: int = json.loads(done.stdout)["cells"][0]["values"]["a"]["n"]
        return found

    assert seeds(SCENARIO) == 10
    assert seeds(SCENARIO + "[sweep]\nseeds = 1\n") == 1
    assert seeds(SCENARIO + "[sweep]\nseeds = 4\n") == 4
    assert seeds(SCENARIO, "--variant", "a:sweep.seeds=3", "--variant", "b:sweep.seeds=3") == 3
    assert seeds(SCENARIO + "[sweep]\nseeds = 4\n", "--seeds", "2") == 2


def test_the_table_and_the_report(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(CODEL, encoding="utf-8")
    done = tailback("compare", file, "--variant", "base", "--variant", SLOW, "--seeds", "4")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    [delay] = [line for line in lines if "delay_mean_ms" in line]
    assert "* +" in delay
    assert "slow − base" in done.stdout
    [path] = [line.removeprefix("report: ") for line in lines if line.startswith("report: ")]
    folder = (tmp_path / path).parent
    assert folder.parent == tmp_path / "results" / "comparisons"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "slow − base" in page
    figures = {p.stem for p in (folder / "figures").glob("*.svg")}
    assert {"link-delay-ms-mean", "flow-throughput-mbit", "traces", "delay"} <= figures
    with (folder / "cells.csv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    [row] = [r for r in rows if (r["quantity"], r["variant"]) == ("delay_ms.mean", "slow")]
    assert row["flagged"] == "True"
    assert float(row["difference"]) > 10
    # A repeated comparison reuses all stored runs and prints the same output.
    again = tailback(
        "compare", file, "--variant", "base", "--variant", SLOW, "--seeds", "4", "--no-report"
    )
    assert again.stdout.splitlines() == lines[:-1]


def test_one_run_says_so(tailback: Tailback, scenario: Path) -> None:
    args = ("compare", scenario, "--variant", "base", "--variant", SLOW, "--seeds", "1")
    done = tailback(*args, "--no-report")
    assert done.returncode == 0
    assert "each point has one run, which shows nothing about noise" in done.stdout
    assert "*" not in done.stdout
    refused = tailback(*args, "--no-report", "--fail-if", "delay_ms.mean:+1%")
    assert refused.returncode == 4
    assert "one run shows nothing about noise" in refused.stderr


def test_stored_sweeps_are_matched_too(tailback: Tailback, tmp_path: Path) -> None:
    folders = []
    for name, queue in (("codel", '"codel"'), ("pie", '"pie"')):
        text = SWEEP.replace('"codel"', queue).replace("two flows", name)
        found = tb.run(text, out=tmp_path / "kept")
        folders.append(tmp_path / "kept" / "sweeps" / found.id)
    done = tailback("compare", *folders, "--metric", "utilisation", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert [v["name"] for v in data["variants"]] == ["codel", "pie"]
    assert len(data["cells"]) == 6
    assert all(cell["differences"]["pie"]["paired"] for cell in data["cells"])
    assert len(list((tmp_path / "kept" / "comparisons").iterdir())) == 1

    other = tb.run(SWEEP.replace('"5Mbit", ', ""), out=tmp_path / "kept")
    bad = tailback("compare", folders[0], tmp_path / "kept" / "sweeps" / other.id)
    assert bad.returncode == 2
    assert "bottleneck.rate = 5000000" in bad.stderr


def test_thresholds_fail_a_flagged_difference_only(tailback: Tailback, scenario: Path) -> None:
    def run(*limits: str) -> Any:
        options = [word for limit in limits for word in ("--fail-if", limit)]
        return tailback(
            "compare", scenario, "--variant", "base", "--variant", SLOW, "--seeds", "5",
            "--metric", "utilisation", "--no-report", "--json", *options,
        )  # fmt: skip

    assert run("delay_ms.mean:+1000%").returncode == 0
    assert run("delay_mean_ms:-1%").returncode == 0, "it rose"
    failed = run("delay_ms.mean:+10%", "delay_ms.mean:5")
    assert failed.returncode == 3
    assert failed.stderr.count("delay_mean_ms of link bottleneck: slow differs by +") == 2
    assert {c["quantity"] for c in json.loads(failed.stdout)["cells"]} == {
        "utilisation",
        "delay_ms.mean",
    }


def test_grammar_of_thresholds() -> None:
    one = Threshold.parse("throughput_mbit:-5%")
    assert (one.quantity, one.sign, one.limit, one.relative) == ("throughput_mbit", "-", 5.0, True)
    other = Threshold.parse("link.drops: +.5")
    assert (other.quantity, other.sign, other.limit, other.relative) == (
        "link.drops",
        "+",
        0.5,
        False,
    )
    for bad in ("throughput_mbit", "throughput_mbit:", "throughput_mbit:5x", ":5", "x<5%"):
        with pytest.raises(tb.InputError, match="expected QUANTITY"):
            Threshold.parse(bad)
    with pytest.raises(tb.InputError, match='did you mean "throughput_mbit"'):
        Threshold.parse("throughput:5%")


def test_variants_of_a_command_line() -> None:
    found = parse(["b", "a:x=1", "a:engine=kernel", "a:kernel=6.17-mine", "c:y.z={a=1, b=2}"])
    assert [(v.name, v.sets, v.engine, v.kernel) for v in found] == [
        ("b", {}, "sim", None),
        ("a", {"x": "1"}, "kernel", "6.17-mine"),
        ("c", {"y.z": "{a=1, b=2}"}, "sim", None),
    ]


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        (["a"], "1 variant: a comparison needs at least two"),
        (["a", "a"], "a variant of this name already"),
        (["a", "b:path.rtt"], "use NAME:KEY=VALUE"),
        (["a", "b=1"], "use NAME or NAME:KEY=VALUE"),
        (["a", ":path.rtt=1ms"], "use NAME or NAME:KEY=VALUE"),
        (["a", "b:path.rtt=1ms", "b:path.rtt=2ms"], "has path.rtt already"),
        (["a", "b:path.rt=1ms"], "--variant b:path.rt"),
        (["a", "b:kernel=mine"], "is for engine kernel"),
        (["a", "b:engine=kernal"], 'engine "kernal" does not exist'),
        (["a", "b:bottleneck.rate=1Mbit"], 'bottleneck.rate, which is swept in "a"'),
        (["a", 'b:sweep={"bottleneck.rate" = ["10Mbit"]}'], "has a point that"),
    ],
)
def test_bad_variants(tailback: Tailback, sweep: Path, variants: list[str], said: str) -> None:
    words = [word for variant in variants for word in ("--variant", variant)]
    done = tailback("compare", sweep, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (sweep.parent / "results").exists(), "nothing has run"


def test_bad_words(tailback: Tailback, scenario: Path, tmp_path: Path) -> None:
    two = ("--variant", "a", "--variant", "b")
    for args, said in (
        ((scenario,), "use --variant"),
        ((tmp_path,), "use the folder of another sweep or run"),
        ((scenario, scenario, *two), "use one file with --variant"),
        ((scenario, *two, "--metric", "jian"), 'write "jain"'),
        ((tmp_path / "no", tmp_path / "none"), "no such folder"),
        ((tmp_path, tmp_path), "no results"),
        ((tmp_path / "no.toml", *two), "No such file"),
    ):
        done = tailback("compare", *args)
        assert (done.returncode, done.stdout) == (2, ""), args
        assert said in done.stderr


def test_harm_of_the_textbook() -> None:
    """A completion time of 4 s instead of 1 s, or a quarter of the rate, is a harm of 3/4."""
    assert harm(1.0, 4.0, "less") == harm(8.0, 2.0, "more") == 0.75
    assert harm(2.0, 2.0, "less") == harm(2.0, 2.0, "more") == 0.0
    assert harm(2.0, 1.0, "less") == -1.0
    assert harm(1.0, 2.0, "more") == -1.0
    assert harm(1.0, 0.0, "less") is None
    assert harm(0.0, 1.0, "more") is None


def test_harm_is_of_a_variant_and_untested(tmp_path: Path) -> None:
    two = SCENARIO + '\n[[flows]]\nname = "rival"\ncc = "cubic"\ncount = 6\n'
    made = tb.compare(
        two,
        {"alone": {"flows.rival.stop": "1ms"}, "beside": {}},
        seeds=3,
        metrics=["harm_throughput", "throughput_mbit"],
        jobs=1,
        out=tmp_path,
        progress=False,
    )
    cells = {(cell.name, cell.quantity): cell for cell in made.cells}
    name = made.baseline.results[0].summary["flows"][0]["name"]
    lost, rate = cells[name, "harm.throughput"], cells[name, "throughput_mbit"]
    assert lost.values["alone"].n == 0
    assert lost.values["beside"].n == 3
    by_seed = [
        1
        - beside.summary["flows"][0]["throughput_mbit"]
        / alone.summary["flows"][0]["throughput_mbit"]
        for alone, beside in zip(*(column.results for column in made.variants), strict=True)
    ]
    assert lost.values["beside"].mean == pytest.approx(sum(by_seed) / 3)
    assert all(0 < one < 1 for one in by_seed)
    assert not lost.differences
    assert rate.differences
    assert ("rival/1", "harm.throughput") not in cells, "it is not there alone"
    assert {row["quantity"] for row in made.to_dict()["cells"]} == {
        "harm.throughput",
        "throughput_mbit",
    }


def test_a_competitor_is_taken_out_by_its_name(tmp_path: Path, tailback: Tailback) -> None:
    file = tmp_path / "two.toml"
    # A `stop` of 0 would be before the flow's start, which is an error.
    rival = '\n[[flows]]\nname = "rival"\ncc = "cubic"\nstart = "100ms"\n'
    file.write_text(SCENARIO + rival, encoding="utf-8")
    words = ("--seeds", 3, "--no-report", "--json")
    done = tailback("compare", file, "--without", "rival", *words)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["variants"]] == ["without rival", "with rival"]
    harm = [one for one in found["cells"] if one["quantity"] == "harm.throughput"]
    assert harm
    assert all(0 < one["values"]["with rival"]["mean"] < 1 for one in harm)
    for limit, status in (("+1", 0), ("+0.01", 3)):
        gated = tailback(
            "compare", file, "--without", "rival", *words, "--fail-if", f"harm_throughput:{limit}"
        )
        assert gated.returncode == status, gated.stderr
    share = tailback(
        "compare", file, "--without", "rival", *words, "--fail-if", "harm_throughput:+10%"
    )
    assert "write harm_throughput:+0.1" in share.stderr
    wrong = tailback("compare", file, "--without", "rivale", *words)
    assert wrong.returncode == 2
    assert 'flow or source of traffic "rivale" does not exist' in wrong.stderr
    assert 'write "rival"' in wrong.stderr
    battery = tailback("compare", "l4s-battery", "--without", "rival")
    assert "--without: needs exactly one scenario file" in battery.stderr


def test_sides_with_other_numbers_of_seeds_say_so(tailback: Tailback, tmp_path: Path) -> None:
    names = []
    for control, seeds in (("reno", 3), ("cubic", 2)):
        file = tmp_path / f"{control}.toml"
        file.write_text(
            f'duration = "2s"\n[bottleneck]\nrate = "10Mbit"\nqueue = "codel"\n'
            f'[[flows]]\nname = "flow"\ncc = "{control}"\n[[flows]]\nname = "rival"\ncc = "reno"\n',
            encoding="utf-8",
        )
        done = tailback("run", str(file), "--seeds", str(seeds), "--out", str(tmp_path / control))
        assert done.returncode == 0, done.stderr
        (sweep,) = (tmp_path / control / "sweeps").iterdir()
        names.append(str(sweep))
    done = tailback("compare", *names, "--no-report", "--metric", "throughput_mbit")
    assert "mean over 3 seeds of " in done.stdout
    assert " and 2 seeds of " in done.stdout
    # Each scenario's mean is over all runs of this scenario. If the comparison used only the two
    # common seeds, the output would contain " of 3)".
    assert " of 3)" not in done.stdout
