"""Tests the commands that list, compare and delete stored results. A part of an id, or `latest`,
selects a result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import COMMAND, ROOT, SCENARIO
from tailback import examples
from tailback.errors import DamagedResults, DamageWarning, InputError
from tailback.store import archive, briefs, layout

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make two sweeps that share a run, and return their folder. The second sweep has the later
    date."""
    root = tmp_path / "results"
    for rtts, when in ((["10ms", "20ms"], 1e9), (["20ms", "40ms"], 2e9)):
        made = tb.sweep(SCENARIO, {"path.rtt": rtts}, seeds=1, out=root, progress=False)
        os.utime(layout.index_path(root, made.id), (when, when))
    return root


def ids(root: Path) -> list[str]:
    return [one.index.id for one in archive.kept(root)]


@pytest.mark.usefixtures("root")
def test_sweeps_are_listed_the_latest_first(command: Command) -> None:
    listed = json.loads(command("results", "list", "--json").stdout)
    assert [row["written"][:4] for row in listed] == ["2033", "2001"]
    for row in listed:
        assert (row["points"], row["runs"], row["stored"]) == (2, 2, 2)
        assert row["bytes"] > 1000
    text = command("results", "list").stdout
    assert text.index(listed[0]["id"]) < text.index(listed[1]["id"])
    assert "2 of 2 runs" in text


def test_a_sweep_is_found_as_the_latest_and_by_the_beginning_of_its_id(root: Path) -> None:
    later, earlier = ids(root)
    assert archive.find("latest", root).name == later
    assert archive.find(earlier[:8], root).name == earlier
    assert archive.find(str(root / "sweeps" / earlier), root).name == earlier
    with pytest.raises(InputError, match="expected one of latest, "):
        archive.find("zz", root)
    with pytest.raises(InputError, match="no sweeps are stored here"):
        archive.find("latest", root / "none")


def test_sweeps_of_one_title_are_known_as_namesakes(root: Path) -> None:
    later, earlier = ids(root)
    # The dates of the sweeps are years apart, so the sweeps are not two variants from the same
    # command.
    assert archive.namesakes(later, root) == []
    for identity in (later, earlier):
        os.utime(root / "sweeps" / identity / "index.json", (2e9, 2e9))
    assert archive.namesakes(later, root) == [earlier]
    other = tb.run(SCENARIO, set={"title": "another"}, out=root, progress=False)
    assert archive.namesakes(other.id, root) == []


def test_report_compare_show_and_export_take_ids(root: Path, command: Command) -> None:
    later, earlier = ids(root)
    shown = json.loads(command("results", "show", "--json").stdout)
    assert [point["params"]["path.rtt"] for point in shown["points"]] == [20e6, 40e6]
    assert command("report", earlier[:8]).stdout.strip().endswith(f"{earlier}/index.html")
    refused = command("compare", "latest", earlier[:8], "--json")
    assert refused.returncode == 2
    assert "has a point that" in refused.stderr, "found, and they have different points"
    assert "the same sweep" in command("compare", "latest", later[:8]).stderr
    several = command("export", "latest", "--format", "csv")
    assert several.returncode == 2
    assert "the latest sweep has 2 runs" in several.stderr
    one, two = (point["run_id"] for point in shown["points"])
    assert f"  use one of {one} (path.rtt = 20ms, seed 1), {two} (path.rtt = 40ms, seed 1)" in (
        several.stderr
    )
    assert command("export", one[:10], "--format", "csv").returncode == 0


def test_two_runs_are_told_apart_by_set_up_and_numbers(root: Path, command: Command) -> None:
    runs = [run.run_id for run in tb.open_results(archive.find("latest", root))]
    found = json.loads(command("results", "diff", *runs, "--json").stdout)
    changed: dict[str, tuple[Any, Any]] = {
        row["path"]: (row["first"], row["second"]) for row in found["set_up"]
    }
    assert changed["canonical.flows.cubic.rtt"] == (20_000_000, 40_000_000)
    assert "engine_version" not in changed
    assert any(row["path"].endswith("throughput_mbit") for row in found["results"])
    same = command("results", "diff", runs[0], runs[0]).stdout
    assert same.splitlines() == ["what was run: the same", "what came out: the same"]


def test_a_run_that_another_sweep_needs_stays(root: Path, command: Command) -> None:
    later, earlier = ids(root)
    planned = json.loads(command("results", "prune", earlier, "--dry-run", "--json").stdout)
    assert (planned["sweeps"], len(planned["runs"]), planned["removed"]) == ([earlier], 1, False)
    assert ids(root) == [later, earlier]
    done = json.loads(command("results", "prune", earlier, "--json").stdout)
    assert done == {**planned, "removed": True}
    assert ids(root) == [later]
    assert len(list((root / "runs").iterdir())) == 2
    assert command("verify").returncode == 0
    assert len(tb.open_results(root)) == 2


def test_what_no_sweep_names_goes_and_age_and_version_choose_sweeps(root: Path) -> None:
    later, earlier = ids(root)
    assert archive.plan(root).runs == []
    # The sweeps are dated 2001 and 2033, so only the first sweep is more than a day old.
    assert [one.index.id for one in archive.plan(root, older_days=1).sweeps] == [earlier]
    version = archive.kept(root)[0].index.engine_version
    assert archive.plan(root, versions={"sim": {version}}).sweeps == []
    assert archive.plan(root, versions={"kernel": {"other"}}).sweeps == []
    assert len(archive.plan(root, versions={"sim": {"other"}}).sweeps) == 2
    (layout.index_path(root, later)).unlink()
    orphans = archive.plan(root)
    assert (orphans.sweeps, len(orphans.runs)) == ([], 1)
    archive.remove(orphans)
    assert len(list((root / "runs").iterdir())) == 2


