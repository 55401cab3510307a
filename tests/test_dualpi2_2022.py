"""Tests the experiment `dualpi2-2022`: published values, scenarios, definitions, goals, and a few
results."""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback
from tailback.errors import InputError
from tailback.report import Facts, TableCell
from tailback.running.options import RunOptions
from tailback_studies.experiments import get
from tailback_studies.experiments.dualpi2_2022 import (
    GROUPS,
    PARTS,
    law,
    layout,
    on_linux,
    points,
    readings,
    recorder,
    signature,
    truth,
)
from tailback_studies.experiments.dualpi2_2022.layout import CASES, RUNS, DualPi2Case, Run


def one(archive: str, stem: str) -> Run:
    """Return a run by the names of its archive and files."""
    (found,) = [run for run in RUNS if run.archive.name == archive and run.stem == stem]
    return found


PC = "pcdualpi2_res_mr"
OVERLOAD = "pcdualpi2_res_overload"
GOLDEN = Path(__file__).parent / "dualpi2_2022"
#: The message if a table in the repository differs from the result.
UPDATE = "tests/dualpi2_2022/{}.txt would be:\n{}"


# --- published values -----------------------------------------------------------------------------


def test_every_published_row_has_its_place_and_its_columns() -> None:
    text = (Path(layout.__file__).parent / "published.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 56
    assert len(CASES) == 112
    places = {(case.run.archive.name, case.name): case for case in CASES}
    assert len(places) == 112
    assert tuple(rows[0])[3:] == layout.COLUMNS
    for row in rows:
        case = places[row["archive"], row["case"]]
        assert row["run"] == case.run.archive.run
        held = tuple(c for c in layout.COLUMNS if not math.isnan(float(row[c])))
        assert held == case.columns


def test_published_values() -> None:
    known = layout.published()
    assert known[PC, "mix_1000_d5005_r5100", "rate_ratio"] == 6.06871
    assert known["ecpie_res_mr", "mix_1000_d5100_r5005", "qs_ecn_mean"] == 15.8437
    udp = (OVERLOAD, "mix_1000d_u200s5_r_u0s5_udp")
    assert known[*udp, "drops_ecn_mean"] == 51.491
    assert (*udp, "drops_nonecn_mean") not in known
    assert len(layout.published_runs()) == 46


def test_ratios_and_windows_of_the_source_are_as_defined_here() -> None:
    """The published ratio is the ratio of mean rates. The published window is a rate times the sum
    of mean queue delay and base RTT."""
    known = layout.published()
    for case in CASES:
        key = (case.run.archive.name, case.name)
        if (*key, "rate_ratio") not in known:
            continue
        rates = [known[*key, f"rpf_{side}_mean"] for side in ("ecn", "nonecn")]
        assert known[*key, "rate_ratio"] == pytest.approx(rates[0] / rates[1], rel=1e-4)
        for side, rtt in (("ecn", case.run.rtt_ecn), ("nonecn", case.run.rtt_nonecn)):
            for statistic in ("mean", "p25", "p99", "stddev"):
                rate = known[*key, f"rpf_{side}_{statistic}"]
                window = rate * (known[*key, f"qs_{side}_mean"] + rtt) / 1000
                assert known[*key, f"win_{side}_{statistic}"] == pytest.approx(window, rel=2e-4)


def test_udp_counts_its_payload() -> None:
    """The UDP rate of the publication counts only payload. This follows from the published
    utilisation at 50 and 70 Mbit/s, and from the published loss at 140 and 200 Mbit/s."""
    known = layout.published()
    for rate in (50, 70):
        used = known[OVERLOAD, f"mix_1000d_u{rate}s5_r_u0s5_udp", "util_mean"]
        assert used == pytest.approx(rate * 1512 / 1470, abs=0.01)
    for rate in (140, 200):
        lost = known[OVERLOAD, f"mix_1000d_u0s5_r_u{rate}s5_udp", "drops_nonecn_mean"]
        assert signature.udp_share(rate) == pytest.approx(lost, abs=1.2)
    assert signature.udp_share(200) == pytest.approx(100 * (1 - 1470 / 3024), abs=1e-9)
    assert signature.udp_share(50) == 0


def test_idle_flows_in_the_rates_of_the_source() -> None:
    """One of five flows is idle if P1 is 0 and P25 is not 0. Two flows are idle if P25 is 0 and P75
    is 5/3 of the mean."""
    known = layout.published()
    for run in RUNS:
        key = (OVERLOAD, f"{run.stem}_tcp")
        if run.archive.name != OVERLOAD or sum(run.udp) > 70:
            continue
        for side, active in zip(("ecn", "nonecn"), run.active, strict=True):
            p1, p25, p75, mean = (
                known[*key, f"rpf_{side}_{s}"] for s in ("p1", "p25", "p75", "mean")
            )
            assert p1 == 0
            assert (p25 > 0) == (active == 4)
            if active == 3:
                assert p75 / mean == pytest.approx(5 / 3, rel=0.03)


def test_the_law_in_the_source() -> None:
    """With ten flows and UDP, p_C = (p_L/2)^2 holds within 6 % in all rows in which L is not
    overloaded."""
    laws = {}
    for run in RUNS:
        found = law.published_law(run)
        if found is not None and run.archive.kind == layout.OVERLOAD:
            laws[run.udp] = found
    for udp in ((0, 50), (0, 70), (0, 100), (50, 0), (70, 0)):
        assert laws[udp] == pytest.approx(1, abs=0.06)
    # With two flows the law seems to fail by 30 %: p_L varies, so the mean of its square exceeds
    # the square of its mean.
    mixed = law.published_law(one(PC, "mix_1000_d5005_r5005"))
    assert mixed == pytest.approx(1.296, abs=0.001)


# --- scenarios --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "run"),
    [
        ("mixed-rtt", one(PC, "mix_1000_d5005_r5005")),
        ("overload", one(OVERLOAD, "mix_1000d_u100s5_r_u0s5")),
    ],
)
def test_the_scenario_files_are_what_is_run(kind: str, run: Run) -> None:
    path = Path(layout.__file__).parent / "scenarios" / f"{kind}.toml"
    (alone,) = tailback.check(path).points
    (planned,) = tailback.check(points.job(run, seeds=1).scenario).points
    assert planned.run_id == alone.run_id


