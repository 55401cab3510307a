"""Tests runs on a Dask cluster of local processes. The tests kill some of the processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailback
from conftest import COMMAND, SCENARIO, SWEEP, contents, wait_for
from tailback.errors import DamagedResults, InputError
from tailback.running.spread import parcel

LONG = SCENARIO.replace('"2s"', '"1000s"').replace('"10Mbit"', '"50Mbit"', 1)
"""A scenario with runs that take half a second, so that a process can die during a run."""

MANY = LONG + "\n[sweep]\nseeds = 8\n"


class Cluster:
    """A scheduler and workers, each of which is a process. Nothing restarts a process that dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0")
        self.workers: list[subprocess.Popen[bytes]] = []

    def add(self, *, preload: Path | None = None) -> subprocess.Popen[bytes]:
        """Start one more worker with one thread."""
        place = self.folder / f"worker{len(self.workers)}"
        more = ["--preload", str(preload)] if preload is not None else []
        options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(place), *more]
        worker = self._start("worker", *options)
        self.workers.append(worker)
        return worker

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "dask", what, "--host", "127.0.0.1"),
                    *("--no-dashboard", "--scheduler-file", str(self.file), *options),
                ],
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def end(self) -> None:
        """Kill the workers and the scheduler."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Cluster(folder)
    yield made
    made.end()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster of two workers that no test kills."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.add()
    made.add()
    yield made
    made.end()


def _command(file: Path, cluster: Cluster, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "run", str(file), "--cluster", str(cluster.file), "--out", str(out), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _kept(out: Path) -> dict[str, bytes]:
    """Return the files of runs. Leave out files that killed processes have left behind."""
    return {name: data for name, data in contents(out).items() if "/." not in name}


def _stored(out: Path) -> int:
    return sum(1 for path in (out / "runs").glob("*") if not path.name.startswith("."))


def test_a_cluster_gives_the_same_bytes(shared: Cluster, tmp_path: Path) -> None:
    tailback.run(SWEEP, out=tmp_path / "here")
    with tailback.on_cluster(str(shared.file)):
        there = tailback.run(SWEEP, out=tmp_path / "there", progress=False)
    assert len(there) == 12
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    # No temporary file is left on the client or on the workers.
    assert not [p for p in (tmp_path / "there/runs").iterdir() if p.name.startswith(".")]
    left = [p for p in shared.folder.rglob("*") if p.name == "summary.json"]
    assert left == []


def test_a_capture_comes_in_pieces(
    shared: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailback.running.cluster import client

    monkeypatch.setattr(client, "PIECE", 100_000)
    values = {"record.packets": True}
    tailback.run(SCENARIO, set=values, out=tmp_path / "here")
    with tailback.on_cluster(str(shared.file)):
        found = tailback.run(SCENARIO, set=values, out=tmp_path / "there", progress=False)
    packets = found.points[0].path / "packets.pcapng"
    assert packets.stat().st_size > 3 * 100_000
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_a_trace_goes_with_its_scenario(shared: Cluster, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/cell.down").write_text("".join(f"{ms}\n" for ms in range(1, 400)), "utf-8")
    scenario = tmp_path / "own/scenario.toml"
    text = SCENARIO.replace('"10Mbit"', '{ trace = "../own/cell.down" }', 1)
    scenario.write_text(text, "utf-8")
    tailback.run(scenario, out=tmp_path / "here")
    with tailback.on_cluster(str(shared.file)):
        tailback.run(scenario, out=tmp_path / "there", progress=False)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_comparisons_and_searches_run_there_too(shared: Cluster, tmp_path: Path) -> None:
    variants = {"base": {}, "slow": {"path.rtt": "40ms"}}
    here = tailback.compare(SCENARIO, variants, seeds=2, out=tmp_path / "here")
    with tailback.on_cluster(str(shared.file)):
        there = tailback.compare(SCENARIO, variants, seeds=2, out=tmp_path / "there")
    assert there.to_dict() == here.to_dict()
    asked = {"vary": {"path.rtt": "5ms..40ms"}, "minimise": ["delay_ms.mean"]}
    numbers = {"runs": 4, "seeds": 1, "unseen": 2, "batch": 2}
    local = tailback.tune(SCENARIO, **asked, **numbers, out=tmp_path / "here")  # type: ignore[arg-type]
    with tailback.on_cluster(str(shared.file)):
        spread = tailback.tune(SCENARIO, **asked, **numbers, out=tmp_path / "there")  # type: ignore[arg-type]
    assert spread.to_dict() == local.to_dict()
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_a_worker_that_dies_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    file, out = tmp_path / "many.toml", tmp_path / "out"
    file.write_text(MANY, "utf-8")
    victim = cluster.add()
    command = _command(file, cluster, out)
    wait_for(lambda: _stored(out) >= 1)
    cluster.add()
    victim.send_signal(signal.SIGKILL)
    text, said = command.communicate(timeout=60)
    assert command.returncode == 0, said
    assert len(json.loads(text)["points"]) == 8
    tailback.run(MANY, out=tmp_path / "here")
    assert _kept(out) == _kept(tmp_path / "here")


def test_a_scheduler_that_dies_leaves_what_was_finished(cluster: Cluster, tmp_path: Path) -> None:
    file, out = tmp_path / "many.toml", tmp_path / "out"
    file.write_text(MANY, "utf-8")
    cluster.add()
    command = _command(file, cluster, out)
    wait_for(lambda: _stored(out) >= 1)
    cluster.scheduler.send_signal(signal.SIGKILL)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "is gone; finished runs are stored" in said
    assert len(said.splitlines()) == 1, said
    kept = _kept(out)
    assert 5 <= len(kept) < 40
    assert tailback.open_results(out).points
    # A new cluster executes the remaining runs.
    cluster.file.unlink(missing_ok=True)
    again = Cluster(cluster.folder)
    try:
        again.add()
        command = _command(file, again, out)
        _, said = command.communicate(timeout=60)
        assert command.returncode == 0, said
        now = _kept(out)
        assert len(now) == 40
        assert kept.items() <= now.items()
    finally:
        again.end()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_dies_goes_on_where_it_was(
    how: signal.Signals, cluster: Cluster, tmp_path: Path
) -> None:
    file, out = tmp_path / "many.toml", tmp_path / "out"
    file.write_text(MANY, "utf-8")
    cluster.add()
    cluster.add()
    command = _command(file, cluster, out)
    wait_for(lambda: _stored(out) >= 1)
    command.send_signal(how)
    _, said = command.communicate(timeout=60)
    if how is signal.SIGINT:
        assert command.returncode == 130
        assert said.strip() == "tailback: interrupted; the results of finished runs are kept"
    kept = _kept(out)
    assert 5 <= len(kept) < 40
    command = _command(file, cluster, out)
    text, said = command.communicate(timeout=60)
    assert command.returncode == 0, said
    assert len(json.loads(text)["points"]) == 8
    assert kept.items() <= _kept(out).items()
    assert not [p for p in (out / "runs").iterdir() if p.name.startswith(".")]


OTHER = """\
import tailback
from tailback.running.engines import sim

