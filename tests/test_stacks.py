"""Tests real transport stacks as endpoints of the simulator. Each stack is a crate with its own
tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

STACKS = sorted(path.parent for path in (ROOT / "stacks").glob("*/Cargo.toml"))


def _cargo(stack: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run cargo on a stack, with the versions of the stack's lock file."""
    manifest = ["--locked", "--quiet", "--manifest-path", str(stack / "Cargo.toml")]
    return subprocess.run(
        ["cargo", *words, *manifest], capture_output=True, text=True, timeout=900, check=False
    )


@pytest.mark.parametrize("stack", STACKS, ids=[stack.name for stack in STACKS])
def test_its_own_tests_pass(stack: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing")
    fetched = _cargo(stack, "fetch")
    assert "lock file" not in fetched.stderr, fetched.stderr
    if fetched.returncode != 0:
        pytest.skip(f"its crates cannot be downloaded: {fetched.stderr[-300:]}")
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "stacks"))
    done = _cargo(stack, "test", "--offline", "--target-dir", target)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_quinn_is_a_stack() -> None:
    assert "quinn" in [stack.name for stack in STACKS]