def test_what_a_case_sets() -> None:
    made = points.made(one("ecpie_res_mr", "mix_1000_d5100_r5020"), 250, points.AS_PUBLISHED)
    assert (made["warmup"], made["duration"]) == ("48s", "298s")
    assert made["path"]["rtt"] == "100ms"
    assert [flow["rtt"] for flow in made["flows"]] == ["100ms", "20ms"]
    assert [(flow["cc"], flow["ecn"]) for flow in made["flows"]] == [
        ("cubic", True),
        ("cubic", False),
    ]
    assert made["bottleneck"]["queue"]["aqm"] == "pie"
    alone = points.made(one("erfqcodel_res_mr", "mix_1000_d5005_r0"), 250, points.AS_PUBLISHED)
    assert [flow["cc"] for flow in alone["flows"]] == ["cubic"]
    beside = points.made(one("erpie_res_mr", "mix_1000_d5100_r5020"), 250, points.AS_PUBLISHED)
    assert [(flow["cc"], flow["ecn"]) for flow in beside["flows"]] == [
        ("cubic", True),
        ("reno", False),
    ]
    udp = points.made(one(OVERLOAD, "mix_1000d_u0s5_r_u140s5"), 250, points.AS_PUBLISHED)
    (source,) = udp["traffic"]
    assert (source["class"], source["ecn"], source["rate"]) == ("C-udp", "not-ect", "144000000bit")
    assert [flow["count"] for flow in udp["flows"]] == [3, 4]


def test_the_set_up_of_every_row() -> None:
    """Compare the planned set-up of every row of the eight archives with the table in the
    repository."""
    table = "".join(f"{line}\n" for line in sorted(_set_up(case) for case in CASES))
    assert table == (GOLDEN / "set-up.txt").read_text(), UPDATE.format("set-up", table)


