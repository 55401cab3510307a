"""Tests a few commands with failing file system calls, and a few commands that are killed.

tests/faults/inject.py and tests/faults/kill.py test all commands.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

FAULTS = ROOT / "tests" / "faults"


def script(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, args)], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("command", "tries"),
    [
        ("run", 6),
        ("run-again", 4),
        ("export-csv", 3),
        ("verify", 2),
        ("report-again", 1),
        ("plot", 1),
    ],
)
def test_a_failing_call_is_a_sentence_and_no_harm(command: str, tries: int) -> None:
    done = script(f"{FAULTS / 'inject.py'}", "--tries", str(tries), "--command", command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_killed_command_leaves_nothing_that_the_next_does_not_mend() -> None:
    light = ["run", "run-again", "export-csv", "export-flent", "export-pcapng", "verify"]
    chosen = [word for name in [*light, "processes"] for word in ("--command", name)]
    done = script(f"{FAULTS / 'kill.py'}", "--tries", "4", *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    done = script(f"{FAULTS / 'kill.py'}", "--tries", "1", "--command", "report-again")
    assert done.returncode == 0, done.stdout + done.stderr
