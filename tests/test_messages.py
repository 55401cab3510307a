"""Tests wrong input, in Python and on the command line. For each wrong input, the message must be
one sentence that describes the error."""

from __future__ import annotations

import copy
import os
import resource
import signal
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import COMMAND, SCENARIO, Tailback

GOOD: dict[str, Any] = {
    "duration": "1s",
    "bottleneck": {"rate": "10Mbit"},
    "path": {"rtt": "20ms"},
    "flows": [{"cc": "cubic"}, {"cc": "reno"}],
}


def but(**changed: Any) -> dict[str, Any]:
    return copy.deepcopy(GOOD) | changed


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (but(flows=[{"cc": "cubic"}, {"cc": "cubix"}]), "flows[1].cc: unknown congestion control"),
        (but(flows=[{"cc": "cubic", "count": 0}]), 'flows[0].count: wrong value 0 for "count"'),
        (but(flows=[{"cc": "reno", "nane": "a"}]), "flows[0].nane: "),
        (but(duration=None), 'the scenario: "duration" is missing'),
        (but(bottleneck={"queue": "fifo"}), 'bottleneck: "rate" is missing'),
        (
            but(bottleneck={"rate": "1Mbit", "queue": {"aqm": "codel", "target": 5}}),
            "bottleneck.queue.target: wrong value 5",
        ),
        (but(sweep={"path.rtt": ["1ms", "x"]}), 'sweep."path.rtt"[1]: wrong value "x"'),
        (but(flows=[{"cc": {1, 2}}]), "flows[0].cc: {1, 2} cannot be in a scenario"),
        (but(flows=[{1: 2}]), "flows[0]: the key 1 is not text"),
        (but(title="\udcff"), "is not UTF-8 text"),
        ({}, "the scenario is empty"),
        ("", "the name of the scenario is empty"),
        ("x" * 5000, "File name too long"),
        (None, "the scenario is None (NoneType); expected a path"),
        (b"f.toml", "the scenario is b'f.toml' (bytes); expected a path"),
        ("nothing.toml", "nothing.toml: No such file or directory"),
        ("first", "run: tailback new first > first.toml"),
    ],
)
def test_scenarios_in_python(scenario: Any, said: str) -> None:
    with pytest.raises(tb.InputError) as error:
        tb.check(scenario)
    assert said in str(error.value)
    assert len(str(error.value)) < 400


def test_everything_that_is_wrong_with_a_dict_is_said_at_once() -> None:
    scenario = but(flows=[{"cc": "cubix", "count": 0}], path={"rtt": "x"})
    with pytest.raises(tb.ScenarioError) as error:
        tb.check(scenario)
    places = [one.place for one in error.value.diagnostics]
    assert sorted(places) == ["flows[0].cc", "flows[0].count", "path.rtt"]


def test_warnings_of_a_dict_have_their_place() -> None:
    with pytest.warns(UserWarning, match=r"^links.idle: nothing passes link"):
        tb.check(
            {
                "duration": "1s",
                "links": {"a": {"rate": "1Mbit"}, "idle": {"rate": "1Mbit"}},
                "flows": [{"cc": "reno", "route": ["a"]}],
            }
        )


def test_equal_points_of_a_dict_are_said_at_both_places() -> None:
    with pytest.raises(tb.ScenarioError) as error:
        tb.check(but(sweep={"path.rtt": ["20ms", "10ms", "0.02s"]}))
    places = [one.place for one in error.value.diagnostics]
    assert places == ['sweep."path.rtt"[0]', 'sweep."path.rtt"[2]']
    assert '"20ms" and "0.02s" plan the same run' in error.value.diagnostics[0].message
    assert error.value.diagnostics[0].help == "remove one of them"


