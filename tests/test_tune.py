"""Tests `tune`, which searches for the best values of parameters."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import COMMAND, Tailback, contents, wait_for
from tailback import _native
from tailback.errors import InputError, ScenarioError
from tailback.metrics import find
from tailback.running.spread.shard import PartDone, Shard, using
from tailback.tuning import goals, labels, page, ranges
from tailback.tuning.measure import MeasuredCandidate
from tailback.tuning.result import FEWEST, MOST_CHECKED, Point, Tuned, chosen
from tailback.tuning.search import Tried

TOY = """\
# A queue that is as long as its limit: the longer, the later, and the less is lost.
title    = "toy"
duration = "2s"
warmup   = "500ms"
seed     = 1

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "30p" }   # what is tuned

[path]
rtt = "20ms"

[[flows]]
name = "bulk"
cc   = "reno"

[sweep]
"bottleneck.rate" = ["5Mbit", "10Mbit"]
seeds = 1
"""

ASKED: dict[str, Any] = {
    "vary": {"bottleneck.queue.limit": "2p..60p"},
    "minimise": ["delay_ms.mean"],
    "maximise": ["utilisation"],
    "over": {"path.rtt": ["10ms", "20ms"]},
    "runs": 48,
    "seeds": 2,
    "unseen": 4,
    "batch": 4,
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tailback.tune(TOY, **ASKED, jobs=1, out=tmp_path_factory.mktemp("out"))


def test_the_same_seed_gives_the_same_result_at_any_jobs(tuned: Tuned, tmp_path: Path) -> None:
    again = tailback.tune(TOY, **ASKED, jobs=2, out=tmp_path)
    assert again.to_dict() == tuned.to_dict()
    assert contents(tmp_path) == contents(tuned.folder.parent.parent)
    names = {file.name for file in tuned.folder.iterdir()} - {"figures"}
    assert {"index.html", "tuning.json", "study.journal", "candidates.csv"} < names
    # The journal contains wall-clock times, and the marker file contains the journal's hash, so
    # both differ.
    for name in names - {"study.journal", ".tailback-report.json"}:
        assert (tmp_path / "tunings" / tuned.plan.id / name).read_bytes() == (
            tuned.folder / name
        ).read_bytes()
    other = tailback.tune(TOY, **ASKED, seed=1, out=tmp_path)
    assert [one.values for one in other.tried] != [one.values for one in tuned.tried]
    assert other.plan.id != tuned.plan.id


def test_the_front_is_what_nothing_beats(tuned: Tuned, tmp_path: Path) -> None:
    """Compare the Pareto front with a sweep over all values that the search tried."""
    assert len(tuned.tried) == 12
    limits = sorted({str(one.values["bottleneck.queue.limit"]) for one in tuned.tried})
    grid = {"bottleneck.queue.limit": limits, "path.rtt": ["10ms", "20ms"]}
    swept = tailback.sweep(TOY, grid, seeds=2, out=tmp_path)
    goals = (find("delay_ms.mean"), find("utilisation"))
    found: dict[str, tuple[float, float]] = {}
    for limit in limits:
        own = [run.summary for run in swept if run.labels["bottleneck.queue.limit"] == limit]
        assert len(own) == 4
        delay, used = (
            sum(goal.value(s["queues"]["bottleneck"]) or 0.0 for s in own) / 4 for goal in goals
        )
        found[limit] = (delay, used)
    beaten = {
        a
        for a, (delay, used) in found.items()
        for other_delay, other_used in found.values()
        if (other_delay <= delay and other_used >= used)
        and (other_delay < delay or other_used > used)
    }
    front = {str(point.values["bottleneck.queue.limit"]) for point in tuned.front}
    assert {found[one] for one in front} == {found[one] for one in limits if one not in beaten}
    assert len(front) >= 3
    for point in tuned.front:
        measured = point.tried.measured
        limit = str(point.values["bottleneck.queue.limit"])
        assert measured.value("delay_ms.mean") == pytest.approx(found[limit][0])
    # Along the Pareto front, the first objective gets worse and the second objective gets better.
    delays = [point.tried.measured.value("delay_ms.mean") for point in tuned.front]
    shares = [point.tried.measured.value("utilisation") for point in tuned.front]
    assert delays == sorted(delays)
    assert shares == sorted(shares)


def test_it_ends_on_seeds_that_the_search_did_not_see(tuned: Tuned, tmp_path: Path) -> None:
    assert tuned.unseen_seeds == (3, 6)
    searched = {run for one in tuned.tried for run in one.measured.run_ids}
    point = tuned.front[0]
    assert point.unseen is not None
    ids = list(point.unseen.run_ids)
    assert len(ids) == 8
    assert not searched & set(ids)
    out = tuned.folder.parent.parent
    seeds = {json.loads((out / "runs" / one / "manifest.json").read_text())["seed"] for one in ids}
    assert seeds == {3, 4, 5, 6}
    # The difference is relative to runs that have the same seeds, and the limit of the scenario
    # file.
    values = {"bottleneck.queue.limit": point.values["bottleneck.queue.limit"], "seed": 3}
    grid = {"path.rtt": ["10ms", "20ms"]}
    own = tailback.sweep(TOY, grid, set=values, seeds=4, out=tmp_path)
    base = tailback.sweep(TOY, grid, set={"seed": 3}, seeds=4, out=tmp_path)

    def mean(results: tailback.Results) -> float:
        found = [run.summary["queue"]["delay_ms"]["mean"] for run in results]
        return float(sum(found) / len(found))

    difference = point.difference(tuned.plan.goals[0])
    assert difference is not None
    assert difference.absolute == pytest.approx(mean(own) - mean(base))
    assert difference.n == 4
    assert difference.ci95 is not None
    assert point.answer(tuned.plan.goals[0]) == "better"
    assert point.answer(tuned.plan.goals[1]) == "worse"
    assert "on seeds 3 to 6, which the search did not use" in tuned.verdict()[0]


def test_each_point_is_a_scenario_with_the_runs_of_the_search(tuned: Tuned) -> None:
    out = tuned.folder.parent.parent
    before = len(contents(out))
    for point in tuned.front:
        file = tuned.folder / point.file
        assert "# what is tuned" in file.read_text("utf-8")
        results = tailback.run(file, out=out)
        assert {run.run_id for run in results} == set(point.tried.measured.run_ids)
    assert len(contents(out)) == before


def test_optuna_reads_what_it_stored(tuned: Tuned, tmp_path: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    file = tmp_path / "study.journal"
    file.write_bytes((tuned.folder / "study.journal").read_bytes())
    study = optuna.load_study(
        study_name=tuned.plan.id, storage=JournalStorage(JournalFileBackend(str(file)))
    )
    assert len(study.trials) == 12
    front = {trial.number + 1 for trial in study.best_trials}
    assert {point.tried.number for point in tuned.front} <= front


def test_a_bound_holds(tuned: Tuned, tmp_path: Path) -> None:
    held = tailback.tune(TOY, **ASKED, subject_to=["delay_ms.mean<=8"], out=tmp_path)
    assert held.front
    assert all(p.tried.measured.value("delay_ms.mean") <= 8 for p in held.front)
    over = [one for one in held.tried if one.measured.value("delay_ms.mean") > 8]
    assert over
    assert not any(one.front or one.holds for one in over)
    assert any(point.tried.measured.value("delay_ms.mean") > 8 for point in tuned.front)
    none = tailback.tune(TOY, **ASKED, subject_to=["utilisation>=2"], out=tmp_path)
    assert none.front == []
    assert none.verdict() == ["none of the 12 measured candidates meets utilisation>=2"]


def test_one_goal_has_one_best(tmp_path: Path) -> None:
    asked = {**ASKED, "maximise": [], "sampler": "qmc", "runs": 32}
    found = tailback.tune(TOY, **asked, across="worst", out=tmp_path)
    best = min(one.measured.value("delay_ms.mean") for one in found.tried)
    assert [point.tried.measured.value("delay_ms.mean") for point in found.front] == [best]
    assert (found.folder / "figures/front.svg").is_file()


def test_a_combination_that_cannot_be_is_a_candidate_that_failed(tmp_path: Path) -> None:
    """CoDel has the option `target` and a FIFO does not, so a candidate with a FIFO and a target
    fails."""
    scenario = TOY.replace('{ aqm = "fifo", limit = "30p" }', '"codel"')
    asked = {**ASKED, "sampler": "random", "unseen": 2}
    asked["vary"] = {
        "bottleneck.queue.target": "1ms..30ms",
        "bottleneck.queue": ["codel", "fq_codel", "fifo"],
    }
    found = tailback.tune(scenario, **asked, out=tmp_path)
    failed = [one for one in found.tried if one.values["bottleneck.queue"] == "fifo"]
    assert failed
    assert all("not of fifo; expected one of limit" in one.measured.fault for one in failed)
    assert len(failed) < len(found.tried)
    assert not any(one.measured.fault for one in found.tried if one not in failed)
    assert found.front
    file = found.folder / found.front[0].file
    ids = {run.run_id for run in tailback.run(file, out=tmp_path)}
    assert ids == set(found.front[0].tried.measured.run_ids)


@pytest.mark.parametrize("sampler", ["nsga2", "random"])
def test_every_sampler_is_the_same_again(sampler: str, tmp_path: Path) -> None:
    asked = {**ASKED, "sampler": sampler, "runs": 80, "unseen": 2}
    asked["vary"] = {"bottleneck.queue.limit": "2p..60p", "flows.bulk.cc": "reno,cubic"}
    one = tailback.tune(TOY, **asked, out=tmp_path)
    assert len(one.tried) == 20
    assert {tried.values["flows.bulk.cc"] for tried in one.tried} == {"reno", "cubic"}
    assert tailback.tune(TOY, **asked, out=tmp_path).to_dict() == one.to_dict()


def test_parts_of_a_search_are_of_what_is_known_at_once(tmp_path: Path) -> None:
    with using(Shard(1, 2)), pytest.raises(InputError, match="expected --sampler random or qmc"):
        tailback.tune(TOY, **ASKED, out=tmp_path)
    asked = {**ASKED, "sampler": "random"}
    whole = tailback.tune(TOY, **asked, out=tmp_path / "whole")
    for part in (1, 2):
        with using(Shard(part, 2)), pytest.raises(PartDone) as ended:
            tailback.tune(TOY, **asked, out=tmp_path / f"part{part}")
        assert ended.value.done.of_runs == len(
            {run for one in whole.tried for run in one.measured.run_ids}
            | set(whole.defaults.run_ids)
        )
    tailback.merge([tmp_path / "part1", tmp_path / "part2"], tmp_path / "all")
    assert tailback.tune(TOY, **asked, out=tmp_path / "all").to_dict() == whole.to_dict()


def test_a_killed_search_goes_on_where_it_was(tmp_path: Path) -> None:
    file, out = tmp_path / "toy.toml", tmp_path / "out"
    file.write_text(TOY.replace('"2s"', '"10s"'), "utf-8")
    asked = [*COMMAND, "tune", str(file), "--vary", "bottleneck.queue.limit=2p..60p"]
    asked += ["--minimise", "delay_ms.mean", "--maximise", "utilisation", "--runs", "16"]
    asked += ["--seeds", "1", "--unseen", "2", "--batch", "2", "--jobs", "2", "--json"]
    with subprocess.Popen([*asked, "--out", str(out)], stdout=subprocess.PIPE) as killed:
        wait_for(lambda: len(list(out.glob("runs/*/manifest.json"))) >= 5)
        killed.send_signal(signal.SIGKILL)
    before = {p: p.stat().st_mtime_ns for p in out.glob("runs/*/manifest.json")}
    done = subprocess.run([*asked, "--out", str(out)], capture_output=True, text=True, check=True)
    # Stored runs were not repeated.
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    whole = tailback.tune(
        file,
        {"bottleneck.queue.limit": "2p..60p"},
        minimise=["delay_ms.mean"],
        maximise=["utilisation"],
        runs=16,
        seeds=1,
        unseen=2,
        batch=2,
        out=tmp_path / "whole",
    )
    assert json.loads(done.stdout) == whole.to_dict()
    assert len(whole.tried) == 8


def test_everything_that_is_wrong_is_said_at_once(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY, "utf-8")
    done = tailback(
        *("tune", "toy.toml", "--vary", "bottleneck.queue.limt=2p..60p"),
        *("--vary", "path.rtt=10..40ms", "--vary", "host_jitter=5..9"),
        *("--vary", "flows.bulk.cc=reno,cubik", "--vary", "duration=9s..3s"),
        *("--over", "bottleneck.rate=5,10Mbit"),
        *("--minimise", "dely_ms.mean", "--maximise", "rtt_ms.mean@bulc"),
        *("--subject-to", "jain>0.9", "--sampler", "tpee", "--across", "best"),
    )
    assert done.returncode == 2
    said = done.stderr
    assert '\n  write "limit"\n' in said
    assert "--vary path.rtt=10..40ms: 10 has no unit" in said
    assert '--vary host_jitter=5..9: wrong value 5 for "host_jitter"\n  use a time' in said
    assert '\n  write "cubic", or another of ' in said
    assert "--vary duration=9s..3s: 9s..3s is empty" in said
    assert "--over bottleneck.rate=5,10Mbit: wrong value 5" in said
    assert 'metric "dely_ms.mean" does not exist' in said
    assert 'flow "bulc" does not exist\n  write "bulk"\n' in said
    assert '--subject-to jain>0.9 is not valid\n  write "jain>=0.9", or use METRIC>=' in said
    assert 'sampler "tpee" does not exist' in said
    assert 'word "best" does not exist' in said
    assert not (tmp_path / "results").exists()
    few = tailback(
        *("tune", "toy.toml", "--vary", "bottleneck.queue.limit=2p..60p"),
        *("--minimise", "delay_ms.mean", "--runs", "3", "--seeds", "2"),
    )
    assert few.returncode == 2
    assert "--runs 3: one candidate takes 4, 2 points of 2 seeds" in few.stderr


def test_the_command_shows_the_front(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY, "utf-8")
    asked = ["tune", "toy.toml", "--vary", "bottleneck.queue.limit=2p..60p"]
    asked += ["--minimise", "delay_ms.mean", "--maximise", "utilisation"]
    asked += ["--runs", "24", "--unseen", "2"]
    done = tailback(*asked)
    assert done.returncode == 0, done.stderr
    assert "limit" in done.stdout.splitlines()[1]
    assert "on seeds 2 to 3, which the search did not use, compared with" in done.stdout
    assert "12 candidates, " in done.stderr
    pages = list((tmp_path / "results/tunings").glob("*/index.html"))
    assert len(pages) == 1
    assert tailback("verify", "results").returncode == 0


@pytest.mark.parametrize(
    ("text", "log", "words"),
    [
        ("1ms..30ms", True, ["1ms", "30ms"]),
        ("5ms..30ms", False, ["5ms", "30ms"]),
        ("lin:1ms..30ms", False, ["1ms", "30ms"]),
        ("log:5ms..30ms", True, ["5ms", "30ms"]),
        ("500us..30ms", True, ["500us", "30000us"]),
        ("1..10", False, [1, 10]),
        ("0..1", False, [0, 1]),
        ("0.5..0.95", False, [0.5, 0.95]),
    ],
)
def test_ranges(text: str, log: bool, words: list[ranges.Word]) -> None:
    units = {"500us": 5e5, "30ms": 3e7}

    def bases(path: str, asked: Any) -> list[float | str]:
        assert path == "a.b"
        return [units.get(str(one), 0.0) for one in asked]

    found = ranges.parse("a.b", text).settle(bases)
    assert isinstance(found, ranges.Range)
    assert found.log is log
    assert [found.word(found.low), found.word(found.high)] == words


def test_a_value_has_four_digits_and_stays_in_its_range() -> None:
    found = ranges.parse("a", "1ms..30ms")
    assert isinstance(found, ranges.Range)
    assert found.word(7.123456) == "7.123ms"
    assert found.word(29.99999) == "30ms"
    assert found.word(0.00001) == "1ms"
    wide = ranges.parse("a", "1bit..5000000bit")
    assert isinstance(wide, ranges.Range)
    assert wide.word(1234567.0) == "1235000bit"


def test_a_range_of_whole_ends_has_fractions_where_they_may_stand() -> None:
    def real(path: str, asked: Any) -> list[float | str]:
        assert path == "a.b"
        return [float(one) for one in asked]

    def whole(path: str, asked: Any) -> list[float | str]:
        if any(isinstance(one, float) for one in asked):
            raise ScenarioError([_native.Diagnostic("expected a whole number", path)])
        return list(asked)

    found = ranges.parse("a.b", "1..4").settle(real)
    assert isinstance(found, ranges.Range)
    assert [found.whole, found.word(2.34567), found.word(3.0)] == [False, 2.346, 3]
    found = ranges.parse("a.b", "1..4").settle(whole)
    assert isinstance(found, ranges.Range)
    assert [found.whole, found.word(2.34567)] == [True, 2]


def test_a_search_over_a_factor_tries_fractions(tmp_path: Path) -> None:
    asked = {**ASKED, "vary": {"bottleneck.queue.beta": "1..8"}}
    asked |= {"sampler": "qmc", "runs": 16, "over": {"path.rtt": ["20ms"]}, "seeds": 1}
    toy = TOY.replace(
        '{ aqm = "fifo", limit = "30p" }',
        '"pi2"',
    )
    done = tailback.tune(toy, **asked, out=tmp_path)
    tried = [one.values["bottleneck.queue.beta"] for one in done.tried]
    assert len(set(tried)) == len(tried) == 16
    assert sum(float(value).is_integer() for value in tried if not isinstance(value, bool)) < 4


def _point(base: list[float], found: list[float]) -> Point:
    measured = MeasuredCandidate({"delay_ms.p99": found, "utilisation": [0.5] * len(found)})
    defaults = MeasuredCandidate({"delay_ms.p99": base, "utilisation": [0.5] * len(base)})
    return Point(1, Tried(1, {}, measured, True, True), measured, defaults)


def test_what_is_open_is_not_called_no_worse() -> None:
    there = goals.There({"flows": [], "links": [{"name": "link"}]})
    delay = goals.Goal(goals.quantity("delay_ms.p99", there), "minimise")
    used = goals.Goal(goals.quantity("utilisation", there), "maximise")
    assert FEWEST == 6
    # The difference is the same for all seeds. With fewer than six seeds, such a difference cannot
    # be significant.
    for seeds, answer in ((1, "open"), (2, "open"), (5, "open"), (6, "worse")):
        point = _point([10.0] * seeds, [29.2] * seeds)
        assert point.answer(delay) == answer
        assert point.answer(used) == ("same" if seeds == 6 else "open")
    assert (
        _point([10.0] * 3, [29.2] * 3).why_open(delay)
        == "3 unseen seeds are too few; use at least 6"
    )
    assert _point([10.0], [29.2]).why_open(delay) == "1 unseen seed is too few; use at least 6"
    noise = _point([10.0, 11.0, 12.0], [11.0, 11.0, 11.5])
    assert noise.why_open(delay) == "the 95 % interval of the difference contains 0"
    assert _point([10.0, 11.0, 12.0], [8.0, 9.1, 10.1]).answer(delay) == "better"
    both = (delay, used)
    assert _point([10.0] * 6, [29.2] * 6).standing(both) == "worse"
    assert _point([10.0] * 6, [5.0] * 6).standing(both) == "no_worse"
    assert _point([10.0] * 6, [5.0] * 6).standing([delay]) == "better"
    assert _point([10.0] * 6, [10.0] * 6).standing(both) == "same"
    assert _point([10.0] * 3, [29.2] * 3).standing(both) == "open"
    # For one of the two objectives, the result is better than with the defaults. For the other
    # objective, it is undecided.
    assert _point([10.0, 11.0, 12.0], [8.0, 9.1, 10.1]).standing(both) == "open"


def test_the_verdict_says_why_it_is_open(tmp_path: Path) -> None:
    found = tailback.tune(TOY, **{**ASKED, "unseen": 1}, out=tmp_path)
    compared = sum(point.unseen is not None for point in found.front)
    said = found.to_dict()
    assert said["compared"] == compared
    assert said["counts"]["open"] == compared
    assert sum(said["counts"].values()) == compared
    verdict = found.verdict()
    assert verdict[0].startswith("on seed 3, which the search did not use")
    assert f"of {compared} points, 0 better in every goal, 0 better in one" in verdict[1]
    assert verdict[1].endswith(f", {compared} open")
    assert verdict[2] == (
        "open in delay_ms.mean and utilisation: 1 unseen seed is too few; use at least 6"
    )
    assert verdict[3].endswith(", open)")
    for point in said["front"]:
        assert point["difference"]["utilisation"]["why_open"] == (
            "1 unseen seed is too few; use at least 6"
        )
    heads, _ = page.rows(found)
    assert "delay_ms.mean, search" in heads


def test_a_front_that_is_compared_in_part_says_so(tuned: Tuned) -> None:
    one = tuned.front[0]
    front = [replace(one, number=i + 1) for i in range(16)]
    taken = chosen([point.tried for point in front])
    assert len(taken) == MOST_CHECKED
    front = [p if i in taken else replace(p, unseen=None) for i, p in enumerate(front)]
    made = replace(tuned, front=front)
    assert made.verdict()[1] == (
        "12 of the 16 points on the front were compared (at most 12, spread along the front); "
        "the other points have a dash"
    )
    assert made.to_dict()["compared"] == 12
    lost = replace(tuned, front=[replace(one, unseen=None)])
    assert lost.verdict()[1:] == ["1 could not be measured with these seeds"]
    assert tuned.left_out() == []


def test_a_metric_is_one_goal(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(TOY, "utf-8")
    done = tailback(
        *("tune", "toy.toml", "--vary", "bottleneck.queue.limit=2p..60p"),
        *("--minimise", "delay_ms.mean", "--maximise", "delay_mean_ms@bottleneck"),
        *("--maximise", "utilisation", "--maximise", "utilisation"),
        *("--subject-to", "jain>0.9", "--subject-to", "jain=<0.9"),
    )
    assert done.returncode == 2
    said = done.stderr
    assert "--maximise delay_mean_ms@bottleneck: is a goal already, --minimise delay_ms.m" in said
    assert "--maximise utilisation: is a goal already, --maximise utilisation\n  use" in said
    assert 'write "jain>=0.9"' in said
    assert 'write "jain<=0.9"' in said
    assert not (tmp_path / "results").exists()


def test_no_number_covers_another() -> None:
    apart = labels.place([("1", 100, 100), ("2", 200, 100)], 520, 300)
    assert [(one.x, one.y) for one in apart if one] == [(110, 91), (210, 91)]
    # The label "9" is on the left of its point, because the label "10" is on the right.
    nine, ten = labels.place([("9", 100, 100), ("10", 112, 96)], 520, 300)
    assert nine is not None
    assert ten is not None
    assert nine.x < 100 < ten.x
    many = [(str(i), 200 + 1.5 * i, 100 - i) for i in range(1, 13)]
    placed = [one for one in labels.place(many, 520, 300) if one is not None]
    assert {"1", "12"} < {one.text for one in placed}
    assert len(placed) < 12
    for i, one in enumerate(placed):
        for other in placed[:i]:
            room = 6.5 * (len(one.text) + len(other.text)) / 2
            assert abs(one.x - other.x) >= room or abs(one.y - other.y) >= labels.SIZE
    # In a corner, the label fits only on one side of its point. A point without a text gets no
    # label.
    corner, none = labels.place([("3", 518, 2), ("", 400, 200)], 520, 300)
    assert corner is not None
    assert (corner.x < 518, corner.y > 2) == (True, True)
    assert none is None
