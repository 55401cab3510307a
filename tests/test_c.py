"""Tests that a C program gets the same packets from the bottleneck as a Python program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tailback as tb
from conftest import ROOT

C = ROOT / "crates/c"
FIELDS = {0: "not-ect", 1: "ect1", 2: "ect0", 3: "ce"}
SCENARIO = """\
duration = "1s"
[bottleneck]
rate = "1Mbit"
queue = "dualpi2"
[path]
rtt = "10ms"
[[programs]]
name = "mine"
[record]
packets = true
"""


def test_a_program_in_c_measures_the_same(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is missing")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    words = ["cargo", "build", "--release", "--quiet", "--offline", "--package", "tailback-c"]
    subprocess.run([*words, "--target-dir", str(target)], cwd=ROOT, check=True)
    program = tmp_path / "ten"
    libraries = [target / "release/libtailback_c.a", "-lpthread", "-ldl", "-lm"]
    words = ["gcc", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(C / "examples/ten.c")]
    subprocess.run([*words, *map(str, libraries)], check=True)
    capture = tmp_path / "ten.pcapng"
    said = subprocess.run([program, capture], capture_output=True, text=True, check=True).stdout
    bottleneck = tb.Bottleneck(SCENARIO)
    for handle in range(10):
        bottleneck.push(0, 1208, "ect1", handle)
    found = []
    while (now := bottleneck.next()) is not None:
        while (one := bottleneck.poll(now)) is not None:
            found.append((one.handle, one.at, one.ecn))
    lines = [tuple(map(int, line.split())) for line in said.splitlines()]
    assert [(handle, at, FIELDS[ecn]) for handle, at, ecn in lines] == found
    assert len(found) == 10
    assert capture.read_bytes() == bottleneck.pcapng()


def test_the_header_is_that_of_the_sources() -> None:
    """Check that the header in the repository is what cbindgen writes (`make header`). Users of
    this header do not need cbindgen."""
    tool = ROOT / "target/tools/bin/cbindgen"
    if not tool.exists():
        pytest.skip("cbindgen is missing; run: make header")
    words = [str(tool), "--quiet", "--config", str(C / "cbindgen.toml"), str(C / "src/lib.rs")]
    made = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert made == (C / "tailback.h").read_text(encoding="utf-8")