two: dict[str, dict[str, object]] = {"a": {}, "b": {}}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tb.run(GOOD, seeds="3"), 'seeds is "3", text; expected a whole number'),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, seeds=2.5), "seeds is 2.5 (float)"),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, seeds=True), "seeds is True"),
        (lambda: tb.run(GOOD, seeds=0), "seeds is 0; expected at least 1"),
        (lambda: tb.run(GOOD, jobs="2"), 'jobs is "2", text'),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, jobs=-1), "jobs is -1; expected at least 1"),
        (lambda: tb.run(GOOD, out=3), "out is 3 (int); expected a path"),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, engine="Sim"), 'did you mean "sim"?'),
        (lambda: tb.run(GOOD, engine=3), 'engine "3" does not exist'),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, set=["a=1"]), "expected a dict of paths and values"),  # type: ignore[arg-type]
        (lambda: tb.run(GOOD, set={1: 2}), "expected a dict of paths and values"),  # type: ignore[dict-item]
        (lambda: tb.sweep(GOOD, {"path.rtt": "10ms"}), 'grid, path.rtt is "10ms", text'),
        (lambda: tb.sweep(GOOD, {"path.rtt": 3}), "expected a list of values"),  # type: ignore[dict-item]
        (lambda: tb.sweep(GOOD, ["path.rtt"]), "of paths and lists of values"),  # type: ignore[arg-type]
        (lambda: tb.run_many(["f.toml"]), "expected tailback.Job"),  # type: ignore[list-item]
        (lambda: tb.run_many(tb.Job(GOOD)), "expected a list of values"),  # type: ignore[arg-type]
        (lambda: tb.compare(GOOD, ["a"]), "expected a dict of names"),  # type: ignore[arg-type]
        (lambda: tb.compare(GOOD, {"a": "b"}), 'variant a is "b", text'),  # type: ignore[dict-item]
        (lambda: tb.compare(GOOD, two, metrics="delay"), 'did you mean "delay_mean_ms"?'),
        (lambda: tb.compare(GOOD, two, metrics=3), "metrics is 3 (int)"),  # type: ignore[arg-type]
        (lambda: tb.compare(GOOD, two, baseline="no.json"), "no.json: No such file"),
    ],
)
def test_arguments_in_python(
    call: Callable[[], object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tb.InputError) as error:
        call()
    assert said in str(error.value)
    assert len(str(error.value)) < 300, "a hundred names on a line are not read"
    assert not list(tmp_path.iterdir()), "bad input writes nothing"


def test_a_single_name_stands_for_a_list(tmp_path: Path) -> None:
    made = tb.compare(GOOD, two, metrics="jain", seeds=1, out=tmp_path)
    assert [cell.quantity for cell in made.cells] == ["jain"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "scenaroi.toml"), 'No such file or directory\n  write "scenario.toml"'),
        (("run", "scenario.toml", "--seeds", "1.5"), '--seeds: wrong value "1.5"\n  use a whole'),
        (
            ("run", "scenario.toml", "--jobs", "all"),
            '--jobs: wrong value "all"\n  use a whole number',
        ),
        (("compare", "scenario.toml", "--variant", "a", "--variant", "b\udcff"), "not UTF-8 text"),
        (
            ("compare", "scenario.toml", "--variant", "a", "--variant", "b", "--metric", "x"),
            "(tailback list metrics), such as",
        ),
        (("verify", "scenario.toml"), "scenario.toml: not a folder"),
        (("baseline", "scenario.toml", "b.json"), "ends in .tailback.json"),
    ],
)
def test_the_command_line(
    tailback: Tailback, scenario: Path, args: tuple[str, ...], said: str
) -> None:
    done = tailback(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.replace("1 more", "")
    assert "Traceback" not in done.stderr
    assert [path.name for path in scenario.parent.iterdir()] == ["scenario.toml"]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--set", "bottleneck.rate=5Mbps"),
        ("check", "--set", "bottleneck.rate=5Mbps"),
        ("compare", "--variant", "a", "--variant", "b: bottleneck.rate=5Mbps"),
    ],
)
def test_rates_in_bytes_per_second_are_refused(
    tailback: Tailback, scenario: Path, words: tuple[str, ...]
) -> None:
    command, *rest = words
    readings = '"5Mbit" if you mean bits, or "40Mbit" if you mean bytes, as tc does'
    done = tailback(command, scenario, *rest)
    assert (done.returncode, done.stdout) == (2, "")
    assert readings in done.stderr
    assert [path.name for path in scenario.parent.iterdir()] == ["scenario.toml"]
    scenario.write_text(SCENARIO.replace("10Mbit", "5Mbps"), encoding="utf-8")
    done = tailback("run", scenario)
    assert done.returncode == 2
    assert ":7:9: " in done.stderr
    assert readings in done.stderr


def full(limit: int) -> Callable[[], None]:
    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return prepare


@pytest.mark.parametrize(
    ("args", "path"),
    [
        (("run", "scenario.toml"), "results/runs/"),
        (("run", "scenario.toml", "--out", "there"), "there/runs/"),
        (("compare", "scenario.toml", "--variant", "a", "--variant", "b"), "results/runs/"),
        (("baseline", "scenario.toml", "b.tailback.json"), "results/runs/"),
    ],
)
def test_a_full_disk_has_a_path(scenario: Path, args: tuple[str, ...], path: str) -> None:
    done = subprocess.run(
        [*COMMAND, *args],
        cwd=scenario.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=full(2000),
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path}")
    assert done.stderr.endswith(": File too large\n")


def test_another_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.running.engines import sim

    found = tb.run(GOOD, out=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.open_results(tmp_path)
    monkeypatch.setattr(sim, "ENGINE", sim.Sim(version="9.9+new"))
    for path in (tmp_path, tmp_path / "sweeps" / found.id):
        said = rf"sweeps/{found.id}: run with sim .*, and this is sim 9\.9\+new$"
        with pytest.warns(UserWarning, match=said):
            tb.open_results(path)


def test_an_ascii_terminal_takes_everything(tailback: Tailback, scenario: Path) -> None:
    del tailback
    env = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    two = ("--variant", "a", "--variant", "\u00fc:seed=5", "--seeds", "2", "--no-report")
    for args in (("compare", scenario, *two, "--fail-if", "jain:90%"), ("list", "metrics")):
        done = subprocess.run(
            [*COMMAND, *map(str, args)],
            cwd=scenario.parent,
            capture_output=True,
            env=env,
            timeout=60,
            check=False,
        )
        assert done.returncode in (0, 4), done.stderr
        assert done.stdout.isascii()


def test_what_a_scenario_may_not_have_is_not_proposed() -> None:
    """A scenario with the key `links` must not contain the key `bottleneck`, which is valid in
    scenarios without `links`."""
    scenario = but(links={"there": {"rate": "10Mbit"}})
    del scenario["bottleneck"]
    scenario["flows"] = [{"cc": "cubic", "route": ["there"]}]
    with pytest.raises(tb.InputError) as error:
        tb.check(scenario, set={"bottleneck.rate": "5Mbit"})
    said = str(error.value)
    assert 'there is no "bottleneck" in the scenario; expected one of duration, ' in said
    assert said.count("bottleneck") == 2  # where it was set, and what is missing