@pytest.mark.skipif(os.name != "posix", reason="other systems do not report changes of an inode")
def test_an_unchanged_index_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(briefs, "LARGE", 1)
    os.utime(layout.sweeps(root)[0], (1.1e9, 1.1e9))
    before = archive.kept(root)
    kept = root / "sweeps" / briefs.NAME
    assert not kept.exists(), "the indexes are younger than two seconds"
    monkeypatch.setattr(briefs, "SETTLED_NS", 0)
    assert archive.kept(root) == before
    data = kept.read_bytes()
    read: list[Path] = []
    actual = layout.read_index

    def reading(file: Path) -> layout.Index:
        read.append(file)
        return actual(file)

    monkeypatch.setattr(layout, "read_index", reading)
    assert archive.kept(root) == before
    assert not read

    # A changed index is read again, even if its size and mtime are as before.
    newest = layout.sweeps(root)[0]
    times = newest.stat()
    newest.write_bytes(newest.read_bytes())
    os.utime(newest, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert archive.kept(root) == before
    assert read == [newest]

    # A damaged or copied catalogue is not used.
    for at in (0, len(briefs.MAGIC) + 5, len(data) // 2, len(data) - 1):
        kept.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        read.clear()
        assert archive.kept(root) == before
        assert sorted(read) == sorted(layout.sweeps(root))
    copied = root.parent / "copied"
    shutil.copytree(root, copied, copy_function=shutil.copy2)
    read.clear()
    assert [one.index for one in archive.kept(copied)] == [one.index for one in before]
    assert sorted(read) == sorted(layout.sweeps(copied))

    # The catalogue of a folder without sweeps is deleted.
    archive.remove(archive.plan(root, older_days=0))
    assert archive.kept(root) == []
    assert not kept.exists()


def test_pruning_measures_files_that_grew_in_place(root: Path) -> None:
    plan = archive.plan(root, older_days=0)
    run = layout.run_path(root, plan.runs[0])
    with (run / "timing.json").open("ab") as file:
        file.write(b" " * 1000)
    assert archive.plan(root, older_days=0).bytes == plan.bytes + 1000


def test_nothing_is_taken_away_while_an_index_cannot_be_read(root: Path) -> None:
    layout.index_path(root, ids(root)[1]).write_text("{}")
    with (
        pytest.warns(DamageWarning, match="; skipped"),
        pytest.raises(DamagedResults, match="nothing is deleted"),
    ):
        archive.plan(root)


def test_run_says_where_its_results_are_and_what_was_reused(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    first = command("run", "mine.toml", "--seeds", "2").stderr
    sweep = archive.find("latest", tmp_path / "results").name
    assert f"sweep results/sweeps/{sweep}, 2 runs: " in first
    again = command("run", "mine.toml", "--seeds", "3", "--out", "results").stderr
    assert "3 runs, 2 stored already: " in again
    # The sweep has three runs, so `explain` needs the id of one run.
    run = tb.open_results(tmp_path / "results")[0].run_id
    assert f"next: tailback explain {run}, tailback plot, tailback report\n" in again
    elsewhere = command("run", "mine.toml", "--out", "there").stderr
    assert elsewhere.splitlines()[-1] == (
        f"next: tailback explain there/runs/{run}, tailback plot there, tailback report there"
    )


def test_every_example_is_a_scenario(command: Command) -> None:
    listed = command("new", "--list").stdout
    for name in examples.names():
        assert tb.check(examples.text(name)).points
        assert examples.title(name) in listed
    assert command("new", "sweep").stdout == (ROOT / "examples/sweep.toml").read_text()
    assert '\n  write "first"\n' in command("new", "frist").stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tailback reproduce abe", {"abe-2017"}),
        ("tailback run x --engine kernel-", {"kernel-realtime"}),
        ("tailback new fi", {"first"}),
        ("tailback report late", {"latest"}),
    ],
)
def test_a_shell_completes_names(words: str, expected: set[str], root: Path) -> None:
    last = str(len(words.split()) - 1)
    asked = {"COMP_WORDS": words, "COMP_CWORD": last, "_TAILBACK_COMPLETE": "bash_complete"}
    script = "import sys; sys.argv[0] = 'tailback'; from tailback.cli.main import main; main()"
    done = subprocess.run(
        [COMMAND[0], "-c", script],
        cwd=root.parent,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, command: Command) -> None:
    done = command("completion", shell)
    assert done.returncode == 0
    assert "_TAILBACK_COMPLETE" in done.stdout


@pytest.mark.usefixtures("root")
def test_explain_names_its_point_and_takes_another(command: Command) -> None:
    shown = json.loads(command("results", "show", "--json").stdout)
    one, two = (point["run_id"] for point in shown["points"])
    first = command("explain")
    assert first.returncode == 0
    assert f"note: this is run {one} (path.rtt = 20ms, seed 1), one of 2 of the latest" in (
        first.stderr
    )
    other = command("explain", "--where", "rtt=40ms", "--where", "seed=1")
    assert f"this is run {two} (path.rtt = 40ms, seed 1)" in other.stderr
    assert other.stdout == command("explain", two).stdout != first.stdout
    refused = command("explain", "--where", "rtt=30ms")
    assert refused.returncode == 2
    assert 'value "30ms" does not exist' in refused.stderr
    assert 'key "cc" does not exist' in command("explain", "--where", "cc=reno").stderr
    both = command("explain", one, "--where", "rtt=20ms")
    assert both.returncode == 2
    assert both.stderr == (
        "error: --where chooses a run of the latest sweep, and RUN also names a run\n"
        "  remove one of them\n"
    )
