"""Checks that the simulator works without Python's Unix-only modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailback.base import machine
from tailback.errors import InputError
from tailback.running import engines

UNIX_ONLY = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
"""Modules that Python on Windows does not have."""

SHIM = f"""
import builtins, runpy, sys
known = builtins.__import__

def without(name, globals=None, *rest, **more):
    # One module asks on which system it is; UML has a folder of its own.
    importer = (globals or {{}}).get("__name__", "")
    if name in {UNIX_ONLY!r} and importer.startswith("tailback"):
        if importer != "tailback.base.machine":
            raise ImportError(f"{{importer}} imports {{name}}")
    return known(name, globals, *rest, **more)

builtins.__import__ = without
sys.argv = ["tailback", *sys.argv[1:]]
runpy.run_module("tailback.cli.main", run_name="__main__")
"""

SCENARIO = """
duration = "1s"
flows = [{ cc = "cubic" }]
bottleneck = { rate = "10Mbit", queue = "codel" }
sweep = { "path.rtt" = ["10ms", "20ms"] }
"""


def tailback(folder: Path, *words: str) -> str:
    """Run a command. Only the module `tailback.base.machine` may import Unix-only modules."""
    done = subprocess.run(
        [sys.executable, "-c", SHIM, *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_simulator_needs_nothing_of_unix(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO, encoding="utf-8")
    tailback(tmp_path, "check", "a.toml")
    assert "cubic" in tailback(tmp_path, "run", "a.toml", "-q")
    for words in (("explain",), ("plot", "--out", "figure.svg"), ("report",), ("results", "list")):
        tailback(tmp_path, *words)
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    assert "fq_codel" in tailback(tmp_path, "list", "aqm")


@pytest.mark.parametrize(("system", "processor"), [("darwin", "arm64"), ("win32", "AMD64")])
def test_elsewhere_the_kernel_engine_is_refused(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str
) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: processor)
    with pytest.raises(InputError, match=f"needs Linux on x86-64, and this is .* on {processor}"):
        engines.get("kernel")
    assert engines.get("sim").name == "sim"


def test_a_lock_is_for_one_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as file:
        machine.lock(file)
        waits = f"from tailback.base import machine; machine.lock(open({str(path)!r}, 'w'))"
        other = subprocess.Popen([sys.executable, "-c", waits])
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1)
    assert other.wait(20) == 0
