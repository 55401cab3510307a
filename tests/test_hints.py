"""Tests hints for users who write a name in the wrong place or by another word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND
from tailback.base.names import nearest

SWEPT = """
title = "A sweep"
duration = "2s"
[bottleneck]
rate = "10Mbit"
[path]
rtt = "20ms"
[[flows]]
cc = "reno"
[sweep]
"path.rtt" = ["10ms", "20ms"]
"bottleneck.queue" = ["fifo", { aqm = "codel", target = "2ms" }]
"""


def done(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("lab", "standing-queue"), "tailback new --lesson standing-queue"),
        (("new", "standing-queue"), "tailback new --lesson standing-queue"),
        (("new", "--lesson", "first"), "tailback new first > first.toml"),
        (("lab", "first"), "tailback new first > first.toml"),
        (("run", "first"), "tailback new first > first.toml"),
        (("explain", "swept.toml"), "tailback run swept.toml"),
    ],
)
def test_a_name_in_the_wrong_place_names_the_right_command(
    tmp_path: Path, words: tuple[str, ...], hint: str
) -> None:
    (tmp_path / "swept.toml").write_text(SWEPT, encoding="utf-8")
    failed = done(tmp_path, *words)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert f"run: {hint}" in failed.stderr


def test_a_replaced_sweep_is_noted(tmp_path: Path) -> None:
    (tmp_path / "swept.toml").write_text(SWEPT, encoding="utf-8")
    note = "note: `--set path.rtt=30ms` replaces the sweep of `path.rtt` (2 values)"
    checked = done(tmp_path, "check", "swept.toml", "--set", "path.rtt=30ms")
    assert note in checked.stderr.splitlines()
    assert "2 runs" in checked.stdout
    ran = done(tmp_path, "run", "swept.toml", "--set", "path.rtt=30ms")
    assert note in ran.stderr.splitlines()
    # The printed table shows a queue that is set by an inline table as `codel`, like figures do.
    assert any(row.startswith("codel  ") for row in ran.stdout.splitlines())
    other = done(tmp_path, "check", "swept.toml", "--set", "bottleneck.rate=5Mbit")
    assert "note:" not in other.stderr


def test_a_name_with_another_unit_is_near() -> None:
    names = ("completion_ms", "cwnd", "throughput_mbit")
    assert nearest("completion_s", names) == "completion_ms"
    assert nearest("throughput_bps", names) == "throughput_mbit"
    assert nearest("throughput", names) == "throughput_mbit"