def _set_up(case: DualPi2Case) -> str:
    made = points.made(case.run, 250, points.AS_PUBLISHED)
    queue = made["bottleneck"]["queue"]
    ecn = (
        {True: "any_ect", None: "l4s_ect"}[queue.get("any_ect")]
        if case.run.archive.ccs[0] == "prague"
        else "-"
    )
    flows = " + ".join(
        f"{flow.get('count', 1)} {flow['cc']}{'' if not flow['ecn'] else '/ecn'} {flow['rtt']}"
        for flow in made["flows"]
    )
    udp = "".join(f" + udp {t['rate']} in {t['class']}" for t in made.get("traffic", ()))
    where = f"{made['bottleneck']['rate']} {queue['aqm']} {ecn}"
    return f"{case.run.archive.name} {case.name}: {where}: {flows}{udp}"


def test_the_same_options_in_every_row_of_a_queue() -> None:
    found: dict[tuple[str, bool], set[str]] = {}
    for run in RUNS:
        made = points.made(run, 250, points.AS_PUBLISHED)
        queue = dict(made["bottleneck"]["queue"])
        found.setdefault((run.archive.aqm, queue.pop("any_ect", False)), set()).add(str(queue))
        assert made["tcp"]["pacing"] == "fq-gso"
        assert made["bottleneck"]["burst"] == "tc"
    assert {name: len(queues) for name, queues in found.items()} == {
        ("dualpi2", True): 1,
        ("dualpi2", False): 1,
        ("pie", False): 1,
        ("fq_codel", False): 1,
    }


def test_parts_and_what_a_quick_run_does() -> None:
    assert set(GROUPS) < set(PARTS)
    both = {layout.MIXED, layout.OVERLOAD}
    assert sum(len(GROUPS[part]) for part in PARTS if part in GROUPS and part not in both) == 92
    assert sum(len(GROUPS[part]) for part in both) == 92
    assert len(layout.ARCHIVES) == 8
    chosen = [run for run in RUNS if run in layout.published_runs()]
    assert len(chosen) == 46
    assert {run.archive.ccs[1] for run in chosen} == {"cubic"}
    assert all(run.flows == (5 if run.archive.kind == layout.OVERLOAD else 1) for run in RUNS)


# --- definitions ---------------------------------------------------------------------------------


