"""Tests that damaged or forged results are detected, reported, and never used."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tailback as package
from conftest import ROOT, Tailback, contents
from faults import damage
from tailback import _native
from tailback.errors import DamagedResults, InputError
from tailback.store import layout
from tailback.store.run_folder import StoredRun

EVERY = 11
"""This test runs each command on every 11th kind of damage. tests/faults/damage.py tries all
kinds."""

TRIES = [
    f"{kind} | {command.name}"
    for shift, command in enumerate(damage.COMMANDS)
    for kind in list(damage.kinds())[shift % EVERY :: EVERY]
]


@pytest.fixture(scope="module")
def survey() -> dict[str, list[str]]:
    """Return the errors of each command for each tried kind of damage to results."""
    script = ROOT / "tests" / "faults" / "damage.py"
    done = subprocess.run(
        [sys.executable, script, "--json", "--every", str(EVERY)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("what", TRIES)
def test_no_damage_is_used_or_ends_in_a_traceback(what: str, survey: dict[str, list[str]]) -> None:
    assert survey[what] == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a results folder with two runs."""
    from faults.harness import SCENARIO

    out = tmp_path_factory.mktemp("whole") / "results"
    package.run(SCENARIO, out=out)
    return out


@pytest.fixture
def results(whole: Path, tmp_path: Path) -> Path:
    """Copy the results folder, so that a test can damage it."""
    return Path(shutil.copytree(whole, tmp_path / "results"))


def a_run(results: Path) -> Path:
    """Return the folder of one of the runs."""
    return min(path for path in (results / "runs").iterdir())


@pytest.mark.parametrize(
    ("file", "flips"),
    [
        ("series.parquet", 400),
        ("histograms.parquet", 400),
        ("summary.json", 2000),
        ("manifest.json", 400),
        ("timing.json", 200),
        ("packets.pcapng", 200),
    ],
)
def test_no_flipped_bit_is_read(file: str, flips: int, results: Path) -> None:
    path = a_run(results) / file
    whole = path.read_bytes()
    draw = random.Random(file)

    def read() -> None:
        run = StoredRun(path.parent)
        _ = run.summary, run.timing, run.packets()
        run.series()
        run.histograms()

    for bit in draw.sample(range(len(whole) * 8), flips):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(data)
        with pytest.raises(InputError, match=file.replace(".", r"\.")):
            read()
        with pytest.raises(DamagedResults):
            _native.check_run(path.parent)
    path.write_bytes(whole)
    read()


def test_times_of_another_run_are_not_read(results: Path, tailback: Tailback) -> None:
    one, other = sorted((results / "runs").iterdir())
    whole = (one / "timing.json").read_bytes()
    assert json.loads(whole)["run_id"] == one.name
    (one / "timing.json").write_bytes((other / "timing.json").read_bytes())
    with pytest.raises(DamagedResults, match=r"timing\.json: that of another run"):
        _ = StoredRun(one).timing
    done = tailback("verify", results)
    assert (done.returncode, f"{one}/timing.json: that of another run" in done.stderr) == (1, True)
    # Earlier versions of tailback did not write the run id to `timing.json`.
    old = json.loads(whole)
    del old["sha256"], old["run_id"]
    (one / "timing.json").write_bytes(_native.seal(json.dumps(old, indent=1)))
    assert tailback("verify", results).returncode == 0


def test_an_id_is_no_path(results: Path, tmp_path: Path, tailback: Tailback) -> None:
    documents = tmp_path / "victim" / "Documents"
    documents.mkdir(parents=True)
    (documents / "thesis.tex").write_text("years")
    [index] = results.glob("sweeps/*/index.json")
    for forged in ("../../victim/Documents", str(documents), "..", "0" * 20, "A" * 20):
        data = json.loads(index.read_bytes())
        data.pop("sha256")
        index.write_bytes(_native.seal(json.dumps({**data, "id": forged})))
        for args in (["report", results], ["report", index.parent]):
            done = tailback(*args)
            assert done.returncode == 2
            assert "index.json" in done.stderr
        assert (documents / "thesis.tex").read_text() == "years"
        assert not (results / "reports").exists()


def test_a_report_replaces_reports_only(results: Path, tailback: Tailback) -> None:
    [index] = results.glob("sweeps/*/index.json")
    folder = results / "reports" / index.parent.name
    folder.mkdir(parents=True)
    # The report may replace this folder, because the folder is empty and no file is lost.
    assert tailback("report", results).returncode == 0
    assert tailback("report", results).returncode == 0
    # The folder has a file that does not belong to the report.
    (folder / "notes.txt").write_text("mine")
    done = tailback("report", results)
    assert done.returncode == 2
    assert "notes.txt" in done.stderr
    assert (folder / "notes.txt").read_text() == "mine"
    (folder / "notes.txt").unlink()
    # A report with damaged files still counts as a report.
    (folder / "index.html").write_text("half")
    (folder / "report.md").unlink()
    assert tailback("verify", results).returncode == 1
    assert tailback("report", results).returncode == 0
    assert tailback("verify", results).returncode == 0
    # `report` must not replace a link, or a folder without the report's marker file.
    other = folder.with_name("f" * 20)
    folder.rename(other)
    other.rename(folder)
    (folder / ".tailback-report.json").rename(other)
    for place in ("folder", "link"):
        done = tailback("report", results)
        assert done.returncode == 2, place
        assert folder.name in done.stderr
        assert (folder / "index.html").exists()
        if place == "folder":
            folder.rename(results / "kept")
            folder.symlink_to(results / "kept")
    shutil.rmtree(results / "reports")
    (results / "reports").symlink_to(results / "kept")
    done = tailback("report", results)
    assert done.returncode == 2
    assert "link" in done.stderr


