"""Tests that points of a sweep differ by value and unit, and that every command identifies a point
in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback as tb
from conftest import Tailback
from tailback.comparison import baseline
from tailback.store import layout
from tailback.store.points import key_of

SWEEP = """duration = "2s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fifo", limit = "100p" }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
[sweep]
"bottleneck.queue.limit" = ["20000p", "20000b"]
"""
LIMIT = "bottleneck.queue.limit"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ((20000.0, "20000p"), (20000.0, "20000b"), False),
        ((5e6, "5ms"), (5e6, "5000000b"), False),
        ((5e6, "5ms"), (5e6, "5000000p"), False),
        ((2e7, "20ms"), (2e7, "0.02s"), True),
        ((20480.0, "20kb"), (20480.0, "20480"), True),
        ((1000.0, "1000p"), (1000.0, "1000 packets"), True),
        # In a sweep over several units, parameters are stored as strings.
        ((1000.0, "1000p"), ("1000p", "1000p"), True),
        ((1e7, "10Mbit"), (1e7, "10000kbit"), True),
    ],
)
def test_a_number_is_keyed_with_its_unit(
    one: tuple[float | str, str], other: tuple[float | str, str], equal: bool
) -> None:
    keys = [key_of({"a": value}, {"a": label}) for value, label in (one, other)]
    assert (keys[0] == keys[1]) is equal


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tb.Results:
    return tb.run(SWEEP, out=tmp_path_factory.mktemp("out"), progress=False)


def test_packets_and_bytes_are_two_points_everywhere(ran: tb.Results, tmp_path: Path) -> None:
    assert [len(group) for group in ran.groups()] == [1, 1]
    assert [run.params for run in ran] == [{LIMIT: "20000p"}, {LIMIT: "20000b"}]
    rates = ran.frame()
    by_point = dict(rates.group_by(LIMIT).len().iter_rows())
    assert by_point == {"20000p": 1, "20000b": 1}
    target = tmp_path / "a.tailback.json"
    from tailback.comparison.quantities import select

    baseline.write(ran, select(["throughput_mbit"]), target)
    kept = baseline.read(target)
    assert len(kept.kept or {}) == 2
    stored = json.loads(target.read_text())["points"]
    assert [point["labels"][LIMIT] for point in stored] == ["20000p", "20000b"]


def test_a_comparison_judges_both(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    done = tailback(
        *("compare", file, "--variant", "a", "--variant", "b: flows.cubic.cc=reno"),
        *("--metric", "throughput_mbit", "--seeds", "2", "--json"),
        *("--fail-if", "throughput_mbit:-90%"),
    )
    found = json.loads(done.stdout)
    cells = [cell for cell in found["cells"] if cell["kind"] == "flow"]
    assert [cell["params"][LIMIT] for cell in cells] == ["20000p", "20000b"]
    assert {value["n"] for cell in cells for value in cell["values"].values()} == {2}
    verdicts = found["gate"]["verdicts"]
    assert [verdict["params"][LIMIT] for verdict in verdicts] == ["20000p", "20000b"]


def test_a_table_has_a_row_for_each(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    done = tailback("run", file)
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["20000p", "20000b"]
    assert "seeds" not in done.stdout


def test_sweeps_stored_with_bare_numbers_are_read_as_two_points(ran: tb.Results) -> None:
    """Earlier versions stored values without a unit, so 20000p and 20000b were equal."""
    path = layout.index_path(ran.root, ran.id)
    index = layout.read_index(path)
    old = [
        layout.PointRef({LIMIT: 20000.0}, point.labels, point.seed, point.run_id)
        for point in (*index.points, index.points[0])
    ]
    results = tb.Results.of(layout.Index(**{**vars(index), "points": old}), ran.root)
    assert [[run.labels[LIMIT] for run in group] for group in results.groups()] == [
        ["20000p"],
        ["20000b"],
    ]


def test_a_baseline_with_a_point_twice_is_refused(ran: tb.Results, tmp_path: Path) -> None:
    from tailback.comparison.quantities import select

    target = tmp_path / "a.tailback.json"
    baseline.write(ran, select(["throughput_mbit"]), target)
    found = json.loads(target.read_text())
    found["points"].append(found["points"][0])
    target.write_text(json.dumps(found))
    with pytest.raises(tb.InputError, match=r"points\[2\] has the parameters of points\[0\]"):
        baseline.read(target)
