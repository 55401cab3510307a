"""Tests a lack of memory: runs that would not fit must be rejected, and a sweep must survive a
failed run."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

from conftest import COMMAND, SCENARIO, contents

SWEEP = SCENARIO.replace('"2s"', '"40s"').replace("10Mbit", "100Mbit") + "\n[sweep]\nseeds = 12\n"

MANY = SCENARIO.replace('cc = "cubic"', 'cc = "cubic"\ncount = 250000')
"""A scenario with an estimated memory of 2 GiB."""


def limit(space: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (space, space))


def run(scenario: str, folder: Path, space: int | None = None) -> subprocess.CompletedProcess[str]:
    path = folder / "scenario.toml"
    path.write_text(scenario, encoding="utf-8")
    return subprocess.run(
        [*COMMAND, "run", path, "--jobs", "1", "--out", folder / "out"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=None if space is None else lambda: limit(space),
    )


def test_what_does_not_fit_into_the_address_space_is_refused(tmp_path: Path) -> None:
    refused = run(MANY, tmp_path, 1 << 30)
    assert refused.returncode == 2, refused.stderr
    assert "MiB of memory" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out").exists()


def test_a_sweep_goes_on_where_memory_ended(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(SWEEP, whole).returncode == 0
    folder = tmp_path / "short"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SWEEP, encoding="utf-8")
    command = [*COMMAND, "run", "scenario.toml", "--jobs", "1", "--out", "out"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        runs = folder / "out" / "runs"
        while process.poll() is None and len(list(runs.glob("[!.]*"))) < 2:
            time.sleep(0.005)
        # After this limit is set, allocations of further memory fail. The run finishes or is
        # aborted, depending on how much memory the process has already allocated.
        resource.prlimit(process.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
        process.wait(timeout=120)
    assert run(SWEEP, folder).returncode == 0
    assert contents(folder / "out") == contents(whole / "out")
