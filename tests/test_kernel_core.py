"""Tests that each guest gets its own core, and that all its processes run on this core."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tailback.kernel import core

SEEN = "import os; print(sorted(os.sched_getaffinity(0)))"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "kit"))


def test_every_guest_has_a_core_of_its_own_and_one_too_many_has_none() -> None:
    cores = os.sched_getaffinity(0)
    with ExitStack() as stack:
        taken = [stack.enter_context(core.reserved()) for _ in cores]
        assert set(taken) == cores
        assert stack.enter_context(core.reserved()) is None
    with core.reserved() as again:
        assert again == min(cores)


def test_another_process_sees_what_is_taken() -> None:
    cores = os.sched_getaffinity(0)
    code = "from tailback.kernel import core\nwith core.reserved() as c: print(c)"
    with core.reserved():
        seen = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    rest = sorted(cores)[1:]
    assert seen.stdout.decode().strip() == str(rest[0] if rest else None)


def test_what_is_started_is_moved_and_the_thread_comes_back() -> None:
    before = os.sched_getaffinity(0)
    with core.on(max(before)):
        seen = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, check=True)
    assert seen.stdout.decode().strip() == f"[{max(before)}]"
    assert os.sched_getaffinity(0) == before
    with core.on(None):
        assert os.sched_getaffinity(0) == before


def test_a_folder_that_cannot_be_made_leaves_it_to_the_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "file"))
    with core.reserved() as none:
        assert none is None
