"""What the tests share: scenarios that take milliseconds, and the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tailback.errors import InputError
from tailback.kernel import build as kernel_build
from tailback.kernel import kit as kernel_kits
from tailback.kernel.kit import Kit

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "tailback"]

SCENARIO = """\
title    = "two flows"
duration = "2s"
warmup   = "500ms"
seed     = 1

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel", ecn = true }

[path]
rtt = "20ms"

[[flows]]
cc = "cubic"

[[flows]]
cc = "dctcp"
"""

SWEEP = (
    SCENARIO
    + """
[sweep]
"bottleneck.rate" = ["5Mbit", "10Mbit", "20Mbit"]
"flows.cubic.cc" = ["cubic", "reno"]
seeds = 2
"""
)

Tailback = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario of one run."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A scenario of twelve runs: 3 rates, 2 congestion controls, 2 seeds."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


@pytest.fixture
def tailback(tmp_path: Path) -> Tailback:
    """Runs the command in a folder of its own."""

    def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *map(str, args)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def kernel_kit() -> Kit:
    """The kernel kit, built if the cache has none: minutes, once for a machine."""
    try:
        return kernel_kits.current()
    except InputError:
        return kernel_build.build(progress=True)


def contents(out: Path) -> dict[str, bytes]:
    """Every file of every run but the timings, which differ by their nature."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted((out / "runs").rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }
