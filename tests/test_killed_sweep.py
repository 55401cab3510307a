"""Tests the results of a sweep that is killed, or whose files a power failure damages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import warnings
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, contents
from tailback import _native
from tailback.errors import DamagedResults, DamageWarning

SCENARIO = """\
duration = "100ms"
[bottleneck]
rate  = "10Mbit"
queue = "fifo"
[path]
rtt = "10ms"
[[flows]]
cc = "reno"
"""
SEEDS, ENOUGH = 1500, 100


def stored(out: Path) -> dict[str, Path]:
    """Return the run folders by the id of the run."""
    return {path.name: path for path in (out / "runs").iterdir() if _native.is_id(path.name)}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kill a sweep while it is running, and return its results folder."""
    place = tmp_path_factory.mktemp("killed")
    scenario, out = place / "scenario.toml", place / "out"
    scenario.write_text(SCENARIO)
    command = [*COMMAND, "run", str(scenario), "--seeds", str(SEEDS), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        while not (out / "runs").is_dir() or len(stored(out)) < ENOUGH:
            assert sweep.poll() is None, "the sweep ended before it was killed"
            time.sleep(0.005)
        sweep.send_signal(signal.SIGKILL)
    return out


def test_a_killed_sweep_keeps_every_finished_run(killed: Path) -> None:
    before = stored(killed)
    assert ENOUGH <= len(before) < SEEDS
    for path in before.values():
        _native.check_run(path)
    made = {name: (path / "manifest.json").stat().st_ino for name, path in before.items()}
    # The report of a killed sweep shows the runs that had finished.
    assert len(tb.open_results(killed)) == len(before)
    seeds = ENOUGH + len(before)
    assert len(tb.run(SCENARIO, seeds=seeds, out=killed)) == seeds
    after = stored(killed)
    assert {name: (after[name] / "manifest.json").stat().st_ino for name in made} == made
    # The next process removed the unfinished files of the killed process.
    assert not list((killed / "runs").glob(".tailback-*"))


def test_runs_that_a_power_failure_damaged_are_repeated(killed: Path) -> None:
    out = killed
    seeds = 20
    results = tb.run(SCENARIO, seeds=seeds, out=out)
    whole = contents(out)
    # After a power failure, a file that was not synced may be missing, empty, or filled with zeros.
    lost = [run.run_id for run in results][:6]
    names = ["manifest.json", "summary.json", "series.parquet"]
    for run_id, name in zip(lost[:3], names, strict=True):
        os.truncate(out / "runs" / run_id / name, 0)
    for run_id, name in zip(lost[3:5], names, strict=False):
        file = out / "runs" / run_id / name
        file.write_bytes(bytes(file.stat().st_size))
    (out / "runs" / lost[5] / "histograms.parquet").unlink()
    for run_id in lost:
        with pytest.raises(DamagedResults):
            _native.check_run(out / "runs" / run_id)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DamageWarning)
        tb.run(SCENARIO, seeds=seeds, out=out)
    assert len([one for one in said if issubclass(one.category, DamageWarning)]) == len(lost)
    for run in results:
        _native.check_run(run.path)
    found = contents(out)
    assert {name: found.get(name) for name in whole} == whole
    assert json.loads((out / "runs" / lost[0] / "summary.json").read_bytes())["run_id"] == lost[0]