tailback.__version__ = "0.0.9"
sim.ENGINE = sim.Sim(version="0.0.9+0123456789abcdef")
"""


def test_another_version_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    preload = tmp_path / "other.py"
    preload.write_text(OTHER, "utf-8")
    cluster.add(preload=preload)
    wait_for(cluster.file.exists)
    with (
        tailback.on_cluster(str(cluster.file)),
        pytest.raises(InputError) as refused,
    ):
        tailback.run(SCENARIO, out=tmp_path / "out", progress=False)
    said = str(refused.value)
    assert "has tailback 0.0.9, engine sim 0.0.9+0123456789abcdef" in said
    assert f"expected {tailback.__version__}, {tailback.engine_version()}, as here" in said
    assert _stored(tmp_path / "out") == 0


def test_no_scheduler_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.running.cluster import client

    monkeypatch.setattr(client, "CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense", str(tmp_path / "absent.json")):
        with (
            tailback.on_cluster(address),
            pytest.raises(InputError, match=r"--cluster .*(no scheduler answers|no such file)"),
        ):
            tailback.run(SCENARIO, out=tmp_path)


def test_only_what_was_written_is_taken(tmp_path: Path) -> None:
    from tailback import _native
    from tailback.base import folders

    run = tailback.run(SCENARIO, out=tmp_path / "one").points[0]
    files = parcel.files(run.path)
    target = _native.Store(tmp_path / "two")
    version = tailback.engine_version()
    wrong = {
        "flipped": {**files, "summary.json": files["summary.json"].replace(b"1", b"2", 1)},
        "missing": {name: data for name, data in files.items() if name != "series.parquet"},
        "more": {**files, "../../../evil": b""},
    }
    for name, parts in wrong.items():
        whole = {part: [data] for part, data in parts.items()}
        with (
            folders.scratch(tmp_path / "two/runs") as scratch,
            pytest.raises(DamagedResults),
        ):
            parcel.take(whole, run.run_id, version, target, scratch)
        assert _stored(tmp_path / "two") == 0, name
    with (
        folders.scratch(tmp_path / "two/runs") as scratch,
        pytest.raises(DamagedResults, match=r"expected 9\.9"),
    ):
        parcel.take({n: [d] for n, d in files.items()}, run.run_id, "9.9", target, scratch)
    with folders.scratch(tmp_path / "two/runs") as scratch:
        parcel.take({n: [d] for n, d in files.items()}, run.run_id, version, target, scratch)
    del target
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_neither_dask_nor_optuna_is_loaded_before_it_is_needed() -> None:
    code = "import sys, tailback; print([m for m in ('dask', 'distributed', 'optuna', 'altair', "
    code += "'polars') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout == "[]\n"
