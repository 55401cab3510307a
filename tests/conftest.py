"""Fixtures: scenarios that run in milliseconds, the command `tailback`, the guest kernel, and a
fake package archive."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback.errors import InputError
from tailback.kernel import apt, own
from tailback.kernel import build as kernel_build
from tailback.kernel import kit as kernel_kits
from tailback.kernel.kit import Kit

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "tailback"]
MODULES = ROOT / "tests/modules"

# A shell starts a background job with SIGINT ignored, and commands inherit this setting. Tests
# interrupt commands, so restore the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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

# Turn off progress: on a slow machine, it would appear on stderr, which tests check.
os.environ["TAILBACK_PROGRESS"] = "off"

Tailback = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Write a scenario with one run, and return its path."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Write a scenario with twelve runs (3 rates, 2 congestion controls, 2 seeds), and return its
    path."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


@pytest.fixture
def tailback(tmp_path: Path) -> Tailback:
    """Return a function that runs the command in a temporary folder."""

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
    """Return the guest kernel.

    If the cache has no guest kernel, build it, which takes minutes. Build missing modules of
    tailback, which takes seconds."""
    try:
        kit = kernel_kits.current()
    except InputError:
        return kernel_build.build(progress=True)
    built = {extra["name"] for extra in kit.extras() if extra["current"]}
    return kit if built >= {*own.names(kit.version)} else kernel_build.build(progress=True)


@pytest.fixture(scope="session")
def own_cache(kernel_kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Yield a cache that contains the built guest kernel and the modules of the tests. Delete the
    cache afterwards.
    """
    cache = tmp_path_factory.mktemp("kit")
    folder = cache / "kits/own"
    folder.mkdir(parents=True)
    for name in ("linux", "root", "build", "kit.json", *kernel_kits.PROGRAMS):
        (folder / name).symlink_to(kernel_kit.path / name)
    (cache / "current").symlink_to("kits/own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILBACK_KIT", str(cache))
        named = [f"{path.name}={path}" for path in sorted(MODULES.iterdir())]
        # Add two modules: another version of sch_short, and the kernel's own source of CoDel.
        longer = cache / "longer"
        longer.mkdir()
        text = (MODULES / "short/sch_short.c").read_text(encoding="utf-8")
        (longer / "sch_short.c").write_text(
            text.replace("#define LIMIT 10", "#define LIMIT 30"), encoding="utf-8"
        )
        own = cache / "mycodel"
        own.mkdir()
        shutil.copy(Path(kernel_kit.manifest["source_tree"]) / "net/sched/sch_codel.c", own)
        named += [f"longer={longer}", f"mycodel={own}"]
        # Add two versions of Linux's DualPI2: unchanged, and with one line changed.
        source = Path(kernel_kit.manifest["source_tree"]) / "net/sched/sch_dualpi2.c"
        text = source.read_text(encoding="utf-8")
        line = "qdisc_qlen(q->l_queue) >= q->min_qlen_step"
        assert text.count(line) == 1
        for name, here in (("today", line), ("changed", line.replace(">=", ">"))):
            (cache / name).mkdir()
            (cache / name / source.name).write_text(text.replace(line, here), encoding="utf-8")
            named.append(f"{name}={cache / name}")
        kernel_build.build(extra=named, progress=False)
    return cache


@pytest.fixture
def own_kit(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """Use the guest kernel that has the modules of the tests."""
    monkeypatch.setenv("TAILBACK_KIT", str(own_cache))
    return kernel_kits.current()


def guests(of: Path) -> list[int]:
    """Return the process ids of guests whose files are in a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(link)).is_relative_to(of.resolve()):
                found.append(int(link.parent.name))
    return [pid for pid in found if _alive(pid) and "linux" in _command(pid)]


def _alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode()
    return ""


def wait_for(what: Any, seconds: float = 60) -> Any:
    """Call a function until it returns a true value, and return this value."""
    late = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < late, "nothing happened"
        time.sleep(0.02)
    return value


def contents(out: Path) -> dict[str, bytes]:
    """Return every file of every run except the timings, which always differ."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted((out / "runs").rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }


def on_both_engines(scenario: str, out: Path, **changes: Any) -> list[tb.Run]:
    """Change these values in a scenario. Return the scenario's runs in the simulator and on the
    kernel engine."""
    return [
        run
        for engine in ("sim", "kernel")
        for run in tb.run(scenario, set=changes, engine=engine, out=out / engine)
    ]


class Archive(apt.Apt):
    """A fake apt archive. `held` maps each package to its versions."""

    def __init__(self, held: dict[str, list[str]]) -> None:
        self._held = held

    def names(self, prefix: str) -> list[str]:
        return [name for name in self._held if name.startswith(prefix)]

    def versions(self, name: str) -> list[str]:
        return self._held[name]
