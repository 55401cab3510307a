"""Tests that the page of each lesson exists, that its commands parse, and that its assertions hold
in the simulator."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import tailback as tb
from tailback.cli.main import cli
from tailback.errors import InputError
from tailback.teaching import lessons

SEEDS = 2


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lessons")
    for name in lessons.NAMES:
        lessons.write(name, root / name)
    return root


@pytest.mark.parametrize("name", lessons.NAMES)
def test_the_assertions_of_a_lesson_hold(name: str, written: Path, tmp_path: Path) -> None:
    results = tb.run(written / name / lessons.SCENARIO, seeds=SEEDS, out=tmp_path, progress=False)
    assert results.asserts
    assert results.failed_assertions() == []


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_lesson_asks_before_it_answers(name: str, written: Path) -> None:
    text = (written / name / lessons.QUESTION).read_text()
    answer = (written / name / lessons.ANSWER).read_text()
    assert text.index("## Predict") < text.index("## Run") < text.index("answer.md")
    assert "?**" in text
    assert answer.startswith(f"# {lessons.title(name)}: the answer")


@pytest.mark.parametrize("name", lessons.NAMES)
def test_the_commands_of_a_lesson_parse(name: str, written: Path) -> None:
    text = (written / name / lessons.QUESTION).read_text()
    lines = re.findall(r"^tailback (.*)$", text, re.MULTILINE)
    assert any(line.startswith("plot ") and "--style slides" in line for line in lines)
    for line in lines:
        command, *words = shlex.split(line)
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        with found.make_context(command, words):
            pass


def test_the_task_of_the_standing_queue_has_a_solution(written: Path, tmp_path: Path) -> None:
    folder = written / "standing-queue"
    (folder / "submissions" / "right.toml").write_text('bottleneck.queue.limit = "0.55bdp"\n')
    grades = tb.grade(folder, folder / "submissions", out=tmp_path, progress=False)
    assert {grade.name: grade.held for grade in grades.grades} == {"example": 1, "right": 2}


def test_a_lesson_does_not_overwrite(written: Path) -> None:
    with pytest.raises(InputError, match="already exists"):
        lessons.write("pie", written / "pie")
    with pytest.raises(InputError, match='did you mean "codel-law"'):
        lessons.write("codel-lay", written / "new")
