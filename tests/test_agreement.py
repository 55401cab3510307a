"""Checks that tailback detects a changed index of a sweep. The hash in a changed index may match
its changed contents. tailback must then detect that the index disagrees with the runs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as package
from conftest import Tailback
from tailback import _native
from tailback.errors import DamagedResults
from tailback.store import agreement, layout

SCENARIO = """\
duration = "200ms"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fifo", limit = "50p" }
[path]
rtt = "20ms"
[[flows]]
cc = { name = "cubic", beta = 0.7 }
"""

GRID = {
    "path.rtt": ["10ms", "20ms", "0.03s"],
    "bottleneck.queue.limit": ["20p", "40p"],
    "flows[0].cc": ["reno", "cubic"],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "results"
    package.sweep(SCENARIO, GRID, seeds=2, out=out)
    return out


@pytest.fixture
def results(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "results"))


def reseal(results: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    [index] = results.glob("sweeps/*/index.json")
    data = json.loads(index.read_bytes())
    data.pop("sha256")
    change(data["points"])
    index.write_bytes(_native.seal(json.dumps(data, indent=1)))
    return index


def swap(key: str, one: Any, other: Any) -> Callable[[list[dict[str, Any]]], None]:
    """Swap two values of a key in all sweep points."""

    def change(points: list[dict[str, Any]]) -> None:
        labels = {p["params"][key]: p["labels"][key] for p in points}
        for point in points:
            value = point["params"][key]
            value = {one: other, other: one}.get(value, value)
            point["params"][key], point["labels"][key] = value, labels[value]

    return change


def set_one(key: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    """Set one value of the first sweep point."""

    def change(points: list[dict[str, Any]]) -> None:
        points[0]["params"][key] = value

    return change


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (swap("path.rtt", 10e6, 20e6), "path.rtt = "),
        (swap("bottleneck.queue.limit", 20.0, 40.0), "bottleneck.queue.limit = "),
        (swap("flows[0].cc", "reno", "cubic"), "flows[0].cc = "),
        (set_one("path.rtt", 20e6), "path.rtt = "),
        (set_one("path.rtt", 15e6), "path.rtt = "),
        (lambda points: points[0].update(seed=2), "of another engine or seed"),
    ],
)
def test_values_that_are_not_those_of_the_runs_are_found(
    change: Callable[[list[dict[str, Any]]], None], key: str, results: Path, tailback: Tailback
) -> None:
    index = reseal(results, change)
    with pytest.raises(DamagedResults, match=r"index\.json: ") as caught:
        package.open_results(results)
    assert key in str(caught.value)
    done = tailback("verify", results)
    assert done.returncode == 1
    assert f"{index}: " in done.stderr
    assert key in done.stderr
    assert tailback("results", "show", index.parent.name, "--out", results).returncode == 2


def test_runs_that_change_places_are_found_without_a_look_at_them(results: Path) -> None:
    def exchange(points: list[dict[str, Any]]) -> None:
        first, last = points[0], points[-1]
        first["run_id"], last["run_id"] = last["run_id"], first["run_id"]

    index = reseal(results, exchange)
    with pytest.raises(DamagedResults, match="its points name other runs than the sweep had"):
        layout.read_index(index)


def test_what_was_written_agrees(results: Path, tailback: Tailback) -> None:
    assert len(package.open_results(results)) == 24
    assert tailback("verify", results).returncode == 0
    # Missing or damaged runs are not errors of the index. Commands that need these runs report
    # them.
    first, second, *_ = sorted((results / "runs").iterdir())
    shutil.rmtree(first)
    (second / "manifest.json").write_text("{}")
    [index] = results.glob("sweeps/*/index.json")
    assert agreement.faults(layout.read_index(index), results / "runs") == []


UNUSUAL = [
    # The sweep has values in two units, link rates over time, tables, and multiples such as "1bdp".
    {"bottleneck.queue.limit": ["20p", "40p", "60kb"]},
    {"bottleneck.queue.limit": ["0.5bdp", "1bdp", "2bdp"]},
    {"bottleneck.queue": ["fifo", {"aqm": "codel", "target": "3ms"}, "fq_codel"]},
    {"bottleneck.queue": ["codel", {"aqm": "codel", "target": "3ms"}, "fifo", "dualpi2"]},
    {"bottleneck.queue": [{"aqm": name} for name in ("fifo", "codel", "pie", "fq_codel")]},
    {
        "bottleneck.queue": [
            {"aqm": "codel"},
            {"aqm": "codel", "target": "2ms", "interval": "20ms"},
            {"aqm": "fq_codel"},
            {"aqm": "dualpi2"},
        ]
    },
    {"bottleneck.queue": [{"aqm": "pie", "target": f"{n}ms"} for n in (1, 3, 5, 15)]},
    {"flows[0].cc": ["cubic", {"name": "cubic", "beta": 0.5}, "reno", "bbr"]},
    {"bottleneck.rate": ["5Mbit", "10.5Mbit", {"steps": [["0s", "1Mbit"], ["100ms", "2Mbit"]]}]},
    {"flows[0].cc.beta": [0.5, 0.7, 0.85]},
    {"path.rtt": ["10.0000004ms", "1.5us", "1.00000015s"]},
    {"flows[0].count": [1, 2], "flows[0].start": ["0s", "1ms"]},
    {"tcp.initial_cwnd": [2, 10], "duration": ["100ms", "200ms"]},
    {"start_jitter": ["0s", "5ms"], "flows[0].ecn": [True, False]},
    {"zip": [{"path.rtt": ["10ms", "20ms"], "bottleneck.rate": ["20Mbit", "10Mbit"]}]},
]


@pytest.mark.parametrize("grid", UNUSUAL, ids=str)
def test_no_honest_sweep_is_refused(grid: dict[str, Any], tmp_path: Path) -> None:
    package.run(SCENARIO, set={"sweep": {**grid, "seeds": 2}}, out=tmp_path)
    [index] = tmp_path.glob("sweeps/*/index.json")
    assert agreement.faults(layout.read_index(index), tmp_path / "runs") == []
