"""Checks that the commands in the README, the first run and the tutorials still print the outputs
on these pages.

Commands that need Linux, a compiler or a long search are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/start/first-run.md",
    "docs/tutorials/why-is-this-flow-slow.md",
    "docs/tutorials/tune-an-aqm.md",
)
LEFT_OUT = re.compile(r"engine[ =]kernel|tailback (?:kernel|tune|build)|--with")
CHANGES = re.compile(r"\.\.\.|CPU time")
"""Matches lines that depend on the machine, and lines with an omitted part."""


def commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of the console blocks and the lines that the page shows below it."""
    for block in re.findall(r"^```console\n((?s:.*?))^```", page, flags=re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, [words(line) for line in lines if line.strip()]


def words(line: str) -> str:
    """Return a line with single spaces, because numbers may contain other kinds of spaces."""
    return " ".join(line.split())


@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_current(name: str, tmp_path: Path) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    for file, text in re.findall(
        r"Save this as `([\w.]+)`:\n\n```toml\n((?s:.*?))^```", page, re.M
    ):
        (tmp_path / file).write_text(text, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tried = 0
    for command, shown in commands(page):
        if LEFT_OUT.search(command):
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        is_wrong = any(line.startswith("error: ") for line in shown)
        assert done.returncode == (2 if is_wrong else 0), f"{name}: `{command}`: {done.stderr}"
        printed = iter([words(line) for line in f"{done.stdout}\n{done.stderr}".splitlines()])
        for line in shown:
            if not CHANGES.search(line):
                assert line in printed, f"{name}: `{command}` no longer prints: {line}"
                tried += 1
    assert tried > 2
