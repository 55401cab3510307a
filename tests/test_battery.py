"""Tests sets of scenarios. The tests cover a set's parts, findings and report, and errors for
invalid input."""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from pathlib import Path
from typing import Any

import pytest

from conftest import Tailback
from synthetic import expand
from synthetic_battery import base_units, made
from tailback.comparison.judging import judge
from tailback.comparison.quantities import select
from tailback.comparison.variants import Variant, parse
from tailback.errors import InputError, ScenarioError
from tailback.report import Text
from tailback.report.tc import qdisc
from tailback.running.options import RunOptions
from tailback.running.spread import shard
from tailback_studies import batteries
from tailback_studies.batteries import Part, side_by_side
from tailback_studies.batteries.l4s_battery import BATTERY, L4sBattery, cases, measures
from tailback_studies.batteries.l4s_battery.gather import Gathered
from tailback_studies.batteries.l4s_battery.measures import Group
from tailback_studies.batteries.side_by_side import (
    BatteryComparison,
    SeedRule,
    run_battery,
)
from tailback_studies.experiments import NAMES as EXPERIMENTS
from tailback_studies.experiments import get as experiment
from tailback_studies.experiments.versions import Versions
from tailback_studies.reproduction.experiment import command

PAGE = Path(__file__).parents[1] / "docs/how-to/dualpi2-versions.md"
FILES = [path for part in BATTERY.parts for path in part.files]


def test_the_page_names_every_quantity_that_is_compared() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = set(re.findall(r"`((?:class|flow|link|run)\.[\w.]+)`", page))
    sizes = {m for m in BATTERY.metrics if m.startswith("flow.normalised.")}
    assert told - sizes == set(BATTERY.metrics) - sizes
    assert told & sizes == {"flow.normalised.1kB", "flow.normalised.1MB"}


# --- parts of a set of scenarios -----------------------------------------------------------------


