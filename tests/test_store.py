"""Tests that stored results do not depend on the number of threads, and that batches resume and
survive failures."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

import tailback as package
from conftest import COMMAND, SCENARIO, Tailback, contents
from tailback.store import frames

LONG = SCENARIO.replace('"2s"', '"200s"').replace("10Mbit", "100Mbit") + "\n[sweep]\nseeds = 16\n"


@pytest.fixture
def long_sweep(tmp_path: Path) -> Path:
    """Write a sweep of 16 runs. Each run takes a few tenths of a second."""
    path = tmp_path / "long.toml"
    path.write_text(LONG, encoding="utf-8")
    return path


def folders(out: Path) -> dict[str, tuple[int, int]]:
    """Return the inode of each finished run's folder, and the modification time of its timing file.
    The inode and the modification time change if the run is repeated."""
    return {
        path.name: (path.stat().st_ino, (path / "timing.json").stat().st_mtime_ns)
        for path in (out / "runs").glob("[!.]*")
    }


def wait_for_runs(out: Path, process: subprocess.Popen[bytes], count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (out / "runs").is_dir() and len(folders(out)) >= count:
            return
        assert process.poll() is None, "the sweep ended before it could be stopped"
        time.sleep(0.01)
    pytest.fail("no runs within a minute")


def test_the_same_bytes_at_any_number_of_jobs(
    tailback: Tailback, sweep: Path, tmp_path: Path
) -> None:
    first = tailback("run", sweep, "--json", "--jobs", "1", "--out", "one")
    second = tailback("run", sweep, "--json", "--jobs", "4", "--out", "four")
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout
    one, four = contents(tmp_path / "one"), contents(tmp_path / "four")
    assert len(one) == 12 * 5
    assert one == four
    index = "sweeps/*/index.json"
    [a], [b] = tmp_path.glob(f"one/{index}"), tmp_path.glob(f"four/{index}")
    assert a.read_bytes() == b.read_bytes()


def test_a_killed_sweep_resumes_and_nothing_runs_twice(
    tailback: Tailback, long_sweep: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    process = subprocess.Popen([*COMMAND, "run", str(long_sweep), "--jobs", "2"], cwd=tmp_path)
    wait_for_runs(out, process, 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = folders(out)
    assert 3 <= len(before) < 16
    assert list((out / "runs").glob(".tailback-*")), "it was killed while it wrote"
    # Finished runs can be read.
    assert {run.run_id for run in package.open_results(out).points} == set(before)

    done = tailback("run", long_sweep, "--json")
    assert done.returncode == 0, done.stderr
    after = folders(out)
    assert len(after) == len(json.loads(done.stdout)["points"]) == 16
    assert {name: after[name] for name in before} == before
    assert not list((out / "runs").glob(".*")), "the leftovers are gone"

    tailback("run", long_sweep)
    assert folders(out) == after


def test_two_processes_at_once(long_sweep: Path, tmp_path: Path, tailback: Tailback) -> None:
    command = [*COMMAND, "run", str(long_sweep), "--json", "--jobs", "2"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0] == outputs[1]
    alone = tailback("run", long_sweep, "--out", "alone")
    assert alone.returncode == 0
    assert contents(tmp_path / "results") == contents(tmp_path / "alone")
    assert not list((tmp_path / "results" / "runs").glob(".*"))


def test_ctrl_c_keeps_what_has_finished(long_sweep: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", str(long_sweep), "--jobs", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out = tmp_path / "results"
    wait_for_runs(out, process, 2)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout == b""
    assert b"interrupted" in stderr
    assert b"Traceback" not in stderr
    assert 2 <= len(folders(out)) < 16
    assert not list((out / "runs").glob(".*")), "nothing half-written is left"


def test_an_unwritable_folder_is_a_clear_error(
    tailback: Tailback, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tailback("run", scenario, "--out", "file/below")
    assert done.returncode == 1
    assert "file/below" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tailback: Tailback, scenario: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    done = tailback("run", scenario, "--out", "locked")
    assert done.returncode == 1
    assert "locked" in done.stderr


def test_a_full_disk_is_a_clear_error_and_leaves_no_half_run(
    scenario: Path, tmp_path: Path
) -> None:
    def full() -> None:
        # A limit on file sizes makes writes beyond 1 KiB fail. The manifest is smaller than this
        # limit, and the summary is larger.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1016, 1016))

    done = subprocess.run(
        [*COMMAND, "run", str(scenario)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=full,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "results" / "runs").iterdir()) == []


def test_an_index_that_is_there_is_not_written_again_but_becomes_the_latest(tmp_path: Path) -> None:
    one = SCENARIO.replace("two flows", "one")
    other = SCENARIO.replace("two flows", "other").replace("10Mbit", "20Mbit")
    first = package.run(one, out=tmp_path, progress=False)
    package.run(other, out=tmp_path, progress=False)
    assert package.open_results(tmp_path).title == "other"
    index = tmp_path / "sweeps" / first.id / "index.json"
    before = index.stat()
    again = package.run(one, out=tmp_path, progress=False)
    after = index.stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert after.st_mtime_ns > before.st_mtime_ns
    assert package.open_results(tmp_path).title == "one"
    assert again.to_dict() == first.to_dict()
    # If the index was changed, tailback writes it again.
    index.write_bytes(index.read_bytes().replace(b'"one"', b'"two"'))
    package.run(one, out=tmp_path, progress=False)
    assert package.open_results(tmp_path).title == "one"


def test_series_that_are_read_together_are_those_of_each_run(tmp_path: Path) -> None:
    text = SCENARIO + "\n[record]\nseries = true\n\n[sweep]\nseeds = 3\n"
    results = package.run(text, out=tmp_path, progress=False)
    runs = [run.stored for run in results]
    for quantity in ("cwnd", "no such quantity"):
        together = list(frames.each_series(runs, quantity))
        for run, found in zip(results, together, strict=True):
            assert found.equals(frames.only(run.series(), quantity, None, None))
    assert sum(map(len, frames.each_series(runs, "cwnd"))) > 100


def test_histograms_of_many_groups_are_those_of_each(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run.stored for run in package.run(sweep, out=tmp_path, progress=False)]
    monkeypatch.setattr(frames, "TOGETHER", 5)
    groups = [runs[:2], [runs[2]], [runs[3]], runs[4:12], runs[:5]]
    for quantity, link in (("delay_ns", "bottleneck"), ("delay_ns", None), ("rtt_ns", "none")):
        together = list(frames.each_merged(groups, quantity, link=link))
        alone = [frames.merged(group, quantity, link=link) for group in groups]
        assert [frame.rows() for frame in together] == [frame.rows() for frame in alone]
        assert {frame.is_empty() for frame in together} == {link != "bottleneck"}
    assert list(frames.each_merged([], "delay_ns", link=None)) == []
