"""Runs the kernel's packetdrill scripts against the simulator's TCP."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "crates" / "packetdrill" / "tests" / "scripts.txt"
PAGE = ROOT / "docs" / "evidence" / "packetdrill.md"
OWN = ROOT / "crates" / "packetdrill" / "tests" / "own"


@pytest.fixture(scope="module")
def command() -> str:
    """Return the path of the interpreter. Build the interpreter if `cargo test` has not built
    it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = target / "debug" / "tailback-packetdrill"
    subprocess.run(
        ["cargo", "build", "--quiet", "-p", "tailback-packetdrill"], cwd=ROOT, check=True
    )
    return str(built)


def _run(command: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *map(str, args)], capture_output=True, text=True, check=False)


def test_own_scripts_hold(command: str) -> None:
    done = _run(command, "--json", *sorted(OWN.glob("*.pkt")))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counts = [told[verdict] for verdict in ("pass", "runs", "fail", "not_applicable")]
    assert counts == [len(told["scripts"]), 0, 0, 0]
    assert told["pass"] >= 10


def test_the_kernels_scripts_are_as_the_table_says(
    command: str, request: pytest.FixtureRequest
) -> None:
    # Use the guest kernel if this machine can build it.
    with suppress(pytest.FixtureLookupError):
        request.getfixturevalue("kernel_kit")
    done = _run(command, "--kernel", "--json")
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    told = json.loads(done.stdout)
    if told["kernel"] != "7.3":
        pytest.skip(f"the table is of Linux 7.3, the source is {told['kernel']}")
    assert _run(command, "--kernel").stdout == TABLE.read_text()
    assert _run(command, "--kernel", "--markdown").stdout == PAGE.read_text()
    verdicts = {s["script"]: s["verdict"] for s in told["scripts"]}
    # These scripts test core features of the simulator, so they must pass.
    for kind in ("slow_start_slow-start-ack", "fast_recovery", "sack_sack-shift", "ecn_ecn"):
        those = [v for name, v in verdicts.items() if name.startswith(f"tcp_{kind}")]
        assert those
        assert set(those) == {"pass"}, kind
    # A script counts as passed only if it contains a check that could fail.
    for script in told["scripts"]:
        judged = script["assertions"] + script["fields"]
        if script["verdict"] == "pass":
            assert judged > 0 or script["packets"] > 1, script
        elif script["verdict"] == "runs":
            assert (judged, script["packets"]) == (0, 1), script
    # The scripts for Accurate ECN run, except for scripts that test unsupported parts of the
    # handshake.
    accurate = [s for s in told["scripts"] if s["script"].startswith("tcp_accecn_")]
    assert len(accurate) > 50
    beyond = {s["category"] for s in accurate if s["verdict"] == "not applicable"}
    assert beyond == {"handshake", "challenge ACKs", "settings and counters", "nothing to compare"}
    assert [s["script"] for s in accurate if s["verdict"] == "fail"] == [
        "tcp_accecn_sack_space_grab"
    ]