def points(part: batteries.Part) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return the file, scenario and parameters of every sweep point of a part."""
    out = []
    for path in part.files:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        out += [(path.stem, table, row) for row in expand(table)]
    return out


def test_the_battery_has_the_points_of_the_reports() -> None:
    count = {part.name: len(points(part)) for part in BATTERY.parts}
    assert count == {
        "1-1": 25,
        "1h-1h": 25,
        "1l-1l": 25,
        "flows": 20,
        "mixed-rtt": 12,
        "overload": 10,
    }
    page = PAGE.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w-]+)`.*? \| (\d+)(?: each)? \|", page, re.MULTILINE))
    shown = {name: count[name] for name in ("1-1", "flows", "mixed-rtt", "overload")}
    assert {name: int(told[name]) for name in shown} == shown
    spots = {
        part.name: {
            cases.spot(file, {k: base_units(v) for k, v in row.items()})
            for file, _, row in points(part)
        }
        for part in BATTERY.parts
    }
    for kind in ("1-1", "1h-1h", "1l-1l"):
        grid = {(s.link, s.l_rtt, s.c_rtt) for s in spots[kind]}
        assert grid == {(link, rtt, rtt) for link in cases.LINKS for rtt in cases.RTTS}
    splits = {(n, n) for n in range(1, 11)} | {(n, 10 - n) for n in range(11)}
    assert {(s.l_flows, s.c_flows) for s in spots["flows"]} == splits
    assert {(s.l_rtt, s.c_rtt) for s in spots["mixed-rtt"]} == {
        (low, classic) for low in cases.L_RTTS for classic in (None, *cases.RTTS)
    }
    assert {(s.udp_in, s.udp) for s in spots["overload"]} == {
        (where, rate) for where in "LC" for rate in cases.UDP
    }


def test_every_point_leaves_out_40_rtts_and_4_s_of_250_s() -> None:
    for part in BATTERY.parts:
        for file, table, row in points(part):
            values = {k: base_units(v) for k, v in row.items()}
            at = cases.spot(file, values)
            longest = max(rtt for rtt in (at.l_rtt, at.c_rtt) if rtt is not None)
            warmup = base_units(row.get("warmup", table["warmup"]))
            # The warm-up is 4 s plus 40 s for each second of RTT.
            assert warmup == pytest.approx((40 * longest / 1e3 + 4) * 1e9), (file, row)
            assert table["duration"] == "250s"


def test_requests_come_100_and_10_times_a_second_at_40_mbit() -> None:
    for kind, at_40 in (("1h-1h", 100.0), ("1l-1l", 10.0)):
        part = next(p for p in BATTERY.parts if p.name == kind)
        for _, _, row in points(part):
            rate = base_units(row["bottleneck.rate"]) / 1e6
            for source in ("L-web", "C-web"):
                arrival = base_units(row[f"traffic.{source}.arrival"]) / 1e9
                assert 1 / arrival == pytest.approx(at_40 * rate / 40, rel=2e-4)


def test_every_case_of_a_part_has_words_of_its_own() -> None:
    for part in BATTERY.parts:
        words = [
            BATTERY.case(file, {k: base_units(v) for k, v in row.items()})
            for file, _, row in points(part)
        ]
        assert len(set(words)) == len(words)


# --- definitions -------------------------------------------------------------------------------


def test_normalised_rate_is_over_an_equal_share() -> None:
    # An equal share of 40 Mbit/s among 4 flows is 10 Mbit/s.
    assert measures.normalised_rate(15.0, 40.0, 4) == pytest.approx(1.5)


def test_normalised_window_is_over_an_equal_window() -> None:
    # L has 2 flows with RTTs (queue + base) of 0.5 + 9.5 ms, and C has 3 flows with 15 + 10 ms.
    # With equal windows W, the link carries W (2 / 10 ms + 3 / 25 ms) = 320 W a second. A link of
    # 40 Mbit/s carries 5 MB/s, so W = 15625 bytes.
    groups = [Group(2, 9.5, 0.5), Group(3, 10.0, 15.0)]
    assert measures.normalised_window(15625.0, 40.0, groups) == pytest.approx(1.0)
    assert measures.normalised_window(31250.0, 40.0, groups) == pytest.approx(2.0)
    # With equal rates, windows are proportional to RTTs: 5 MB/s / 5 flows x 10 ms = 10000 bytes.
    assert measures.normalised_window(10000.0, 40.0, groups) == pytest.approx(0.64)


def test_percentiles_are_means_over_seeds() -> None:
    stats = [{"p1": 1.0, "mean": 2.0, "p99": None}, None, {"p1": 3.0, "mean": 4.0, "p99": 9.0}]
    assert measures.over_seeds(stats) == {"p1": 2.0, "mean": 3.0, "p99": 9.0}
    assert measures.over_seeds([None]) == {}


def test_normalised_values_of_a_point() -> None:
    from tailback_studies.batteries.l4s_battery.combinations import normalised

    found = made(["a", "b"], parts=["flows"], seeds=2)
    point = next(p for p in Gathered(found).of("flows") if (p.at.l_flows, p.at.c_flows) == (2, 8))
    values = {(row, name): stat["mean"] for row, name, stat in normalised(point, "a")}
    # Synthetic flows have equal rates with 2 % of noise. The windows of these flows are therefore
    # proportional to the RTTs of 10.5 and 25 ms. The window for equal shares is proportional to 1 /
    # ((2 / 10.5 + 8 / 25) / 10).
    assert values["normalised rate", "L"] == pytest.approx(1.0, rel=0.06)
    equal = 10 / (2 / 10.5 + 8 / 25)
    assert values["normalised window", "L"] == pytest.approx(10.5 / equal, rel=0.08)
    assert values["normalised window", "C"] == pytest.approx(25 / equal, rel=0.08)


def test_a_line_as_tc_prints_it() -> None:
    options = {
        "limit": {"packets": 40000},
        "target": 15_000_000,
        "tupdate": 16_000_000,
        "alpha": 40 / 256,
        "beta": 818 / 256,
        "any_ect": True,
        "coupling_factor": 2,
        "overload": "drop",
        "step_thresh": {"ns": 1_000_000},
        "min_qlen_step": 0,
        "drop": "dequeue",
        "classic_protection": 10,
        "scheduler": "credit",
    }
    line = qdisc({"name": "dualpi2", "options": options})
    # The published report of 2019 on DualPI2's refactoring contains this line of `tc`. Only 818/256
    # = 3.1953125 is rounded.
    assert line.partition(" [")[0] == (
        "qdisc dualpi2 limit 40000p target 15ms tupdate 16ms alpha 0.156250 beta 3.195312 any_ect "
        "coupling_factor 2 drop_on_overload step_thresh 1ms drop_dequeue classic_protection 10%"
    )
    assert line.endswith("[scheduler credit]")
    counted = {"scheduler": "wrr-counter", "wrr_ratio": 16, "step_thresh": {"packets": 5}}
    counted = {**options, **counted}
    line = qdisc({"name": "dualpi2", "options": counted})
    assert "step_thresh 5p" in line
    assert line.endswith("[scheduler wrr-counter, wrr_ratio 16]")
    codel = {"target": 5_000_000, "limit": {"packets": 1000}, "ecn": True, "ce_threshold": None}
    assert qdisc({"name": "codel", "options": codel}) == "qdisc codel limit 1000p target 5ms ecn"


# --- differences that a comparison flags -------------------------------------------------------


def test_false_discovery_is_controlled_over_the_whole_battery() -> None:
    found = made(["a", "b"], seeds=4)
    assert not found.flagged()
    raised = made(
        ["a", "b"],
        seeds=4,
        effect=lambda variant, at: 1.2 if variant == "b" and at.udp_in else 1.0,
    )
    flagged = {(cell.params["part"], cell.name, cell.quantity) for cell, _, _ in raised.flagged()}
    assert ("overload", "C", "delay_ms.mean") in flagged
    assert not any(name == "L" for _, name, _ in flagged)
    gate = raised.gate("class.delay_ms.mean:+10%")
    assert gate.answer == "exceeds"
    message = gate.of("exceeds")[0].text()
    assert "class C" in message
    assert "UDP" in message
    assert not raised.gate("class.delay_ms.mean:+40%").of("exceeds")


class Small(L4sBattery):
    """A set of scenarios with two parts. Each part is a scenario file."""

    parts = (
        Part("1-1", "1-1", [p for p in FILES if p.stem == "equal-rtt-1-1"]),
        Part("L", "L alone", [p for p in FILES if p.stem == "mixed-rtt-L"]),
    )


def small(
    tmp_path: Path,
    part: str,
    texts: list[str],
    base: dict[str, Any],
    *,
    seeds: int,
    rtts: dict[str, str] | None = None,
) -> BatteryComparison:
    """Compare variants on one part with short runs at one rate.

    `rtts` maps RTTs to warm-ups. With `rtts`, both classes have the same RTT in every run.
    """
    if rtts:
        axis = {"path.rtt": [*rtts], "warmup": [*rtts.values()]}
        base = {**base, "sweep": {"zip": [axis]}}
    return run_battery(
        Small(),
        parse(texts),
        RunOptions(seeds=seeds, out=tmp_path, progress=False),
        parts=[part],
        base=base,
    )


def by_rule(tmp_path: Path, texts: list[str], rule: SeedRule, jobs: int = 2) -> BatteryComparison:
    """Compare variants on the two sweep points of a part, with short runs."""
    return run_battery(
        Small(),
        parse(texts),
        RunOptions(out=tmp_path, progress=False, jobs=jobs),
        parts=["L"],
        base={"duration": "12s"},
        rule=rule,
    )


def seeds_of(found: BatteryComparison) -> dict[str, list[int]]:
    """Return the seeds of each sweep point, by its case."""
    runs: dict[str, list[int]] = {}
    for run in found.others[0].results:
        runs.setdefault(str(run.params["case"]), []).append(run.seed)
    planned = {str(dict(key)["case"]): seeds for key, seeds in found.others[0].seeds.items()}
    assert runs == planned
    return runs


def test_points_without_undecided_differences_get_no_more_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Identical runs leave nothing undecided.
    same = by_rule(tmp_path, ["a", "b"], SeedRule((2, 4)))
    assert [*seeds_of(same).values()] == [[1, 2], [1, 2]]
    (how,) = (one for one in Small().report(same).sections if one.id == "how")
    assert isinstance(how.blocks[0], Text)
    assert "2 points have 2 seeds, 0 points have 4 seeds" in how.blocks[0].text
    # The threshold is too small to show that any difference is below it, so all seeds are used.
    monkeypatch.setattr(Small, "thresholds", ("link.utilisation:0.0000001%",))
    other = by_rule(tmp_path, ["a", "b:flows.L.cc=cubic"], SeedRule((2, 3, 4)))
    assert {4} <= {len(seeds) for seeds in seeds_of(other).values()}


def test_a_point_continues_alone_with_the_runs_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["a", "b:bottleneck.queue.step_thresh=2ms"]
    open_ = ("L", "L 100 ms, C none")
    levels = []

    def undecided(_made: object, thresholds: object, level: float) -> set[tuple[str, str]]:
        assert thresholds == L4sBattery.thresholds
        levels.append(level)
        return {open_}

    monkeypatch.setattr(side_by_side, "_undecided", undecided)
    found = by_rule(tmp_path / "rule", texts, SeedRule((2, 3)), jobs=1)
    assert levels == [pytest.approx(0.025)]
    assert seeds_of(found) == {"L 5 ms, C none": [1, 2], open_[1]: [1, 2, 3]}
    again = by_rule(tmp_path / "other", texts, SeedRule((2, 3)), jobs=2)
    assert again.id == found.id
    # A comparison that uses 3 seeds at every point has the same runs and more.
    fixed = small(tmp_path / "fixed", "L", texts, {"duration": "12s"}, seeds=3)
    ids = {run.run_id for run in fixed.others[0].results}
    assert {run.run_id for run in found.others[0].results} < ids
    # The rule tests after 2 and after 3 seeds, so it multiplies each p value by 2.
    once = judge(found.variants, select(Small.metrics))
    qs = [
        (first.q, second.q)
        for one, other in zip(once.cells, found.cells, strict=True)
        for first, second in zip(one.differences.values(), other.differences.values(), strict=True)
        if first.q is not None and second.q is not None
    ]
    assert qs
    assert all(q >= first for first, q in qs)
    assert any(q == pytest.approx(2 * first) for first, q in qs if q < 1)


def test_shards_and_experiments_without_versions_have_no_rule(tmp_path: Path) -> None:
    with shard.using(shard.Shard(1, 2)), pytest.raises(InputError, match="set the number with"):
        by_rule(tmp_path, ["a", "b"], SeedRule())
    options = RunOptions(out=tmp_path, progress=False)
    versions = experiment("dualpi2-2019-wrr")
    request = versions.request(["1-1"], options, until_decided=True)
    assert command(versions.name, request).endswith("--part 1-1 --until-decided")
    with pytest.raises(InputError, match="remove --seeds, --quick and --page"):
        versions.request(None, options, quick=True, until_decided=True)
    with pytest.raises(InputError, match="sce-2019 does not compare versions"):
        experiment("sce-2019").request(None, options, until_decided=True)


def quantities(found: BatteryComparison) -> set[tuple[str, str]]:
    """For every flagged value, return its quantity and the name of its flow or class."""
    return {(cell.name, cell.quantity) for cell, _, _ in found.flagged()}


def test_a_against_a_flags_nothing(tmp_path: Path) -> None:
    short = {"duration": "16s"}
    rtts = {"10ms": "4400ms"}
    found = small(tmp_path, "1-1", ["a", "b"], short, seeds=4, rtts=rtts)
    assert len(found.cells) >= 15
    assert all(d.absolute == 0 for cell in found.cells for d in cell.differences.values())
    assert not found.flagged()
    # Variants with different seeds are compared as unpaired samples.
    found = small(tmp_path, "1-1", ["a", "b:seed=101"], short, seeds=8, rtts=rtts)
    judged = [d for cell in found.cells for d in cell.differences.values() if d.q is not None]
    assert len(judged) >= 12
    assert not any(d.paired for d in judged)
    assert not found.flagged()


def test_a_target_of_20_percent_more_is_found(tmp_path: Path) -> None:
    found = small(
        tmp_path,
        "1-1",
        ["base", "new:bottleneck.queue.target=18ms"],
        {"duration": "20s"},
        seeds=6,
        rtts={"10ms": "4400ms"},
    )
    assert ("C", "delay_ms.mean") in quantities(found)
    [difference] = [
        d for cell, _, d in found.flagged() if (cell.name, cell.quantity) == ("C", "delay_ms.mean")
    ]
    # The variant's target is 20 % longer, so the queue delay is also 20 % longer.
    assert difference.relative == pytest.approx(0.2, abs=0.04)


def test_a_beta_of_cubic_of_75_percent_is_found(tmp_path: Path) -> None:
    found = small(
        tmp_path,
        "1-1",
        ["base", 'new:flows.C.cc={ name = "cubic", beta = 0.75 }'],
        {"duration": "100s", "bottleneck.rate": "12Mbit"},
        seeds=20,
        rtts={"50ms": "6s"},
    )
    # In this variant, a loss reduces the window by less, so the queue's delay is below its target
    # for a shorter time.
    [difference] = [
        cell.differences["new"]
        for cell in found.cells
        if (cell.name, cell.quantity) == ("C", "delay_ms.mean")
    ]
    assert difference.flagged
    assert difference.absolute > 0


def test_a_marking_off_by_one_packet_is_found(tmp_path: Path) -> None:
    found = small(
        tmp_path,
        "L",
        ["base", "new:bottleneck.queue.step_thresh=4p"],
        {"duration": "16s", "bottleneck.queue.step_thresh": "3p"},
        seeds=5,
    )
    assert {("L", "delay_ms.mean"), ("L", "window_bytes.mean")} <= quantities(found)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["l4s-batery", "--variant", "a", "--variant", "b"], '\n  write "l4s-battery"\n'),
        (["l4s-battery"], "0 variants: l4s-battery compares at least two"),
        (["l4s-battery", "--variant", "a"], "the first is the baseline"),
        (["l4s-battery", "--variant", "a", "--variant", "a"], "a variant of this name already"),
        (
            ["l4s-battery", "--variant", "a", "--variant", "a:seed=2"],
            "1 variant: l4s-battery compares at least two",
        ),
        (
            ["l4s-battery", "--variant", "a", "--variant", "b", "--part", "overlod"],
            '\n  write "overload"',
        ),
        (
            ["l4s-battery", "--variant", "a", "--variant", "b", "--preset", "step-2018"],
            '\n  write "step-2019"',
        ),
        (["l4s-battery", "--variant", "a", "--variant", "b", "--report", "."], "overwritten"),
        (
            ["l4s-battery", "--variant", "a", "--variant", "b", "--fail-if", "delay_ms.man:1%"],
            '\n  write "delay_ms.mean"',
        ),
        (["file.toml", "--variant", "a", "--variant", "b", "--quick"], "are for sets of scenarios"),
    ],
)
def test_bad_input_is_refused_at_once(
    tailback: Tailback, tmp_path: Path, args: list[str], message: str
) -> None:
    done = tailback("compare", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("error: ") == 1
    assert not (tmp_path / "results").exists()


def test_everything_that_is_wrong_is_said_once(tmp_path: Path) -> None:
    variants = [
        Variant("base"),
        Variant("k", {"bottleneck.queue.coupling_factor": "0"}),
        Variant("zero", {"bottleneck.queue.target": "0ms"}),
        Variant(
            "both",
            {"bottleneck.queue.classic_protection": "101", "bottleneck.queue.alpha": "1e9"},
        ),
    ]
    with pytest.raises(ScenarioError) as caught:
        run_battery(BATTERY, variants, RunOptions(out=tmp_path / "out"))
    found = list(map(str, caught.value.diagnostics))
    assert len(found) == 4
    for text, name in zip(found, ("k", "zero", "both", "both"), strict=True):
        # The error names the variant, the line, the column, and what was expected.
        assert re.match(rf"--variant {name}:\S+=\S+:1:\d+: ", text)
        assert "expected" in text
    assert not (tmp_path / "out").exists()


def test_values_for_what_is_not_there(tmp_path: Path) -> None:
    def run(texts: list[str], parts: list[str]) -> None:
        run_battery(BATTERY, parse(texts), RunOptions(out=tmp_path / "out"), parts=parts)

    with pytest.raises(InputError, match="which l4s-battery sweeps in part mixed-rtt"):
        run(["a", "b:flows.C.rtt=5ms"], ["mixed-rtt"])
    with pytest.raises(InputError, match="which part overload does not have"):
        run(["a", "b:traffic.L-web.arrival=5ms"], ["overload"])
    with pytest.raises(ScenarioError, match='there is no "X" in flows'):
        run(["a", "b:flows.X.cc=reno"], ["overload"])


def test_a_step_threshold_by_link(tmp_path: Path) -> None:
    found = run_battery(
        BATTERY,
        parse(["a", "b:bottleneck.queue.target=18ms"]),
        RunOptions(seeds=1, out=tmp_path, progress=False),
        parts=["1-1"],
        presets=["step-2019"],
        quick=True,
        base={"duration": "9s"},
    )
    steps = {
        run.params["bottleneck.rate"]: run.manifest["canonical"]["links"][0]["queue"]["options"][
            "step_thresh"
        ]["ns"]
        for run in found.baseline.results
    }
    assert steps == {4e6: 6e6, 12e6: 2e6, 40e6: 1e6, 120e6: 1e6, 200e6: 1e6}
    with pytest.raises(InputError, match=r"sets bottleneck.queue.step_thresh, which l4s-battery"):
        run_battery(
            BATTERY,
            parse(["a", "b:bottleneck.queue.step_thresh=2ms"]),
            RunOptions(out=tmp_path / "out"),
            parts=["equal-rtt"],
            presets=["step-2019"],
        )


# --- report ------------------------------------------------------------------------------------


def pdf_parts(data: bytes) -> tuple[int, set[str], set[str]]:
    """Return the number of pages, the headings of the outline, and the searchable letters of a
    PDF."""
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    plain = data
    for stream in streams:
        try:
            plain += zlib.decompress(stream)
        except zlib.error:
            continue
    headings = {text.decode("latin-1") for text in re.findall(rb"/Title\(([^)]*)\)", plain)}
    maps = re.findall(rb"<[0-9A-Fa-f]{4}>\s*<([0-9A-Fa-f]{4})>", plain)
    return pages, headings, {chr(int(code, 16)) for code in maps}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of two versions with the smallest parts. Return its folder."""
    folder = tmp_path_factory.mktemp("report") / "report"
    found = made(
        ["base", "new"],
        parts=["mixed-rtt", "overload"],
        seeds=6,
        effect=lambda variant, _: 1.3 if variant == "new" else 1.0,
    )
    found.report(folder)
    return folder


