"""Tests splitting a batch of runs into shards, and merging their results."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailback
from conftest import SWEEP, Tailback, contents
from tailback.errors import InputError
from tailback.running.spread.shard import Done, PartDone, Shard, deal, using
from tailback.store import layout


@given(
    st.dictionaries(st.text("0123456789abcdef", min_size=4, max_size=8), st.floats(0.1, 1e6)),
    st.integers(1, 12),
)
def test_parts_are_the_whole_and_cost_about_the_same(costs: dict[str, float], count: int) -> None:
    parts = deal(costs, count)
    assert sorted(one for part in parts for one in part) == sorted(costs)
    # Every machine computes the same shards, whatever the order of the runs.
    assert deal(dict(reversed(costs.items())), count) == parts
    sums = [math.fsum(costs[one] for one in part) for part in parts]
    assert max(sums) - min(sums) <= max(costs.values(), default=0) + 1e-6


def test_cost_decides_and_not_count() -> None:
    costs = {"long": 100.0, **{f"short{i}": 1.0 for i in range(100)}}
    first, second = deal(costs, 2)
    assert first == ["long"]
    assert len(second) == 100


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("2/8", {}, Shard(2, 8)),
        ("auto", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}, Shard(3, 8)),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "0",
                "SLURM_ARRAY_TASK_COUNT": "8",
                "SLURM_ARRAY_TASK_MIN": "0",
            },
            Shard(1, 8),
        ),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "30",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_ARRAY_TASK_MIN": "10",
                "SLURM_ARRAY_TASK_STEP": "10",
            },
            Shard(3, 4),
        ),
        (
            "auto",
            {"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "5"},
            Shard(1, 5),
        ),
        ("auto/6", {"JOB_COMPLETION_INDEX": "5"}, Shard(6, 6)),
    ],
)
def test_a_part_is_said_or_found(text: str, environment: dict[str, str], expected: Shard) -> None:
    assert Shard.parse(text, environment) == expected


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("0/8", {}, "part 0 of 8"),
        ("9/8", {}, "part 9 of 8"),
        ("3", {}, "expected I/N such as 2/8"),
        ("half", {}, "expected I/N such as 2/8"),
        ("auto", {}, "none of SLURM_ARRAY_TASK_ID"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "expected auto/N"),
        ("auto/4", {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "8"}, "has 8"),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "9",
                "SLURM_ARRAY_TASK_COUNT": "3",
                "SLURM_ARRAY_TASK_MIN": "1",
            },
            "an array with gaps",
        ),
    ],
)
def test_what_is_no_part_is_refused(text: str, environment: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Shard.parse(text, environment)


def _part(index: int, count: int, out: Path) -> Done:
    with using(Shard(index, count)), pytest.raises(PartDone) as ended:
        tailback.run(SWEEP, out=out)
    return ended.value.done


def test_shards_together_are_the_whole(tmp_path: Path) -> None:
    whole = tailback.run(SWEEP, out=tmp_path / "whole")
    parts = [_part(i, 3, tmp_path / f"part{i}") for i in (1, 2, 3)]
    assert sum(part.runs for part in parts) == 12
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert all(part.missing == 12 - part.runs for part in parts)
    assert all(0.25 < part.share < 0.42 for part in parts)
    merged = tailback.merge([tmp_path / f"part{i}" for i in (1, 2, 3)], tmp_path / "merged")
    assert (merged.runs, merged.runs_there, merged.sweeps, merged.damages) == (12, 0, 1, [])
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    # The original command reuses all of the merged runs.
    again = tailback.run(SWEEP, out=tmp_path / "merged")
    assert again.to_dict() == whole.to_dict()


def test_the_last_part_in_a_common_store_ends_it(tmp_path: Path) -> None:
    _part(1, 2, tmp_path)
    with using(Shard(2, 2)):
        results = tailback.run(SWEEP, out=tmp_path)
    assert len(results) == 12


def test_merging_again_changes_nothing(tmp_path: Path) -> None:
    _part(1, 2, tmp_path / "one")
    tailback.merge([tmp_path / "one"], tmp_path / "all")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "all").rglob("*") if p.is_file()}
    merged = tailback.merge([tmp_path / "one"], tmp_path / "all")
    assert merged.runs == 0
    assert merged.runs_there == len(contents(tmp_path / "one")) // 5
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "all").rglob("*") if p.is_file()}
    assert after == before


def test_what_is_damaged_there_makes_room(tmp_path: Path) -> None:
    run = tailback.run(SWEEP.partition("[sweep]")[0], out=tmp_path / "one").points[0]
    shutil.copytree(tmp_path / "one", tmp_path / "all")
    (layout.run_path(tmp_path / "all", run.run_id) / "series.parquet").write_bytes(b"")
    merged = tailback.merge([tmp_path / "one"], tmp_path / "all")
    assert (merged.runs, merged.runs_there, merged.damages) == (1, 0, [])
    assert [p.name for p in (tmp_path / "all/runs/.damaged").iterdir()] == [run.run_id]
    folder = layout.run_path(tmp_path / "all", run.run_id)
    assert (folder / "series.parquet").read_bytes() == (run.path / "series.parquet").read_bytes()


def test_what_is_damaged_is_not_taken(tmp_path: Path) -> None:
    done = _part(1, 2, tmp_path / "one")
    victim = next((tmp_path / "one/runs").glob("*/summary.json"))
    victim.write_text(victim.read_text("utf-8").replace("1", "2", 1), "utf-8")
    merged = tailback.merge([tmp_path / "one"], tmp_path / "all")
    assert merged.runs == done.runs - 1
    assert len(merged.damages) == 1
    assert str(victim) in merged.damages[0]
    assert not layout.run_path(tmp_path / "all", victim.parent.name).exists()


def test_one_id_with_other_bytes_is_refused(tmp_path: Path) -> None:
    scenario = SWEEP.partition("[sweep]")[0]
    first = tailback.run(scenario, out=tmp_path / "one").points[0]
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    folder = tmp_path / "two/runs" / first.run_id
    # Pretend that another build of the engine made the run.
    text = (folder / "summary.json").read_text("utf-8").replace('"jain": 0', '"jain": 1')
    (folder / "summary.json").write_text(text, "utf-8")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest.pop("sha256", None)
    manifest["files"]["summary.json"] = _mark(folder / "summary.json")
    manifest["engine_version"] = "0.0.1+other"
    seal = {key: value for key, value in manifest.items() if key != "seal"}
    (folder / "manifest.json").write_bytes(_seal(seal))
    with pytest.raises(InputError) as refused:
        tailback.merge([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    assert "0.0.1+other" in str(refused.value)
    assert tailback.engine_version() in str(refused.value)
    assert "summary.json" in str(refused.value)
    assert not (tmp_path / "all").exists()


def _mark(path: Path) -> dict[str, object]:
    import hashlib

    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _seal(manifest: dict[str, object]) -> bytes:
    from tailback import _native

    return _native.seal(json.dumps(manifest, indent=2))


def test_on_the_command_line(tailback: Tailback, sweep: Path) -> None:
    first = tailback("run", sweep, "--shard", "1/2", "--out", "a")
    assert first.returncode == 0
    assert first.stdout.startswith("shard 1/2: 6 of 12 runs, ")
    assert "tailback merge STORE... --into STORE" in first.stdout
    second = tailback("run", sweep, "--shard", "2/2", "--out", "b", "--json")
    assert json.loads(second.stdout)["missing"] == 6
    merged = tailback("merge", "a", "b", "--into", "all")
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout.startswith("all: added 12 runs and 1 sweep; 0 runs and 1 sweep")
    whole = tailback("run", sweep, "--out", "all", "--json")
    assert len(json.loads(whole.stdout)["points"]) == 12
    wrong = tailback("run", sweep, "--shard", "3/2")
    assert wrong.returncode == 2
    nothing = tailback("merge", "nowhere", "--into", "all")
    assert nothing.returncode == 2
    assert "nowhere: no results" in nothing.stderr


def test_a_part_of_a_comparison(tailback: Tailback, scenario: Path) -> None:
    asked = ["compare", scenario, "--variant", "base", "--variant", "slow:path.rtt=40ms"]
    asked += ["--seeds", "3"]
    done = tailback(*asked, "--shard", "1/2", "--out", "a")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("shard 1/2: 3 of 6 runs")
    assert not (scenario.parent / "a/comparisons").exists()
    done = tailback(*asked, "--shard", "2/2", "--out", "a", "--no-report", "--json")
    assert len(json.loads(done.stdout)["variants"]) == 2
