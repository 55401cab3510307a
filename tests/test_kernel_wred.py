"""Compares weighted RED on the kernel engine (the module `sch_wred`) with the simulator's
`wred`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from bottlenecks import DCTCP, RENO, SLOW
from conftest import Tailback, contents

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = (
    f'duration = "10s"{SLOW}'
    + """
[bottleneck.queue]
aqm     = "wred"
limit   = "1000p"
avpkt   = "40b"
ecn     = { min = "15750b", max = "15750b", probability = 1, weight = 1, uniformise = "none" }
classic = { min = "15kb", max = "45kb", probability = 0.1, weight = 0.01 }
"""
)

FLOWS = RENO + DCTCP

STREAM = """
[[traffic]]
name = "stream"
kind = "cbr"
rate = "11Mbit"
"""


def both(tmp_path: Path, text: str, **changes: object) -> list[dict[str, Any]]:
    """Return the summaries of the simulator and of the kernel engine."""
    chosen = {name.replace("__", "."): value for name, value in changes.items()}
    out = []
    for engine in ("sim", "kernel"):
        [run] = tb.run(text, set=chosen, engine=engine, out=tmp_path / engine)
        # The kernel printed no warnings.
        assert run.manifest.get("environment", {}).get("warnings", []) == []
        out.append(run.summary)
    return out


@pytest.mark.parametrize("uniformise", ["linux", "wait", "none"])
def test_a_stream_above_the_rate_loses_what_is_above_it(tmp_path: Path, uniformise: str) -> None:
    # Measure without a warm-up, because a steady stream may later have the same pattern of drops
    # with every seed.
    change = {"bottleneck.queue.classic.uniformise": uniformise, "warmup": "0s"}
    counts = []
    for engine in ("sim", "kernel"):
        runs = tb.run(SCENARIO + STREAM, set=change, seeds=3, engine=engine, out=tmp_path / engine)
        counts.append([run.summary["queue"]["causes"] for run in runs])
        # Each seed draws different gaps between drops.
        assert len({run.summary["queue"]["occupancy_bytes_mean"] for run in runs}) == 3
    for sim, kernel in zip(*counts, strict=True):
        # The stream loses a tenth of its packets in 10 s.
        assert set(sim) == set(kernel) == {"aqm"}
        assert kernel["aqm"] == pytest.approx(sim["aqm"], rel=0.03)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"bottleneck__queue__average": "class"},
        {"bottleneck__queue__idle": "hold"},
        {"bottleneck__queue__classic__gentle": True},
        {"bottleneck__queue__classic__include_arriving": True},
        {"bottleneck__queue__classic": {"min": "10p", "max": "30p", "probability": 0.1}},
    ],
    ids=lambda changes: "-".join(changes) or "defaults",
)
def test_reno_and_dctcp_share_as_in_the_simulator(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    sim, kernel = both(tmp_path, SCENARIO + FLOWS, duration="32s", **changes)
    for quantity in ("utilisation", "occupancy_bytes_mean"):
        assert kernel["queue"][quantity] == pytest.approx(sim["queue"][quantity], rel=0.15)
    assert set(kernel["queue"]["causes"]) == set(sim["queue"]["causes"]) == {"aqm", "mark"}
    # ECN-capable packets are only marked, and all other packets are only dropped.
    reno, dctcp = kernel["flows"]
    assert (dctcp["drops"], reno["marks"]) == (0, 0)
    assert dctcp["marks"] > 100
    assert reno["drops"] > 5


def test_a_full_buffer_is_another_cause(tmp_path: Path) -> None:
    for summary in both(tmp_path, SCENARIO + FLOWS, bottleneck__queue__limit="9p"):
        assert summary["queue"]["causes"]["overflow"] > 0


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        tb.run(SCENARIO + FLOWS, seeds=2, out=tmp_path / name, engine="kernel")
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first
    assert first == second


def test_the_average_and_the_probability_are_recorded(tmp_path: Path) -> None:
    seen = {}
    for engine in ("sim", "kernel"):
        [run] = tb.run(SCENARIO + FLOWS, engine=engine, out=tmp_path / engine)
        series = run.series()
        seen[engine] = {
            quantity: group["value"].mean()
            for (quantity,), group in series.group_by("quantity")
            if str(quantity).startswith(("ecn_", "classic_"))
        }
    shared = set(seen["kernel"])
    assert shared == {
        "ecn_probability",
        "classic_probability",
        "ecn_avg_bytes",
        "classic_avg_bytes",
    }
    assert shared < set(seen["sim"])
    average = "classic_avg_bytes"
    assert seen["kernel"][average] == pytest.approx(seen["sim"][average], rel=0.2)


def test_a_mapping_is_shown(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "wred.toml"
    file.write_text(SCENARIO + FLOWS, encoding="utf-8")
    done = tailback("kernel", "show", file)
    assert done.returncode == 0
    line = "agent qdisc add dev out parent 1:1 handle 10: wred limit 1000p ecn_min 15750b"
    assert line in done.stdout
