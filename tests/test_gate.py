"""Tests the gate on regressions: its three answers, their error rates, baseline files, and output
for CI."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

import tailback as tb
from conftest import SCENARIO
from tailback.cli import boundary
from tailback.cli.main import cli
from tailback.comparison.gate import LAST_LOOK, LEVEL, looks
from tailback.metrics.margins import Samples

CODEL = SCENARIO.replace("10Mbit", "20Mbit").replace('"2s"', '"6s"').replace('"500ms"', '"2s"')
SLOW = "slow:bottleneck.queue.target=20ms"
"""A variant with a target that is four times as long."""


def drawn(seed: int, n: int, rise: float, spread: float, *, paired: bool = True) -> Samples:
    draw = random.Random(seed).gauss
    base = [10 + draw(0, 2) for _ in range(n)]
    before = base if paired else [10 + draw(0, 2) for _ in range(n)]
    other = [x * (1 + rise) + draw(0, spread) for x in before]
    return Samples(tuple(base), tuple(other), paired)


@pytest.mark.parametrize("paired", [True, False])
def test_at_the_bound_each_answer_is_wrong_as_often_as_the_level_says(paired: bool) -> None:
    """If a metric rises by exactly the bound of 10 %, the answers "exceeds" and "holds" are each
    wrong in 5 % of the tests."""
    found = [drawn(i, 8, 0.10, 1, paired=paired).against(0.10, relative=True) for i in range(2000)]
    for said in ([one.more() for one in found], [one.less() for one in found]):
        # Three standard deviations of the share in 2000 draws are 1.5 %.
        assert 0.035 < sum(p <= LEVEL for p in said) / 2000 < 0.065


def test_two_one_sided_tests_of_a_textbook() -> None:
    # The five differences have mean 0.2 and standard deviation 0.158114, so the standard error is
    # 0.0707107. For bounds of ±0.5, t is 4.24264 and 9.89949 with four degrees of freedom. The
    # critical value of t at 5 % is 2.13185.
    samples = Samples((1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 2.1, 3.2, 4.3, 5.4), paired=True)
    above = samples.against(0.5, relative=False)
    below = samples.against(-0.5, relative=False, falls=True)
    assert above.less() == pytest.approx(0.0066, abs=1e-4)
    assert below.less() == pytest.approx(0.00029, abs=1e-5)
    assert above.more() == pytest.approx(1 - above.less())
    low, high = samples.bounds(0.05, relative=False)
    assert low == pytest.approx(0.2 - 2.13185 * 0.0707107, abs=1e-5)
    assert high == pytest.approx(0.2 + 2.13185 * 0.0707107, abs=1e-5)


@pytest.mark.parametrize("paired", [True, False])
def test_bounds_are_where_the_tests_change_their_answer(paired: bool) -> None:
    samples = drawn(3, 12, 0.1, 1, paired=paired)
    for relative in (True, False):
        low, high = samples.bounds(0.05, relative=relative)
        assert low is not None
        assert high is not None
        assert samples.against(low, relative=relative).more() == pytest.approx(0.05, abs=1e-6)
        assert samples.against(high, relative=relative).less() == pytest.approx(0.05, abs=1e-6)
        assert low < high


def test_what_has_no_spread_is_told_by_the_number_of_runs() -> None:
    four, five = (Samples((2.0,) * n, (2.0,) * n, paired=True) for n in (4, 5))
    assert four.against(0.1, relative=True).less() == 1 / 16
    assert five.against(0.1, relative=True).less() == 1 / 32
    assert five.bounds(0.05, relative=True) == (0.0, 0.0)
    assert four.bounds(0.05, relative=True) == (None, None)
    assert four.against(0.1, relative=True).runs(0.05) == 5
    # Values equal to the bound do not exceed it. Neither the baseline nor the variant has drops.
    none = Samples((0.0,) * 5, (0.0,) * 5, paired=True)
    for falls in (False, True):
        found = none.against(-0.1 if falls else 0.1, relative=True, falls=falls)
        assert (found.more(), found.less()) == (1.0, 1 / 32)
    # If the baseline is 0, any rise exceeds any percentage.
    some = Samples((0.0,) * 6, (3.0, 4.0, 5.0, 3.0, 4.0, 5.0), paired=True)
    assert some.against(10.0, relative=True).more() < 0.001
    assert some.bounds(0.05, relative=True) == (None, None)


def test_the_seeds_that_are_promised_are_enough_in_four_cases_of_five() -> None:
    needed = drawn(11, 6, 0.05, 1).against(0.10, relative=True).runs(LEVEL)
    assert needed is not None
    # The spread of six values is only a rough estimate, so compute the needed number of seeds from
    # the true spread.
    true = 10 * 0.05 / 1.0
    exact = next(n for n in range(3, 99) if ((1.7 + 0.86) / n**0.5) <= true)
    assert abs(exact - 26) <= 2
    told = sum(
        drawn(1000 + i, exact, 0.05, 1).against(0.10, relative=True).less() <= LEVEL
        for i in range(500)
    )
    assert 0.72 < told / 500 < 0.88


def test_a_negative_baseline_rises_towards_zero() -> None:
    samples = Samples((-10.0, -11.0, -9.0, -10.0), (-8.0, -8.7, -7.3, -8.2), paired=True)
    assert samples.against(0.1, relative=True).more() < 0.01
    assert samples.against(-0.1, relative=True, falls=True).less() < 0.01


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tb.Comparison:
    """Return a comparison of a queue with three variants: an identical queue, other seeds, and four
    times the target."""
    variants: dict[str, dict[str, object]] = {
        "base": {},
        "again": {"title": "again"},
        "other": {"seed": 50},
        "slow": {"bottleneck.queue.target": "20ms"},
    }
    out = tmp_path_factory.mktemp("results")
    names = ["delay_ms.mean", "throughput_mbit", "drops", "completion_s"]
    return tb.compare(CODEL, variants, seeds=6, metrics=names, out=out)


def only(made: tb.Comparison, *names: str) -> tb.Comparison:
    return replace(made, variants=[v for v in made.variants if v.name in ("base", *names)])


def test_three_answers(made: tb.Comparison) -> None:
    limit = "link.delay_ms.mean:+10%"
    assert only(made, "again").gate(limit).answer == "holds"
    slow = only(made, "slow").gate(limit)
    assert slow.answer == "exceeds"
    assert slow.of("exceeds")[0].text().endswith(f"beyond {limit}")
    tight = only(made, "other").gate("link.delay_ms.mean:+0.1%")
    assert tight.answer == "unknown"
    [verdict] = tight.verdicts
    assert "cannot exclude a rise beyond 0.1 %; about" in verdict.text()
    assert verdict.text().endswith("seeds would")
    assert verdict.seeds is not None
    assert verdict.seeds > 6
    # A single value beyond the bound fails the gate. To pass, all values must be within the bound.
    assert only(made, "again", "slow").gate(limit).answer == "exceeds"
    assert only(made, "again", "other").gate("link.delay_ms.mean:+0.1%").answer == "unknown"
    # With a bound of ±60 %, equal queues are equivalent. A queue with four times the delay is not
    # equivalent.
    assert only(made, "other").gate(["delay_ms.mean:60%", "link.delay_ms.mean:9"]).answer == "holds"
    assert only(made, "slow").gate("delay_ms.mean:60%").answer == "exceeds"
    # The verdict is "holds", because a bound of -10 % limits a fall, and the delay rose.
    assert only(made, "slow").gate("delay_ms.mean:-10%").answer == "holds"


def test_what_a_variant_lacks_cannot_be_told(made: tb.Comparison) -> None:
    cells = []
    for cell in made.cells:
        samples = {name: dict(values) for name, values in cell.samples.items()}
        if cell.quantity == "delay_ms.mean":
            samples["again"].pop(3)
        cells.append(replace(cell, samples=samples))
    gate = only(replace(made, cells=cells), "again").gate("delay_ms.mean:+10%")
    assert gate.answer == "unknown"
    assert "again has it in 5 of 6 runs, base in 6 of 6" in gate.verdicts[0].text()
    with pytest.raises(tb.InputError, match="base has no completion_s"):
        only(made, "again").gate("completion_s:+10%")


def test_one_of_many_exceeds_by_chance_no_more_often() -> None:
    """If 20 values are exactly at their bound, some value exceeds its bound by chance in most
    comparisons. The gate corrects for the number of values."""
    alone = together = 0
    for i in range(200):
        ps = [drawn(20 * i + k, 6, 0.10, 1).against(0.10, relative=True).more() for k in range(20)]
        alone += min(ps) <= LEVEL
        together += min(ps) <= LEVEL / 20
    assert alone > 100
    assert together < 25


def test_looks_are_fixed_beforehand() -> None:
    assert looks(LAST_LOOK) == [10, 20, 40, 80]
    assert looks(25) == [10, 20, 25]
    assert looks(4) == [4]
    # A sequence of four tests that stops at the first answer is wrong in at most 5 % of cases.
    wrong = 0
    for i in range(1000):
        every = drawn(i, 80, 0.10, 1)
        for n in looks(80):
            seen = Samples(every.base[:n], every.other[:n], paired=True)
            if seen.against(0.10, relative=True).less() <= LEVEL / 4:
                wrong += 1
                break
    assert wrong / 1000 < 0.06


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs the command in this process, in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)

    def run(*args: object) -> tuple[int, str, str]:
        words = [str(arg) for arg in args]
        status = boundary.status_of(lambda: cli.main(words, standalone_mode=False))
        return status, *capsys.readouterr()

    return run


def compare(command: Command, *args: object) -> tuple[int, dict[str, Any], str]:
    status, out, err = command("compare", *args, "--no-report", "--json", "--jobs", 1)
    return status, json.loads(out) if out else {}, err


def test_exit_status_and_junit(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(CODEL, encoding="utf-8")
    two = (file, "--variant", "base", "--variant")
    limit = ("--fail-if", "delay_mean_ms:+10%")
    tight = ("--fail-if", "delay_mean_ms:+0.1%")
    few = compare(command, *two, "b:seed=9", *tight, "--seeds", 2, "--junit", "few.xml")
    assert few[0] == 4
    assert "cannot exclude a rise beyond 0.1 %; about" in few[2]
    assert few[1]["gate"]["answer"] == "unknown"
    assert few[1]["gate"]["verdicts"][0]["seeds_needed"] > 2
    slow = compare(command, *two, SLOW, *limit, "--seeds", 5, "--junit", "slow.xml")
    assert slow[0] == 3
    none = compare(command, *two, "b:title=b", *limit, "--seeds", 2, "--junit", "none.xml")
    assert (none[0], none[2]) == (0, "")
    assert compare(command, *two, SLOW, "--seeds", 2, "--junit", "bare.xml")[0] == 0
    for name, errors, failures in (("few", 1, 0), ("slow", 0, 1), ("none", 0, 0), ("bare", 0, 0)):
        root = ElementTree.parse(tmp_path / f"{name}.xml").getroot()
        assert root.tag == "testsuites"
        counts = [root.attrib[key] for key in ("tests", "errors", "failures")]
        assert counts == ["1", str(errors), str(failures)]
        [case] = root.iter("testcase")
        assert {e.tag for e in case} <= {"failure", "error", "system-out"}
    # A failed assertion takes precedence over the gate, so the exit status is 1.
    with file.open("a", encoding="utf-8") as opened:
        opened.write('[[assert]]\nmetric = "utilisation"\nmax = 0.1\n')
    broken = compare(command, *two, SLOW, *limit, "--seeds", 2, "--junit", "broken.xml")
    assert broken[0] == 1
    assert ElementTree.parse(tmp_path / "broken.xml").getroot().attrib["failures"] != "0"


def test_seeds_are_added_until_it_can_be_told(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(CODEL, encoding="utf-8")
    two = (file, "--variant", "base", "--variant")
    clear = compare(
        command, *two, SLOW, "--fail-if", "delay_mean_ms:+10%", "--seeds", "auto", "--quiet"
    )
    assert clear[0] == 3
    # `--quiet` must not leave its environment variable to later commands.
    assert "TAILBACK_QUIET" not in os.environ
    assert clear[1]["gate"]["level"] == pytest.approx(LEVEL / 4)
    assert {c["values"]["base"]["n"] for c in clear[1]["cells"] if c["kind"] == "link"} == {10}
    open_ = compare(
        command, *two, "b:seed=30", "--fail-if", "delay_mean_ms:0.01%", "--seeds", "auto:12"
    )
    assert open_[0] == 4
    assert {c["values"]["base"]["n"] for c in open_[1]["cells"] if c["kind"] == "link"} == {12}
    runs = len(list((tmp_path / "results" / "runs").iterdir()))
    assert runs == 10 + 10 + 2 + 12, "what was run is kept and used"
    for bad, said in (
        (("--seeds", "auto"), "use --fail-if too"),
        (("--seeds", "auto:1"), "use a number from 1, auto, or auto:MAX"),
        (("--seeds", "many"), "use a number from 1, auto, or auto:MAX"),
        (("--junit", "none/f.xml"), "there is no folder none"),
    ):
        status, _, stderr = compare(command, *two, SLOW, *bad)
        assert (status, said in stderr) == (2, True), stderr


def test_a_baseline_is_kept_in_a_file(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(CODEL + '[sweep]\n"path.rtt" = ["20ms", "40ms"]\nseeds = 5\n', encoding="utf-8")
    kept = tmp_path / "f.tailback.json"
    done = command("baseline", file, kept)
    assert done[0] == 0, done[2]
    assert f"engine sim {tb.engine_version()}" in done[1]
    assert kept.stat().st_size < 20_000
    assert command("baseline", file, kept)[0] == 2, "it is there"
    limit = ("--fail-if", "delay_mean_ms:+10%")
    status, same, _ = compare(command, kept, file, *limit)
    assert status == 0
    assert [v["name"] for v in same["variants"]] == ["baseline", "f"]
    assert same["variants"][0]["engine_version"] == tb.engine_version()
    cells = [c for c in same["cells"] if c["quantity"] == "delay_ms.mean"]
    assert [c["params"]["path.rtt"] for c in cells] == [2e7, 4e7]
    assert all(c["differences"]["f"]["paired"] for c in cells)
    assert all(c["differences"]["f"]["absolute"] == 0 for c in cells)
    # A baseline file is paired seed by seed, and gives the same verdict as the runs themselves.
    status, slow, _ = compare(command, kept, file, "--variant", SLOW, *limit)
    assert status == 3
    two = ("--variant", "base", "--variant", SLOW, *limit)
    direct = compare(command, file, *two)[1]
    for a, b in zip(slow["gate"]["verdicts"], direct["gate"]["verdicts"], strict=True):
        assert a["low"] == pytest.approx(b["low"], rel=1e-6)
    # A baseline file can also be compared with a stored sweep. If the sweep has fewer seeds, only
    # the common seeds are used.
    assert compare(command, kept, "latest", "--metric", "jain")[0] == 0
    few = compare(command, kept, file, "--seeds", 2, *limit)[1]
    assert {c["differences"]["f"]["n"] for c in few["cells"] if c["differences"]} == {2}
    auto = compare(command, kept, file, *limit, "--seeds", "auto")
    assert auto[0] == 0
    page = command("compare", kept, file, "--report", "page")
    assert page[0] == 0, page[2]
    assert "kept in f-" in (tmp_path / "page" / "index.html").read_text("utf-8")
    # The output reports that the baseline's engine has another version.
    text = kept.read_text("utf-8")
    kept.write_text(text.replace(tb.engine_version(), "0.0.1+old"), encoding="utf-8")
    done = command("compare", kept, file, "--no-report")
    assert f"f ran on sim {tb.engine_version()}, baseline on 0.0.1+old" in done[1]
    with_python = tb.compare(file, {"now": {}}, baseline=kept, out=tmp_path / "results")
    assert with_python.gate("link.delay_mean_ms:+10%").answer == "holds"


def test_files_that_are_no_baselines(command: Command, tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "b.tailback.json"
    good = command("baseline", scenario, file, "--seeds", "2", "--metric", "jain")
    assert good[0] == 0
    text = file.read_text("utf-8")
    for changed, said in (
        ("{", "not JSON"),
        ("{}", "not a baseline\n  write one with `tailback baseline`"),
        (text.replace('"format": 1', '"format": 9'), "written by another version"),
        (text.replace('"kind": "run"', '"kind": "cat"'), "points[0].cells[0].kind is not"),
        (text.replace('"seeds": [1, 2]', '"seeds": [1]'), "points[0].cells[0].values is not"),
    ):
        assert changed != text
        file.write_text(changed, encoding="utf-8")
        status, _, stderr = compare(command, file, scenario)
        assert (status, said in stderr) == (2, True), stderr
    file.write_text(text, encoding="utf-8")
    for args, said in (
        (
            (file, scenario, "--fail-if", "drops:+1"),
            "the baseline does not have drops\n  use one of run.jain",
        ),
        ((file,), "nothing to compare it with"),
        ((scenario, file), "the file of a baseline comes first"),
        ((file, scenario, "--variant", "baseline"), 'variant "baseline"'),
        ((file, scenario, "--variant", 'a:sweep={"path.rtt"=["1ms","2ms"]}'), "a point that"),
    ):
        status, _, stderr = compare(command, *args)
        assert (status, said in stderr) == (2, True), stderr
    for target, said in (("b.json", "ends in .tailback.json"), ("no/b.tailback.json", "no folder")):
        done = command("baseline", scenario, target)
        assert (done[0], said in done[2]) == (2, True)


DOCS = Path(__file__).resolve().parent.parent / "docs" / "how-to"


def test_the_commands_of_the_page_are_commands() -> None:
    blocks = re.findall(r"```(?:sh|yaml)\n(.*?)```", (DOCS / "ci.md").read_text("utf-8"), re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ")
    lines = re.findall(r"^(?: *- run: | *)(tailback [^#\n]*)", text, re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        names = shlex.split(line)[1:]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), names.pop(0))
            assert found is not None
            command = found
        # `make_context` raises for an unknown option of the command.
        command.make_context("tailback", names)
