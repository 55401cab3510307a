"""Checks that every recipe of the cookbook runs without changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "cookbook.md"
RECIPES = re.findall(
    r"^## \d+\. (.*)\n(?s:.*?)^```sh\n((?s:.*?))^```", PAGE.read_text(encoding="utf-8"), flags=re.M
)
BEGIN = RECIPES[0][1]
"""The first recipe, which writes the scenarios that the other recipes use."""


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(commands, id=title)
        for title, commands in RECIPES
        if "--engine kernel" not in commands
    ],
)
def test_recipe_runs(commands: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = f"{BEGIN}{commands}"
    if "grid.toml" in commands and "> grid.toml" not in commands:
        script = f"{BEGIN}{next(text for _, text in RECIPES if '> grid.toml' in text)}{commands}"
    finished = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