def test_a_link_is_not_followed(results: Path, tmp_path: Path, tailback: Tailback) -> None:
    elsewhere = tmp_path / "elsewhere"
    (results / "sweeps").rename(elsewhere)
    (results / "sweeps").symlink_to(elsewhere)
    assert tailback("report", results).returncode == 2
    assert tailback("verify", results).returncode == 1
    (results / "sweeps").unlink()
    elsewhere.rename(results / "sweeps")
    (results / "runs").rename(elsewhere)
    (results / "runs").symlink_to(elsewhere)
    before = contents(tmp_path)
    (tmp_path / "s.toml").write_text(scenario_text())
    done = tailback("run", "s.toml", "--out", results)
    assert done.returncode == 1
    assert "runs" in done.stderr
    assert contents(tmp_path) == before


def scenario_text() -> str:
    """Return the scenario of the results."""
    from faults.harness import SCENARIO

    return SCENARIO


def test_results_of_another_format_are_said_and_run_again(
    results: Path, tmp_path: Path, tailback: Tailback
) -> None:
    before = contents(results)
    path = a_run(results) / "manifest.json"
    old = json.loads(path.read_bytes())
    del old["sha256"], old["files"]
    path.write_text(json.dumps({**old, "format": 1}))
    (tmp_path / "s.toml").write_text(scenario_text())
    done = tailback("run", "s.toml", "--out", results)
    assert done.returncode == 0
    assert "another version" in done.stderr
    assert (results / "runs" / ".damaged" / path.parent.name / "manifest.json").is_file()
    after = {k: v for k, v in contents(results).items() if ".damaged" not in k}
    assert after == before


def test_verify_says_what_it_found(results: Path, tailback: Tailback) -> None:
    done = tailback("verify", results, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"] == {"whole": 2, "damaged": 0}
    path = a_run(results)
    (path / "series.parquet").write_bytes(b"")
    done = tailback("verify", results, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["runs"] == {"whole": 1, "damaged": 1}
    assert [path.name in told["damages"][0], "series.parquet" in told["damages"][0]] == [True] * 2
    assert "series.parquet" in tailback("verify", results).stderr
    shutil.rmtree(path)
    done = tailback("verify", results, "--json")
    assert done.returncode == 0, "a sweep that is not finished is not damaged"
    assert json.loads(done.stdout)["sweeps"]["incomplete"] == 1
    assert tailback("verify", "nowhere").returncode == 2
    assert tailback("verify", results / "sweeps").returncode == 2


def test_stored_results_are_shown_without_writing(
    results: Path, tmp_path: Path, tailback: Tailback
) -> None:
    (tmp_path / "s.toml").write_text(scenario_text())
    plain = tailback("run", "s.toml", "--out", results)
    times = {p: p.lstat().st_mtime_ns for p in [results, *results.rglob("*")]}
    shown = tailback("run", "s.toml", "--out", results, "--read-only")
    assert (shown.returncode, shown.stdout) == (0, plain.stdout)
    variants = ["--variant", "a", "--variant", "b:seed=1", "--seeds", "2"]
    done = tailback("compare", "s.toml", *variants, "--out", results, "--read-only")
    assert done.returncode == 0, done.stderr
    assert {p: p.lstat().st_mtime_ns for p in [results, *results.rglob("*")]} == times
    # `--read-only` does not simulate runs that are not stored.
    done = tailback("run", "s.toml", "--out", results, "--read-only", "--set", "path.rtt=9ms")
    assert done.returncode == 2
    assert "2 of 2 runs" in done.stderr
    (a_run(results) / "summary.json").write_text("{}")
    done = tailback("run", "s.toml", "--out", results, "--read-only")
    assert done.returncode == 2
    assert "summary.json" in done.stderr


def test_a_folder_that_cannot_be_written_is_shown(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReadOnly:
        def __init__(self, root: Path) -> None:
            raise PermissionError(f"{root}: Read-only file system")

    monkeypatch.setattr(_native, "Store", ReadOnly)
    made = package.run(scenario_text(), out=results)
    assert len(made) == 2
    assert made.to_dict()["points"]
    with pytest.raises(PermissionError):
        package.run(scenario_text(), out=results, set={"path.rtt": "9ms"})


def test_everything_wrong_is_said_at_once(results: Path) -> None:
    for path in (results / "runs").iterdir():
        (path / "summary.json").unlink()
    opened = package.open_results(results)
    with pytest.raises(DamagedResults) as raised:
        opened.require_whole()
    assert str(raised.value).count("summary.json: is missing") == 2


def test_an_export_takes_its_place_at_once(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")

    def fails() -> None:
        with layout.replacing(target) as part:
            part.write_text("half of i")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fails()
    assert target.read_text() == "before"
    with layout.replacing(target) as part:
        part.write_text("all of it")
    assert target.read_text() == "all of it"
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with layout.replacing(link) as part:
        part.write_text("through a link")
    assert link.is_symlink()
    assert target.read_text() == "through a link"
    with layout.replacing(Path("/dev/null")) as part:
        assert part == Path("/dev/null"), "a device is written to, not replaced"
    assert not list(tmp_path.glob(".tailback-*"))
