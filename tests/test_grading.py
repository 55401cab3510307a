"""Tests the functions for graders. These functions return the errors of untrusted submissions with
positions, the costs and values of submissions, and assertions as objects."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import tailback as tb
from conftest import Tailback
from tailback.errors import InputErrors
from tailback.teaching.grading import places
from tailback.teaching.grading.reading import read

SCENARIO = """\
title = "Tune"
duration = "4s"
warmup = "1s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fifo", limit = "50p" }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
[[assert]]
metric = "delay_ms.max"
max = 20
[[assert]]
metric = "throughput_mbit"
min = 5
"""

TASK = """\
scenario = "scenario.toml"
opens = ["bottleneck.queue", "bottleneck.rate", "duration"]
seeds = 2
"""

SUBMISSIONS = {
    "short": '"bottleneck.queue.limit" = "10p"\n',
    "long": '[bottleneck]\nqueue = { aqm = "fifo", limit = "40p" }\n',
    "same": 'bottleneck.queue.limit = "10p"\n',
    "other": '[bottleneck.queue]\naqm = "codel"\n',
    "empty": "",
    "syntax": "duration = \n",
    "value": '# mine\n[bottleneck.queue]\naqm = "fifo"\nlimit = "many"\n',
    "closed": '[path]\nrtt = "1ms"\n',
    "file": 'bottleneck.rate = { trace = "/etc/passwd" }\n',
    "plugin": 'with = ["/tmp"]\n',
    "costly": 'duration = "1000000s"\n',
    "=2+3": "duration = 5\n",
}


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(SCENARIO)
    Path("task.toml").write_text(TASK)
    Path("hand-in").mkdir()
    for name, text in SUBMISSIONS.items():
        Path("hand-in", f"{name}.toml").write_text(text)
    Path("hand-in", "latin.toml").write_bytes(b'duration = "4s"\n# \xe9\n')
    Path("hand-in", "link.toml").symlink_to("/etc/passwd")
    Path("hand-in", "huge.toml").write_bytes(b"#" * 100_000)
    Path("hand-in", "readme.txt").write_text("no submission")
    return tmp_path


@pytest.mark.usefixtures("task")
def test_wrong_submissions_cost_only_their_rows() -> None:
    grades = tb.grade("task.toml", "hand-in", progress=False)
    rows = {grade.name: grade for grade in grades.grades}
    assert len(rows) == len(SUBMISSIONS) + 3
    assert [one.name for one in grades.grades if one.status == "graded"] == [
        "long",
        "other",
        "same",
        "short",
    ]
    # At 10 Mbit/s, 10 packets of 1514 bytes take 12 ms, and 40 packets take 48 ms.
    delays = {name: rows[name].verdicts[0].value for name in ("long", "same", "short")}
    assert delays["short"] == delays["same"] == pytest.approx(12, abs=2)
    assert delays["long"] == pytest.approx(48, abs=3)
    assert (rows["short"].held, rows["long"].held, grades.of) == (2, 1, 2)
    reasons = {name: rows[name].reasons for name in rows if rows[name].status == "wrong"}
    begins = {
        "empty": "1:1: sets none of the keys",
        "syntax": "1:12: not TOML",
        "value": '4:1: wrong value "many"',
        "closed": '1:2: the task does not open "path"',
        "file": '1:12: a submission cannot set "trace"',
        "plugin": '1:1: the task does not open "with"',
        "costly": "1:1: its runs take about",
        "=2+3": '1:1: wrong value 5 for "duration"',
        "latin": "2:3: not UTF-8 text",
        "link": "1:1: a link to another file",
        "huge": "1:1: larger than",
    }
    assert set(reasons) == set(begins)
    for name, begin in begins.items():
        assert reasons[name][0].startswith(f"hand-in/{name}.toml:{begin}"), reasons[name]
        assert "root:" not in reasons[name][0]
    assert grades.skipped == ["readme.txt"]


@pytest.mark.usefixtures("task")
def test_the_command_prints_a_table_csv_and_json(tailback: Tailback) -> None:
    for path in Path("hand-in").iterdir():
        if path.stem not in ("short", "syntax", "=2+3"):
            path.unlink()
    shown = tailback("grade", "task.toml", "hand-in")
    assert shown.returncode == 0
    assert "short" in shown.stdout
    assert "2 of 2" in shown.stdout
    assert "error: hand-in/syntax.toml:1:12: not TOML" in shown.stderr
    data = json.loads(tailback("grade", ".", "hand-in", "--json").stdout)
    good = next(row for row in data["submissions"] if row["name"] == "short")
    assert {(one["metric"], one["held"]) for one in good["assertions"]} == {
        ("delay_ms.max", True),
        ("throughput_mbit", True),
    }
    wrong = next(row for row in data["submissions"] if row["name"] == "syntax")
    assert (wrong["errors"][0]["line"], wrong["errors"][0]["column"]) == (1, 12)
    rows = list(csv.DictReader(io.StringIO(tailback("grade", ".", "hand-in", "--csv").stdout)))
    # A spreadsheet would run a name that begins with "=" as a formula.
    assert [row["name"] for row in rows] == ["'=2+3", "short", "syntax"]
    assert float(rows[1]["delay_ms.max of bottleneck at most 20"]) < 20


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("scenario = 1\n", "task.toml:1:1: a task needs the name"),
        (TASK + "opnes = 1\n", 'task.toml:4:1: unknown key "opnes"'),
        (TASK.replace('"duration"', '"with"'), 'task.toml:2:1: a task cannot open "with"'),
        (TASK.replace("2\n", '"x"\n'), "task.toml:3:1: wrong value for seeds"),
    ],
)
def test_a_wrong_task_is_an_error(tmp_path: Path, task: str, said: str) -> None:
    (tmp_path / "task.toml").write_text(task)
    (tmp_path / "one.toml").write_text("")
    with pytest.raises(InputErrors) as caught:
        tb.grade(tmp_path, tmp_path / "one.toml")
    assert any(f"/{said}" in str(problem) for problem in caught.value.problems)


def test_keys_have_their_places(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        'a."b.c" = """x\n[no]\n""" # [[no]]\n[t]\n'
        "l = [\n  { k = 1, \"m\" = '#' },\n]\n[[f]]\nz = 1\n"
    )
    found = {path: (at.line, at.column) for path, at in places.keys(read(file).text).items()}
    assert found[("a", "b.c")] == (1, 3)
    assert found[("t",)] == (4, 2)
    assert found[("t", "l", "0", "m")] == (6, 12)
    assert found[("f", "0", "z")] == (9, 1)
    assert ("no",) not in found


def test_assertions_are_objects_for_each_run_and_for_the_mean(
    tmp_path: Path, tailback: Tailback
) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "more.toml").write_text('[[assert]]\nmetric = "jain"\nmin = 0.5\nmax = 0.9\n')
    made = tailback("run", "s.toml", "--seeds", "2", "--json", "--assert", "more.toml")
    assert made.returncode == 1
    assert "jain is 1, expected at least 0.5 and at most 0.9" in made.stderr
    found = json.loads(made.stdout)["assertions"]
    jain = [one for one in found if one["metric"] == "jain"]
    assert [(one["seed"], one["side"], one["bound"], one["held"]) for one in jain] == [
        *((seed, "min", 0.5, True) for seed in (1, 2, None)),
        *((seed, "max", 0.9, False) for seed in (1, 2, None)),
    ]
    delays = {one["seed"]: one["value"] for one in found if one["metric"] == "delay_ms.max"}
    assert delays[None] == pytest.approx((delays[1] + delays[2]) / 2)


def test_mistakes_in_a_file_of_assertions_keep_their_place(
    tmp_path: Path, tailback: Tailback
) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "more.toml").write_text('[[assert]]\nmetric = "jian"\nmin = 1\n')
    wrong = tailback("run", "s.toml", "--assert", "more.toml")
    assert wrong.returncode == 2
    assert 'error: more.toml:2:10: unknown metric "jian"' in wrong.stderr
    (tmp_path / "more.toml").write_text("seed = 2\n")
    other = tailback("run", "s.toml", "--assert", "more.toml")
    assert 'more.toml: the file of --assert has "seed"' in other.stderr