@dataclass
class Made:
    """A stored run with made-up numbers."""

    summary: dict[str, Any]
    rows: list[tuple[int, str | None, str, float]] = field(default_factory=list)
    #: Lower bound, width and count, by class.
    delays: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)

    def series(self) -> pl.DataFrame:
        schema = {"time_ns": pl.Int64, "flow": pl.String, "quantity": pl.String}
        return pl.DataFrame(self.rows, schema={**schema, "value": pl.Float64}, orient="row")

    def histogram(self, quantity: str) -> pl.DataFrame:
        """Return a histogram as a stored run does."""
        rows = self.delays.get(quantity.removeprefix("delay_ns."), [])
        schema = {"lower": pl.Int64, "width": pl.Int64, "count": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row")


def stat(mean: float) -> dict[str, float]:
    """Return statistics in which all values differ."""
    shares = {"mean": 1.0, "p1": 0.5, "p25": 0.8, "p75": 1.2, "p99": 1.5, "stddev": 0.1}
    return {name: mean * share for name, share in shares.items()}


def a_class(name: str, rate: float | None, used: float, delay: float) -> dict[str, Any]:
    """Return a traffic class, as in a summary."""
    return {
        "name": name,
        "flows": 0 if rate is None else 4,
        "packets": 1000,
        "marks": 60,
        "drops": 0,
        "delay_ms": stat(delay),
        "samples": {
            "rate_mbit": None if rate is None else stat(rate),
            "utilisation": stat(used),
            "mark_share": stat(0.06),
            "drop_share": stat(0.002),
        },
    }


def test_columns_of_a_row_with_both_flows() -> None:
    run = one(PC, "mix_1000_d5005_r5020")
    summary = {
        "classes": [
            {**a_class("L", 24.0, 0.6, 0.3), "flows": 1},
            {**a_class("C", 16.0, 0.4, 14.0), "flows": 1},
        ],
        "queues": {"bottleneck": {"samples": {"utilisation": stat(0.999)}}},
    }
    (case,) = run.cases
    found = points.values(case, Made(summary), recorder=False)
    assert set(found) == set(case.columns)
    assert found["rate_ratio"] == pytest.approx(1.5)
    assert found["rpf_ecn_mean"] == pytest.approx(3e6)
    assert found["win_ecn_p99"] == pytest.approx(1.5 * 3e6 * 0.0053)
    assert found["win_nonecn_mean"] == pytest.approx(2e6 * 0.034)
    assert found["window_ratio"] == pytest.approx(3e6 * 0.0053 / (2e6 * 0.034))
    assert found["qs_nonecn_p25"] == pytest.approx(0.8 * 14)
    assert found["marks_ecn_mean"] == pytest.approx(6)
    assert found["drops_nonecn_stddev"] == pytest.approx(0.02)
    assert found["util_mean"] == pytest.approx(99.9)


def test_columns_of_the_rows_of_overload() -> None:
    run = one(OVERLOAD, "mix_1000d_u50s5_r_u0s5")
    tcp, udp = run.cases
    classes = [
        a_class("L", 5.0, 0.25, 0.2),
        a_class("C", 4.0, 0.2, 15.0),
        a_class("L-udp", None, 0.514, 0.2),
    ]
    rows: list[tuple[int, str | None, str, float]] = []
    for second, (l_share, c_share) in enumerate([(0.2, 0.1), (0.3, 0.2), (0.25, 0.3), (0.25, 0.2)]):
        rows.append((second, None, "class.L.utilisation", l_share))
        rows.append((second, None, "class.C.utilisation", c_share))
        rows.append((second, None, "class.L-udp.utilisation", 0.5))
        for number in range(1, 5):
            rows.append((second, f"L/{number}", "rate_mbit", 5.0 + number))
            rows.append((second, f"C/{number}", "rate_mbit", 4.0))
    made = Made({"classes": classes, "queues": {"bottleneck": {"samples": None}}}, rows)
    found = points.values(tcp, made, recorder=False)
    assert set(found) == set(tcp.columns)
    # Both flows together use 30, 50, 55 and 45 % of the link in the four seconds.
    assert found["util_mean"] == pytest.approx(45)
    assert [found["util_p1"], found["util_p25"]] == pytest.approx([30, 30])
    assert [found["util_p75"], found["util_p99"]] == pytest.approx([50, 55])
    assert found["util_stddev"] == pytest.approx(math.sqrt(350 / 3))
    # One of the five flows is idle. The flows have 0, 6, 7, 8 and 9 Mbit/s in each second.
    assert found["rpf_ecn_mean"] == pytest.approx(6 * 125_000)
    assert [found[f"rpf_ecn_{p}"] for p in ("p1", "p25", "p75", "p99")] == pytest.approx(
        [0, 6 * 125_000, 8 * 125_000, 9 * 125_000]
    )
    assert found["rate_ratio"] == pytest.approx(6 / (4 * 0.8))
    own = points.values(udp, made, recorder=False)
    assert set(own) == set(udp.columns)
    assert own["util_mean"] == pytest.approx(51.4)
    assert own["rpf_ecn_mean"] == pytest.approx(0.514 * 12.5e6)
    assert own["win_ecn_mean"] == pytest.approx(0.514 * 12.5e6 * 0.0102)


def test_published_delays_are_what_the_recorder_can_write() -> None:
    """Every published percentile of delays is a value that the recorder can write, to the
    microsecond."""
    values = {round(recorder.read(recorder.cut(i << 15)), 3) for i in range(4096)}
    found = [
        value
        for (_, _, column), value in layout.published().items()
        if column.startswith("qs_") and column.rpartition("_")[2] in ("p1", "p25", "p75", "p99")
    ]
    assert len(found) > 300
    assert {value for value in found if round(value, 3) not in values} == set()


def test_what_the_recorder_makes_of_a_delay() -> None:
    # Delays up to 255 units of 2^15 ns are exact. For larger delays, steps are 2 and then 4 units
    # wide.
    cuts = [recorder.cut(units << 15) for units in (0, 1, 255, 256, 257, 511, 512, 515, 516)]
    assert cuts == [0, 1, 255, 256, 256, 510, 512, 512, 516]
    assert recorder.cut((1 << 15) - 1) == 0
    # The publication's C code truncates to whole microseconds.
    assert [recorder.read(units) for units in (0, 1, 2, 780)] == [0, 0.032, 0.065, 25.559]


def test_recorded_statistics() -> None:
    run = one(PC, "mix_1000_d5005_r0")
    (case,) = run.cases
    classes = [{**a_class("L", 24.0, 0.6, 0.3), "flows": 1}]
    summary = {"classes": classes, "queues": {"bottleneck": {"samples": {"utilisation": stat(1)}}}}
    # 100 packets do not wait, 300 wait 1.5 units, and 100 are in a bucket from 2.5 to 3.5 units.
    unit = 1 << 15
    delays = [(0, 1, 100), (unit + unit // 2, 1, 300), (2 * unit + unit // 2, unit, 100)]
    found = points.values(case, Made(summary, delays={"L": delays}))
    mean = (300 * 0.032 + 50 * 0.065 + 50 * 0.098) / 500
    assert found["qs_ecn_mean"] == pytest.approx(mean)
    assert [found[f"qs_ecn_{p}"] for p in ("p1", "p25", "p75", "p99")] == [0, 0.032, 0.032, 0.098]
    # A window is a rate times the sum of the recorded mean delay and the base round-trip time.
    assert found["win_ecn_mean"] == pytest.approx(3e6 * (mean + 5) / 1000)


def test_percentiles_are_by_nearest_rank() -> None:
    found = points.statistics([float(i) for i in range(250, 0, -1)])
    assert [found[name] for name in ("mean", "p1", "p25", "p75", "p99")] == [125.5, 3, 63, 188, 248]
    assert found["stddev"] == pytest.approx(math.sqrt(250 * 251 / 12))


# --- goals ---------------------------------------------------------------------------------------


def entry(
    case: DualPi2Case,
    column: str,
    known: float | None,
    value: float,
    values: tuple[float, ...] = (),
) -> points.DualPi2Entry:
    """Return an entry for a column, with made-up numbers."""
    cell = TableCell("id", column, points.unit(column), known, value, max(len(values), 1), None)
    return points.DualPi2Entry(case, column, cell=cell, values=values)


def test_goals() -> None:
    (case,) = one(PC, "mix_1000_d5005_r5020").cases
    ratios = [entry(case, "rate_ratio", 1.0, value) for value in (1.2, 0.81, 1.0, 1.21)]
    judged = truth.judged(ratios)
    assert [e.within for e in judged] == [True, True, True, False]
    (verdict,) = truth.verdicts(judged)
    assert (verdict.goal.id, verdict.cells, verdict.within) == ("dualpi2.rate_ratio", 4, 3)
    assert not verdict.holds
    # The goal is met if ten of eleven values are within the tolerance, but not if only nine are.
    assert truth.verdicts(judged[:1] * 10 + judged[3:])[0].holds
    assert not truth.verdicts(judged[:1] * 9 + judged[3:] * 2)[0].holds
    queue = truth.judged([entry(case, "qs_ecn_mean", 0.34, value) for value in (0.25, 0.43, 0.45)])
    assert [e.within for e in queue] == [True, True, False]
    tcp, _ = one(OVERLOAD, "mix_1000d_u0s5_r_u200s5").cases
    # Delays of the publication are multiples of 0.033 ms, so an error below 0.033 ms is within the
    # goal.
    short = truth.judged([entry(tcp, "qs_ecn_mean", 0.0526, value) for value in (0.021, 0.018)])
    assert [e.within for e in short] == [True, False]
    (pie,) = one("ecpie_res_mr", "mix_1000_d5005_r5020").cases
    assert truth.judged([entry(pie, "rate_ratio", 1.0, 1.16)])[0].within is False
    assert truth.judged([entry(pie, "rate_ratio", None, 1.16)])[0].within is None


def test_chance_is_what_one_more_run_would_give() -> None:
    (case,) = one(PC, "mix_1000_d5005_r5020").cases
    runs = (0.9, 1.0, 1.1, 1.0, 1.0)
    # The standard deviation is 0.0707, and t with four degrees of freedom is 2.776. For one more
    # run, the interval is ± 0.0707 x 2.776 x sqrt(1 + 1/5) = 0.215.
    for known, told in ((1.21, True), (1.22, False), (0.79, True)):
        assert entry(case, "rate_ratio", known, 1.0, runs).chance is told
    assert not entry(case, "rate_ratio", 1.3, 1.0, (1.0,)).chance


def test_which_queue_is_at_the_target() -> None:
    assert signature.at_target(15.03, 0.96) == "L"
    assert signature.at_target(0.09, 15.08) == "C"
    assert signature.at_target(0.09, 11.9) == "neither"
    assert signature.at_target(15.0, 14.0) == "neither"
    known = layout.published()
    for run in RUNS:
        key = (OVERLOAD, f"{run.stem}_tcp")
        if run.archive.name == OVERLOAD and (*key, "qs_ecn_mean") in known:
            found = signature.at_target(known[*key, "qs_ecn_mean"], known[*key, "qs_nonecn_mean"])
            assert found == ("L" if run.udp[0] >= 100 else "C")


def test_the_law_and_its_noise() -> None:
    run = one(OVERLOAD, "mix_1000d_u0s5_r_u50s5")
    counts: dict[str, Any] = {"packets": 100_000, "drops": 0, "causes": {}}
    classes = [
        {"name": "L", **counts, "causes": {"mark": 20_000, "step_mark": 7}},
        {"name": "C", **counts, "packets": 49_500, "drops": 500},
        {"name": "C-udp", **counts, "packets": 49_500, "drops": 500},
    ]
    (found,) = law.laws([run], [[Made({"classes": classes})]])
    assert [found.p_l, found.p_c] == pytest.approx([0.2, 0.01])
    assert found.ratio == found.judged == pytest.approx(1)
    assert found.noise == pytest.approx(1.96 * math.sqrt(0.99 / 1000 + 4 * 0.8 / 20_000))
    assert found.holds
    assert found.published == pytest.approx(1.0147, abs=1e-3)
    classes[0]["drops"] = 1
    assert law.laws([run], [[Made({"classes": classes})]]) == []


def test_the_law_of_a_probability_that_varies() -> None:
    """p alternates between 0.05 and 0.15. L marks a share of 0.2 of its packets, which is twice the
    mean of p. C drops a share of 0.0125, which is the mean of p squared.
    """
    run = one(PC, "mix_1000_d5005_r5005")
    classes = [
        {"name": "L", "packets": 100_000, "drops": 0, "causes": {"mark": 20_000}},
        {"name": "C", "packets": 98_750, "drops": 1250, "causes": {}},
    ]
    start = int((points.BEFORE + points.left_out(run)) * 1e9)
    rows: list[tuple[int, str | None, str, float]] = [(0, None, "dualpi2_probability", 0.9)]
    for second in range(100):
        at = start + second * 10**9
        rows.append((at, None, "dualpi2_probability", 0.05 if second % 2 else 0.15))
    (found,) = law.laws([run], [[Made({"classes": classes}, rows)]])
    assert found.ratio == pytest.approx(1.25)
    assert found.square == pytest.approx(0.0125)
    assert found.judged == pytest.approx(1)
    spread = (0.0225 - 0.0125) ** 2 * 100 / 99 / 100 / 0.0125**2
    assert found.noise == pytest.approx(1.96 * math.sqrt(0.9875 / 1250 + spread))
    assert found.holds


def test_what_needs_prague_is_not_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_linux, "prague_module", lambda: None)
    options = RunOptions(seeds=1, jobs=1, out=tmp_path, progress=False, engine="kernel")
    stock = r"Linux has no Prague.*kernel build --module.*ecpie, ecfqcodel, erpie"
    with pytest.raises(InputError, match=stock):
        get("dualpi2-2022").run(["overload"], options, quick=True)
    with pytest.raises(InputError, match="only the simulator runs readings"):
        get("dualpi2-2022").run(["readings"], options, quick=True)


def test_rows_with_prague_are_refused_one_by_one_or_run_by_a_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(on_linux, "prague_module", lambda: None)
    without = on_linux.divide(RUNS)
    assert {run.archive.aqm for run in without.runs} == {"pie", "fq_codel"}
    assert {run.archive.ccs[0] for run in without.refused} == {"prague"}
    assert len(without.runs) + len(without.refused) == len(RUNS)
    cells = points.entries(without.refused, [[] for _ in without.refused])
    told = [on_linux.json(cell) for cell in cells]
    assert {(cell["measured"], cell["refused"]) for cell in told} == {(None, on_linux.REASON)}
    table = on_linux.table(cells, Facts())
    assert sum(int(str(row[2])) for row in table.rows) == len(cells)

    monkeypatch.setattr(on_linux, "prague_module", lambda: "mine")
    played = on_linux.divide(RUNS)
    assert (played.runs, played.refused) == (RUNS, ())
    made = points.made(without.refused[0], 250, played.variant)
    flow = made["flows"][0]
    assert flow["cc"] == {"name": "prague", "kernel": True, "module": "mine"}
    assert flow["tcp"] == {"ecn_feedback": "accecn"}
    # The two scenarios differ only in `cc` and `tcp`.
    flow.update(cc="prague")
    del flow["tcp"]
    assert made == points.made(without.refused[0], 250, on_linux.PACED)


def test_readings_change_one_thing() -> None:
    ids = [tried.id for tried in readings.EVERY]
    assert len(set(ids)) == len(ids)
    for tried in readings.EVERY:
        run = next(r for r in RUNS if r in layout.published_runs() and tried.concerns(r))
        base = points.made(run, 250, points.AS_PUBLISHED)
        assert (points.made(run, 250, tried.variant) != base) is tried.variant.recorder or (
            tried.id == "former"
        )


# --- numbers -------------------------------------------------------------------------------------


#: Number of runs to draw from each archive.
DRAWN = 2


def drawn() -> list[Run]:
    """Return the runs of each archive whose names have the smallest hashes, so that nobody can
    select runs with good results."""

    def place(run: Run) -> str:
        return hashlib.sha256(f"{run.archive.name}/{run.stem}".encode()).hexdigest()

    ranked = sorted(layout.published_runs(), key=place)
    archives = sorted({run.archive.name for run in ranked})
    return [run for a in archives for run in [r for r in ranked if r.archive.name == a][:DRAWN]]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> list[points.DualPi2Entry]:
    """Run the drawn rows with the lengths of `--quick`. Return their values."""
    runs = drawn()
    results = tailback.run_many(
        [points.job(run, seeds=1, seconds=50) for run in runs],
        out=tmp_path_factory.mktemp("results"),
        progress=False,
    )
    return truth.judged(points.entries(runs, results))


def test_the_cells_drawn_are_within_their_goals_but_for_those_listed(
    quick: list[points.DualPi2Entry],
) -> None:
    """The tolerances are the goals of the page. A table in the repository lists each value beyond
    its goal, with its error."""
    held = [e for e in quick if e.within is not None]
    assert len(held) >= 20
    misses = [_miss(e) for e in held if not e.within]
    table = "".join(f"{line}\n" for line in sorted(misses))
    assert table == (GOLDEN / "misses.txt").read_text(), UPDATE.format("misses", table)


def _miss(entry: points.DualPi2Entry) -> str:
    cell = entry.cell
    return (
        f"{cell.id}: {cell.measured:.3g} for {cell.published:.3g}, "
        f"{abs(cell.error or 0.0) / (cell.tolerance or 1.0):.1f} times the goal"
    )


def test_the_queue_at_the_target_is_the_source_s(quick: list[points.DualPi2Entry]) -> None:
    signs = signature.signatures(quick)
    assert [sign.agrees for sign in signs] == [True, True]
