"""Compares the queues `step` and `pi2` of the kernel engine, which are tailback's modules, with
those of the simulator."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from bottlenecks import DCTCP, RENO, SLOW
from conftest import contents

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = f'duration = "22s"{SLOW}'

STREAM = """
[[traffic]]
name = "stream"
kind = "cbr"
rate = "11Mbit"
"""


def both(
    tmp_path: Path, text: str, queue: dict[str, object], **changes: object
) -> list[dict[str, Any]]:
    """Return the summaries of the simulator and of the kernel engine."""
    chosen = {"bottleneck.queue": queue, **changes}
    out = []
    for engine in ("sim", "kernel"):
        [run] = tb.run(text, set=chosen, engine=engine, out=tmp_path / engine)
        # The kernel printed no warnings.
        assert run.manifest.get("environment", {}).get("warnings", []) == []
        out.append(run.summary)
    return out


def alike(sim: dict[str, Any], kernel: dict[str, Any], rel: float) -> None:
    """Check that the queue's means are close in both summaries, and that the causes of drops are
    the same in both."""
    for quantity in ("utilisation", "occupancy_bytes_mean"):
        assert kernel["queue"][quantity] == pytest.approx(sim["queue"][quantity], rel=rel)
    assert set(kernel["queue"]["causes"]) == {
        # Captures show that a packet is marked, but not which rule marked it.
        "mark" if cause == "step_mark" else cause
        for cause in sim["queue"]["causes"]
    }


# --- step -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "queue",
    [
        {"threshold": "5ms"},
        {"threshold": "8p"},
        {"threshold": "12kb", "include_arriving": True},
        {"threshold": "12kb", "at": "dequeue"},
    ],
    ids=["time", "packets", "bytes", "what stays behind"],
)
def test_dctcp_keeps_a_queue_at_the_threshold(tmp_path: Path, queue: dict[str, object]) -> None:
    sim, kernel = both(tmp_path, SCENARIO + DCTCP, {"aqm": "step", **queue})
    alike(sim, kernel, 0.05)
    [flow] = kernel["flows"]
    assert flow["drops"] == 0
    assert flow["marks"] == pytest.approx(sim["flows"][0]["marks"], rel=0.1)


@pytest.mark.parametrize(
    ("queue", "cause"),
    [
        ({"threshold": "8p", "not_ect": "drop"}, "aqm"),
        ({"threshold": "8p", "at": "dequeue", "not_ect": "drop"}, "aqm"),
        ({"threshold": "5ms", "not_ect": "drop"}, "aqm"),
        ({"threshold": "8p", "limit": "20p"}, "overflow"),
    ],
    ids=["on arrival", "as it leaves", "late", "full"],
)
def test_packets_without_ecn_are_dropped_or_pass(
    tmp_path: Path, queue: dict[str, object], cause: str
) -> None:
    sim, kernel = both(tmp_path, SCENARIO + STREAM, {"aqm": "step", **queue})
    # The queue drops a tenth of the stream's packets. Captures do not show the cause of the last
    # drops before the end.
    of_sim, of_kernel = (found["queue"]["causes"][cause] for found in (sim, kernel))
    assert of_kernel == pytest.approx(of_sim, rel=0.02)
    assert sim["queue"]["drops"] == of_sim > 1000
    assert kernel["queue"]["drops"] == pytest.approx(of_kernel, abs=5)
    occupancy = "occupancy_bytes_mean"
    assert kernel["queue"][occupancy] == pytest.approx(sim["queue"][occupancy], rel=0.1)


# --- pi2 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "queue"),
    [
        (SCENARIO + RENO, {}),
        (SCENARIO + RENO, {"ecn": True}),
        (SCENARIO + DCTCP, {"scalable": "any"}),
        (SCENARIO + RENO + DCTCP, {"scalable": "any", "target": "10ms", "coupling_factor": 3}),
    ],
    ids=["drops", "marks", "scalable", "coupled"],
)
def test_pi2_holds_its_target_as_in_the_simulator(
    tmp_path: Path, text: str, queue: dict[str, object]
) -> None:
    changes = {"flows[0].ecn": True} if "ecn" in queue else {}
    sim, kernel = both(
        tmp_path, text, {"aqm": "pi2", **queue}, duration="62s", warmup="12s", **changes
    )
    alike(sim, kernel, 0.15)
    for a, b in zip(sim["flows"], kernel["flows"], strict=True):
        assert b["throughput_mbit"] == pytest.approx(a["throughput_mbit"], rel=0.2)


def test_above_its_limit_pi2_drops_scalable_packets_too(tmp_path: Path) -> None:
    stream = STREAM.replace("11Mbit", "20Mbit") + 'ecn = "ect1"\n'
    sim, kernel = both(tmp_path, SCENARIO + stream, {"aqm": "pi2", "scalable": "any"})
    assert kernel["queue"]["utilisation"] == pytest.approx(1, abs=0.01)
    # The stream sends at twice the link's rate, so p squared settles at 0.5. The queue drops half
    # of the packets and marks all other packets.
    for count in ("drops", "marks"):
        of_sim, of_kernel = (found["queue"][count] for found in (sim, kernel))
        assert of_sim > 10_000
        assert of_kernel == pytest.approx(of_sim, rel=0.02)


def test_the_probability_of_pi2_is_recorded(tmp_path: Path) -> None:
    # With eight seeds, the means of runs have a standard deviation of 13 %.
    seen = {}
    for engine in ("sim", "kernel"):
        means = []
        for run in tb.run(
            SCENARIO + RENO,
            set={"bottleneck.queue": {"aqm": "pi2"}, "duration": "62s", "warmup": "12s"},
            seeds=4,
            engine=engine,
            out=tmp_path / engine,
        ):
            series = run.series()
            values = series.filter(series["quantity"] == "pi2_probability")["value"].to_list()
            assert len(values) > 100
            means.append(math.fsum(values) / len(values))
        seen[engine] = math.fsum(means) / len(means)
    assert seen["sim"] > 0
    assert seen["kernel"] == pytest.approx(seen["sim"], rel=0.25)


# --- both -----------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["step", "pi2"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, queue: str) -> None:
    for name in ("a", "b"):
        tb.run(
            SCENARIO + RENO + DCTCP,
            set={"bottleneck.queue": {"aqm": queue}},
            seeds=2,
            out=tmp_path / name,
            engine="kernel",
        )
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first
    assert first == second
