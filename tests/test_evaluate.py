"""Tests `tailback evaluate`: the rules of verdicts, the command, and an algorithm that breaks a
rule."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tailback as tb
from conftest import COMMAND
from tailback import registry
from tailback.errors import InputError, RunsFailed
from tailback.evaluate import cc, decision, execution, queue, report, subject, suites
from tailback.evaluate.criteria import Against
from tailback.evaluate.decision import PointOutcome
from tailback.evaluate.model import VERDICTS, Evaluation, Request, SectionVerdict
from tailback.evaluate.queue import ellipse
from tailback.evaluate.subject import Subject
from tailback.running import scenarios
from tailback.running.batch import Job, run_jobs
from tailback.running.options import RunOptions

WORDS: tuple[SectionVerdict, SectionVerdict] = ("worse", "no worse")


def point(*values: float, label: str = "a", missing: int = 0) -> PointOutcome:
    return PointOutcome(label, values, missing)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.20, 0.22, 0.21), "worse"),
        ((0.01, 0.02, 0.00), "no worse"),
        ((0.00, 0.10, 0.05), "undecided"),
        ((0.05, 0.05), "no worse"),
        ((0.06, 0.06), "worse"),
        ((0.50,), "undecided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(values: tuple[float, ...], verdict: str) -> None:
    assert decision.decide([point(*values)], 0.05, WORDS).verdict == verdict


def test_intervals_of_several_points_hold_together() -> None:
    # The 97.5 % quantile of Student's t with 2 degrees of freedom is 4.303. If five intervals must
    # hold at the same time, each interval must be wider.
    [one] = [point(1.0, 2.0, 3.0)]
    ends, wider = one.ends(1), one.ends(5)
    assert ends is not None
    assert wider is not None
    assert ends[1] == pytest.approx(2 + 4.3027 / 3**0.5, abs=1e-3)
    assert wider[1] == pytest.approx(2 + 9.9248 / 3**0.5, abs=1e-3)


def test_the_interval_of_a_share_ends_at_1() -> None:
    one = replace(point(0.6, 0.9, 1.0), most=1.0)
    ends = one.ends(1)
    assert ends is not None
    # Student's t with 2 degrees of freedom is 4.303, so the interval is 0.83 +- 0.52 before its
    # upper end is limited to 1.
    assert ends[0] == pytest.approx(0.8333 - 4.3027 * 0.2082 / 3**0.5, abs=1e-3)
    assert ends[1] == 1.0


def test_one_bad_point_decides_and_an_open_one_leaves_it_open() -> None:
    bad, good = point(0.3, 0.31, 0.3, label="bad"), point(0.0, 0.001, 0.0, label="good")
    found = decision.decide([good, bad], 0.05, WORDS)
    assert (found.verdict, found.point) == ("worse", bad)
    missing = point(0.0, 0.0, label="few", missing=1)
    assert decision.decide([good, missing], 0.05, WORDS).verdict == "undecided"
    assert decision.decide([], 0.05, WORDS).verdict == "undecided"


def test_the_worst_seed_decides_if_asked() -> None:
    values = point(0.0, 0.0, 0.3, 0.0)
    assert decision.decide([values], 0.05, WORDS).verdict == "undecided"
    found = decision.decide([values], 0.05, WORDS, worst=True)
    assert (found.verdict, found.value, found.ci95) == ("worse", 0.3, None)


def test_options_of_a_subject_follow_its_name(tmp_path: Path) -> None:
    request = Request("codel:target=10ms,limit=50p", RunOptions(out=tmp_path))
    codel = subject.resolve("aqm", request)
    assert codel.value == {"aqm": "codel", "target": "10ms", "limit": "50p"}
    # If the user's options set a buffer, it takes precedence over the section's buffer.
    placed = codel.with_options("aqm", limit="165p", ecn=True)
    assert placed == {"aqm": "codel", "target": "10ms", "limit": "50p", "ecn": True}
    against = subject.resolve("cc", replace(request, name="bbr3:draft=06", against="bbr3"))
    assert against.value == {"name": "bbr3", "draft": "06"}
    assert against.against is not None
    assert against.against.value == "bbr3"
    with pytest.raises(
        InputError, match=r'option of cubic "slow_strat" does not exist(?s:.*)slow_start'
    ):
        subject.resolve("cc", replace(request, name="cubic:slow_strat=search"))
    only_there = replace(request, name="mine:module=v2", run=RunOptions(engine="kernel"))
    found = subject.resolve("cc", only_there)
    assert found.value == {"name": "mine", "kernel": True, "module": "v2"}


@pytest.mark.parametrize("suite", ["cc", "queue"])
def test_every_scenario_runs_by_itself(suite: str) -> None:
    package = suites.get(suite)
    for criterion in (*package.CRITERIA, *package.ASKED):  # type: ignore[attr-defined]
        if criterion.scenario:
            tb.check(package.SCENARIOS / criterion.scenario)  # type: ignore[attr-defined]
        else:
            found = criterion.outcome(Subject("x", "x"), Request("x"), {})
            assert (found.verdict, found.value) == ("not observable", None)
            assert found.note.startswith(("Write ", "Explain ", "State "))


def test_a_difference_is_a_share_of_the_larger_value() -> None:
    less, more = (
        Against(id="x", title="", source="", measure="", value=lambda _: 0.0, better=better)
        for better in ("less", "more")
    )
    for new, old, wanted in ((2.0, 1.0, 0.5), (1.0, 2.0, -0.5), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0)):
        assert less.loss(new, old) == wanted
        assert more.loss(old, new) == wanted
    assert less.loss(None, 1.0) is None


def evaluated(out: Path, subject: Subject, *parts: str) -> dict[str, str]:
    request = Request(
        subject.name, RunOptions.of(out=out, seeds=2, progress=False), quick=True, parts=parts
    )
    found = execution.evaluate("cc", cc.CRITERIA, cc.SCENARIOS, subject, request)
    return {one.id: one.verdict for one in found.sections}


def test_a_window_that_is_never_validated_is_found_where_it_should_be(tmp_path: Path) -> None:
    parts = ("5.1.1-timeout", "5.2-silence", "7.1-ce", "7.5", "rate-limited")
    clean = evaluated(tmp_path, Subject("cubic", "cubic"), *parts)
    assert clean == dict(zip(parts, ["pass", "pass", "pass", "no worse", "pass"], strict=True))
    broken = Subject("broken", {"name": "cubic", "limited_growth": "none"})
    assert evaluated(tmp_path, broken, *parts) == clean | {"rate-limited": "fail"}


def test_bbr_does_not_respond_to_ce(tmp_path: Path) -> None:
    assert evaluated(tmp_path, Subject("bbr", "bbr"), "7.1-ce") == {"7.1-ce": "fail"}


def test_queues_with_and_without_ecn(tmp_path: Path) -> None:
    def verdicts(name: str) -> dict[str, str]:
        chosen = Request(
            name, RunOptions.of(out=tmp_path, seeds=2, progress=False), quick=True, parts=("4.5",)
        )
        return {one.id: one.verdict for one in suites.evaluate("queue", chosen).sections}

    assert verdicts("codel") == {"4.5": "pass"}
    assert verdicts("fifo") == {"4.5": "not observable"}


def test_background_flows_are_harmed_by_bbr_and_harm_it(tmp_path: Path) -> None:
    parts = ("5.2.1-background", "5.2.1-beside-background")
    options = RunOptions.of(out=tmp_path, seeds=5, progress=False)
    harm, beside = suites.evaluate("cc", Request("bbr", options, quick=True, parts=parts)).sections
    assert (harm.verdict, beside.verdict) == ("worse", "worse")
    # In a deep buffer, BBR keeps the queue delay below LEDBAT's target delay, so LEDBAT does not
    # yield.
    assert beside.note.startswith("queue limit 4bdp: bbr 9.")
    cubic = evaluated(tmp_path, Subject("cubic", "cubic"), *parts)
    assert cubic == dict.fromkeys(parts, "no worse")


def test_ledbat_does_not_yield_where_the_queue_stays_short(tmp_path: Path) -> None:
    request = Request(
        "codel", RunOptions.of(out=tmp_path, seeds=2, progress=False), quick=True, parts=("5.4",)
    )
    delay, goodput, reno = suites.evaluate("queue", request).sections
    assert [one.verdict for one in (delay, goodput, reno)] == ["no worse", "no worse", "worse"]
    # With a FIFO, Reno gets 19 of 20 Mbit/s.
    assert reno.value == pytest.approx(0.76, abs=0.05)


def test_against_an_earlier_version(tmp_path: Path) -> None:
    options = RunOptions.of(out=tmp_path, seeds=3, progress=False)
    request = Request("reno", options, quick=True, parts=("7.1",), against="reno")
    same, delay, ce = suites.evaluate("cc", request).sections
    assert (same.value, delay.value, ce.verdict) == (0.0, 0.0, "pass")
    assert (
        same.measure
        == "reno's throughput minus the tested algorithm's, divided by the larger of the two"
    )


def test_harm_is_less_what_the_incumbent_does_to_itself(tmp_path: Path) -> None:
    short = {
        "duration": "12s",
        "warmup": "6s",
        "bottleneck.rate": "20Mbit",
        "sweep": {"bottleneck.queue.limit": ["0.25bdp"]},
    }
    criterion = replace(cc.bulk.CRITERION, quick=short, quick_incumbents=("cubic",))
    options = RunOptions.of(out=tmp_path, seeds=3, progress=False)
    request, bbr = Request("bbr", options, quick=True), Subject("bbr", "bbr")
    jobs = criterion.jobs(cc.SCENARIOS, bbr, request)
    with scenarios.quiet():
        results = dict(zip(jobs, run_jobs(list(jobs.values()), options), strict=True))
    found = criterion.outcome(bbr, request, results)
    rates = {
        name: [run.summary["flows"][0]["throughput_mbit"] for run in one]
        for name, one in results.items()
    }
    alone, itself, beside = (rates[f"cubic, {what}"] for what in ("alone", "itself", "subject"))
    lost = [(b - c) / a for a, b, c in zip(alone, itself, beside, strict=True)]
    assert found.value == pytest.approx(sum(lost) / 3)
    assert found.verdict == "worse"
    assert found.ci95 is not None
    # The command in the report repeats the section's runs, and prints the harm.
    command = shlex.split(criterion.command(bbr, request))
    assert command[:3] == ["tailback", "run", "5.2.1-bulk.toml"]
    done = subprocess.run(
        [*COMMAND, *command[1:], "--out", tmp_path, "--json"],
        cwd=cc.SCENARIOS,
        capture_output=True,
        text=True,
        check=True,
    )
    flows = [one["flows"][0] for one in json.loads(done.stdout)["points"]]
    assert [flow["throughput_mbit"] for flow in flows] == beside
    by_subject = [(a - c) / a for a, c in zip(alone, beside, strict=True)]
    harms = [flow["harm"]["subject"]["throughput"] for flow in flows]
    assert harms == pytest.approx(by_subject, abs=0.02)
    assert found.ci95[0] > 0.05
    # In the run "alone", the competitor sends no data.
    assert all(
        run.summary["flows"][1]["throughput_mbit"] in (0, None) for run in results["cubic, alone"]
    )
    same = {**results, "cubic, subject": results["cubic, itself"]}
    assert criterion.outcome(Subject("cubic", "cubic"), request, same).value == 0


def test_harm_to_video_is_in_its_delay_and_its_bitrate(tmp_path: Path) -> None:
    options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
    request, bbr = Request("bbr", options, quick=True), Subject("bbr", "bbr")
    short = {"duration": "20s", "warmup": "5s"}
    delay, bitrate = (replace(one, quick=short) for one in cc.realtime_video.CRITERIA)
    jobs = delay.jobs(cc.SCENARIOS, bbr, request)
    with scenarios.quiet():
        results = dict(zip(jobs, run_jobs(list(jobs.values()), options), strict=True))
    frames = {
        name: [run.summary["traffic"][0]["frames"] for run in one] for name, one in results.items()
    }
    of = ("alone", "itself", "subject")
    rows = list(zip(*(frames[f"cubic, {what}"] for what in of), strict=True))
    rates = [[one["bitrate_mbit"] for one in row] for row in rows]
    p95s = [[one["delay_ms"]["p95"] for one in row] for row in rows]
    # Without a competitor, the video has its largest bitrate.
    assert all(alone > 1.5 > max(itself, beside) for alone, itself, beside in rates)
    wanted = [(b - c) / a for a, b, c in rates]
    assert bitrate.outcome(bbr, request, results).value == pytest.approx(sum(wanted) / 2)
    wanted = [(c - a) / c - (b - a) / b for a, b, c in p95s]
    found = delay.outcome(bbr, request, results)
    assert found.value == pytest.approx(sum(wanted) / 2)
    assert found.verdict == "no worse"


def test_an_ellipse_holds_what_it_says() -> None:
    drawn = random.Random(1)
    points = [(drawn.gauss(1, 2), drawn.gauss(5, 0.5)) for _ in range(4000)]
    (x, y), outline = ellipse.contour([(a, b + 0.3 * a) for a, b in points])
    assert x == pytest.approx(1, abs=0.1)
    assert y == pytest.approx(5.3, abs=0.1)
    # The ellipse contains 68 % of the points, so it extends sqrt(-2 ln(1 - 0.68)) = 1.51 standard
    # deviations from its centre along x.
    assert max(a for a, _ in outline) - x == pytest.approx(1.51 * 2, rel=0.03)
    height = (0.5**2 + (0.3 * 2) ** 2) ** 0.5
    assert max(b for _, b in outline) - y == pytest.approx(1.51 * height, rel=0.03)


def test_a_point_of_an_ellipse_is_a_second_of_payload(tmp_path: Path) -> None:
    scenario = queue.SCENARIOS / "5.1.1-reno.toml"
    [run] = tb.run(scenario, out=tmp_path, set={"duration": "30s", "warmup": "10s"})
    points = ellipse._points(run, 100.0)
    # The last sample comes before the end of the last second, so this second is missing.
    assert len(points) == 19
    [flow] = run.summary["flows"]
    mean = sum(rate for _, rate in points) / len(points)
    assert mean == pytest.approx(flow["throughput_mbit"], rel=0.02)
    # Headers and retransmissions are not counted, so the goodput is at most 1448 of 1514 bytes.
    assert mean < 20 * 1448 / 1514


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "evaluate", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_json_is_fixed_and_a_failure_is_status_1(tmp_path: Path) -> None:
    words = ("--quick", "--part", "7.1-ce", "--part", "8", "--seeds", "2", "--junit", "j.xml")
    done = command(tmp_path, "cc", "bbr", *words, "--json", "-q")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["subject"] == "bbr"
    assert found["engine"] == "sim"
    assert found["version"] == tb.engine_version()
    ce, security = found["sections"]
    wanted = {"id", "title", "source", "verdict", "measure", "value", "bound", "ci95", "scenario"}
    assert wanted <= set(ce)
    assert ce["verdict"] == "fail"
    assert ce["value"] > 0.9 > 0.2 == ce["bound"]
    assert (security["verdict"], security["value"]) == ("not observable", None)
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    folder = tmp_path / "results/evaluations/cc-bbr-quick-7.1-ce-8"
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "**fail** (RFC 9743 section 7.1, RFC 3168 section 5)" in page
    assert 'threshold = "1b"' in page
    part = "`tailback evaluate cc bbr --quick --seeds 2 --part 7.1-ce`"
    assert f"{part} repeats all runs and the verdict" in page
    again = command(tmp_path, "cc", "cubic", *words[:-2], "--no-report", "-q")
    assert again.returncode == 0
    assert "1 pass, 1 not observable" in again.stdout


def test_changes_since_an_earlier_evaluation(tmp_path: Path) -> None:
    words = ("--quick", "--part", "7.1-ce", "--seeds", "2", "--no-report", "-q")
    first = command(tmp_path, "cc", "cubic", *words, "--json")
    (tmp_path / "before.json").write_text(first.stdout, encoding="utf-8")
    same = command(tmp_path, "cc", "cubic", *words, "--since", "before.json")
    assert "no verdict has changed" in same.stdout
    broken = command(tmp_path, "cc", "bbr", *words, "--since", "before.json")
    assert broken.returncode == 1
    assert "7.1-ce was pass (0.0303), is fail (0.97" in broken.stdout
    both = command(tmp_path, "cc", "bbr", *words, "--since", "before.json", "--json")
    [change] = json.loads(both.stdout)["changes"]
    assert (change["id"], change["before"], change["now"]) == ("7.1-ce", "pass", "fail")
    other = command(tmp_path, "queue", "codel", *words[:1], "--since", "before.json")
    assert other.returncode == 2
    assert "it is of evaluate cc" in other.stderr
    (tmp_path / "no.json").write_text('{"suite": 3}', encoding="utf-8")
    wrong = command(tmp_path, "cc", "cubic", "--since", "no.json")
    assert wrong.returncode == 2
    assert "is not as evaluate --json writes it" in wrong.stderr


def test_a_section_that_cannot_run_says_why(tmp_path: Path) -> None:
    options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
    request = Request("cubic", options, quick=True)
    bad = replace(cc.ce.CRITERION, id="bad", fixed={"flows.subject.tcp.mss": 3})
    chosen = Subject("cubic", "cubic")
    found = execution.evaluate("cc", (bad, cc.ce.CRITERION), cc.SCENARIOS, chosen, request)
    assert [one.verdict for one in found.sections] == ["not observable", "pass"]
    assert 'wrong value 3 for "mss"' in found.sections[0].note
    with pytest.raises(InputError, match="no section can run"):
        execution.evaluate("cc", (bad,), cc.SCENARIOS, chosen, request)


def test_a_section_with_a_lost_run_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(jobs: list[Job], options: RunOptions) -> None:
        every = run_jobs(jobs, options)
        lost = every[0].points.pop()
        shutil.rmtree(lost.path)
        raise RunsFailed([f"run {lost.run_id} (seed 2): panicked at my-cc/src/lib.rs"], every)

    monkeypatch.setattr(execution, "run_jobs", lose)
    options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
    request = Request("cubic", options, quick=True)
    chosen = Subject("cubic", "cubic")
    criteria = (cc.ce.CRITERION, cc.silence.CRITERION)
    found = execution.evaluate("cc", criteria, cc.SCENARIOS, chosen, request)
    assert [one.verdict for one in found.sections] == ["fail", "pass"]
    assert found.sections[0].note.startswith("1 run failed: run ")
    assert "panicked at my-cc" in found.notes[1]


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("cc", "cubik"), ('congestion control "cubik" does not exist', 'write "cubic"')),
        (("cc", "cubic", "--part", "5.9"), ('--part: section "5.9" does not exist', 'write "7.9"')),
        (("cc", "cubic", "--engine", "simm"), ('engine "simm" does not exist', 'write "sim"')),
        (("cc", "cubic", "--junit", "no/j.xml"), ("there is no folder no",)),
    ],
)
def test_bad_input(tmp_path: Path, words: tuple[str, ...], messages: tuple[str, ...]) -> None:
    done = command(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    for message in messages:
        assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_parts_of_other_sources_run_only_if_they_are_named(tmp_path: Path) -> None:
    ids = [section for section, _ in suites.get("cc").sections()]
    assert {"nsperf-coexist", "L4S-marks"} <= set(ids)
    assert not {"nsperf-coexist", "L4S-marks"} & {one.id for one in cc.CRITERIA}
    options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
    request = Request("bbr", options, quick=True, parts=("nsperf-bufferbloat", "7.1-ce"))
    found = suites.evaluate("cc", request)
    assert [one.id for one in found.sections] == ["7.1-ce", "nsperf-bufferbloat"]
    assert report.of(found).lead.startswith("By RFC 9743, section by section: ")
    alone = replace(found, sections=found.sections[1:])
    assert report.of(alone).lead.startswith("By nsperf, section by section: ")


def test_bbr_keeps_deep_buffers_shorter_than_cubic(tmp_path: Path) -> None:
    """As nsperf found, CUBIC builds a standing queue in deep buffers, and random loss reduces its
    throughput. In deep buffers and with random loss, BBR does better than CUBIC."""
    small = {"duration": "20s", "sweep": {"bottleneck.queue.limit": ["10bdp"]}}
    lossy = {"duration": "8s", "sweep": {"bottleneck.loss": [0.001]}, "bottleneck.rate": "200Mbit"}
    criteria = [
        replace(one, quick=quick)
        for one in cc.nsperf.CRITERIA
        for quick in ({"nsperf-bufferbloat": small, "nsperf-random-loss": lossy}.get(one.id),)
        if quick is not None
    ]
    options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
    request = Request("bbr", options, quick=True)
    found = execution.evaluate("cc", criteria, cc.SCENARIOS, Subject("bbr", "bbr"), request)
    loss, delay = found.sections
    assert (loss.verdict, delay.verdict) == ("no worse", "no worse")
    # CUBIC fills the buffer of ten bandwidth-delay products. If the link loses one packet in a
    # thousand, CUBIC's window stays too small for the link.
    assert delay.value is not None
    assert delay.value < -0.5
    assert loss.value is not None
    assert loss.value < -0.5


def test_only_a_scalable_control_is_marked_in_every_round(tmp_path: Path) -> None:
    [marks] = [one for one in cc.l4s.CRITERIA if one.id == "L4S-marks"]
    short = {"duration": "20s", "sweep": {"bottleneck.rate": ["120Mbit"]}}
    chosen = (replace(marks, quick=short),)
    options = RunOptions.of(out=tmp_path, seeds=1, progress=False)
    verdicts = {}
    for name in ("prague", "cubic"):
        request = Request(name, options, quick=True)
        found = execution.evaluate("cc", chosen, cc.SCENARIOS, Subject(name, name), request)
        verdicts[name] = found.sections[0].verdict
        [value] = [one.value for one in found.sections]
        assert value is not None
        # In theory, Prague gets about two marks per round trip. Bursts can have more.
        assert value > 2 if name == "prague" else value < 0.1
    assert verdicts == {"prague": "pass", "cubic": "fail"}


def test_the_l4s_battery_is_a_part_for_dual_queues(tmp_path: Path) -> None:
    def sections(name: str) -> list[tuple[str, str, str]]:
        options = RunOptions.of(out=tmp_path, seeds=2, progress=False)
        request = Request(name, options, quick=True, parts=("L4S-battery",))
        found = suites.evaluate("queue", request).sections
        return [(one.id, one.verdict, one.note) for one in found]

    only = "For dual queues only."
    # pi2 couples the marks of both classes, but it is not a dual queue, because it has a single
    # queue.
    for name in ("codel", "pi2"):
        assert sections(name) == [
            ("L4S-battery-share", "not observable", only),
            ("L4S-battery-delay", "not observable", only),
        ]
    assert [verdict for _, verdict, _ in sections("dualpi2")][1] == "pass"


def test_a_dual_queue_is_one_of_the_registry(tmp_path: Path) -> None:
    request = Request("", RunOptions(out=tmp_path))
    names = [entry["name"] for entry in registry.entries("aqm")]
    found = [subject.resolve("aqm", replace(request, name=name)) for name in names]
    assert [one.name for one in found if one.dual] == ["dualpi2"]
    with_options = replace(request, name="dualpi2:coupling_factor=3")
    assert subject.resolve("aqm", with_options).dual


def test_a_report_begins_with_the_matrix() -> None:
    text = [one.outcome(Subject("x", "x"), Request("x"), {}) for one in cc.text.CRITERIA]
    made = report.of(Evaluation("cc", "x", "sim", "1", tuple(text)))
    opening = made.opening()
    assert opening is not None
    assert opening.id == "matrix"
    assert [row[2].text for row in made.sections[0].blocks[1].rows] == [  # type: ignore[union-attr]
        "not observable"
    ] * len(text)
    assert "not observable" in VERDICTS