def test_a_report_has_its_figures_as_page_and_pdf(written: Path) -> None:
    names = {path.stem for path in (written / "figures").glob("*.svg")}
    assert names == {
        *(f"mixed-{what}" for what in ("rate", "ratios", "delay", "marks")),
        *(f"overload-{what}" for what in ("delay", "rate", "marks", "utilisation")),
    }
    pages, headings, letters = pdf_parts((written / "report.pdf").read_bytes())
    assert pages >= 5
    assert {"What differs beyond noise", "B.1 Mixed RTT: rates", "C.1 Overload"} <= headings
    assert set("Figure Page of") - {" "} <= letters | {"P"}
    text = (written / "report.md").read_text(encoding="utf-8")
    assert "qdisc dualpi2 limit 10000p target 15ms" in text
    assert "**new**: " in text
    assert "more than noise" in text


def test_versions_share_axes_and_marks_stand_where_something_differs(written: Path) -> None:
    spec = json.loads((written / "figures" / "mixed-delay.vl.json").read_text(encoding="utf-8"))
    wide = spec["columns"]
    assert wide == 2
    rows = [spec["concat"][i : i + wide] for i in range(0, len(spec["concat"]), wide)]
    assert len(rows) == len(cases.L_RTTS)
    for base, new in rows:
        domains = [
            layer["encoding"]["y"]["scale"]["domain"]
            for panel in (base, new)
            for layer in panel["layer"]
            if "scale" in layer["encoding"]["y"]
        ]
        assert all(domain == domains[0] for domain in domains)
        stars = {
            value["series"]
            for layer in new["layer"]
            if layer["mark"]["type"] == "text"
            for value in layer["data"]["values"]
        }
        assert stars == {"C"}
        assert all(layer["mark"]["type"] != "text" for layer in base["layer"])


def test_the_json_says_which_part_and_case(tmp_path: Path) -> None:
    found = made(["a", "b"], parts=["overload"], root=tmp_path)
    data = found.to_dict()
    assert (data["battery"], data["parts"]) == ("l4s-battery", ["overload"])
    first = data["cells"][0]
    assert first["params"]["part"] == "overload"
    assert first["params"]["case"] == "UDP 50 Mbit/s in L"


def test_versions_of_2019_are_experiments() -> None:
    assert {"dualpi2-2019-wrr", "dualpi2-2019-refactoring"} <= set(EXPERIMENTS)
    for name in ("dualpi2-2019-wrr", "dualpi2-2019-refactoring"):
        study = experiment(name)
        assert isinstance(study, Versions)
        # On Linux the queue needs a module, and DCTCP as in Linux 3.19 needs another module.
        assert study.base["flows.L.cc"]["version"] == "linux-3.19"
        told = {row: what for row, what, _ in study.setup_on("kernel")}
        assert set(told) - {row for row, _, _ in study.setup} == {"queue"}
        assert told["DCTCP"] != {row: what for row, what, _ in study.setup}["DCTCP"]
