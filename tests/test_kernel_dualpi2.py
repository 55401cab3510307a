"""Tests the 2019 version of DualPI2 on the kernel engine. The tests compare the module
`sch_dualpi2_2019` with the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import Tailback, contents

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = """\
duration = "24s"
warmup   = "4s"
start_jitter = "0s"

[bottleneck]
rate  = "20Mbit"
queue = { aqm = "dualpi2", any_ect = true }

[path]
rtt      = "20ms"
offloads = false

[record]
statistics = "1s"
"""

FLOWS = """
[[flows]]
name  = "L"
class = "L"
cc    = "dctcp"

[[flows]]
name  = "C"
class = "C"
cc    = "cubic"
ecn   = false
"""

# Both queues stay full, so the scheduler alone determines the rates.
STREAMS = """
[[traffic]]
name  = "L"
class = "L"
kind  = "cbr"
rate  = "4Mbit"
ecn   = "ect1"

[[traffic]]
name  = "C"
class = "C"
kind  = "cbr"
rate  = "4Mbit"
"""


def both(out: Path, text: str, queue: dict[str, Any], **sets: object) -> list[dict[str, Any]]:
    """Return the summaries of the simulator and of the kernel, in this order."""
    options = {f"bottleneck.queue.{name}": value for name, value in queue.items()}
    summaries = []
    for engine in ("sim", "kernel"):
        [run] = tb.run(text, set={**options, **sets}, engine=engine, out=out / engine)
        assert run.manifest.get("environment", {}).get("warnings", []) == []
        summaries.append(run.summary)
    return summaries


def of_class(summary: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a traffic class of a run's summary."""
    [entry] = (entry for entry in summary["classes"] if entry["name"] == name)
    return dict(entry)


@pytest.mark.parametrize(
    ("queue", "share"),
    [
        # `wrr_ratio` is the number of packets of L that are sent for each packet of C.
        ({"version": "dualpi2-2019-wrr-counter", "wrr_ratio": 3}, 1 / 4),
        ({"version": "dualpi2-2019-wrr-counter", "wrr_ratio": 7}, 1 / 8),
        # The ratio is 100 / percentage - 1.
        ({"version": "dualpi2-2019-wrr-percent", "classic_protection": 25}, 1 / 4),
        ({"version": "dualpi2-2019-wrr-percent", "classic_protection": 15}, 1 / 6),
        ({"version": "dualpi2-2019-refactored", "classic_protection": 30}, 0.3),
        # The time shift of L exceeds every delay in C, so L always has precedence.
        ({"version": "dualpi2-2019-02-21", "tshift": "100s"}, 0),
    ],
    ids=lambda value: value.get("version") if isinstance(value, dict) else "",
)
def test_a_scheduler_shares_a_full_link(
    tmp_path: Path, queue: dict[str, Any], share: float
) -> None:
    # Neither p nor a full buffer causes drops, so both queues grow for the whole run.
    full = {"target": "100s", "l_drop": 0, **queue}
    sim, kernel = both(
        tmp_path, SCENARIO + STREAMS, full, **{"bottleneck.rate": "4Mbit", "duration": "14s"}
    )
    for summary in (sim, kernel):
        parts = [of_class(summary, name)["samples"]["utilisation"]["mean"] for name in ("C", "L")]
        assert parts[0] / sum(parts) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(
    "queue",
    [
        {"version": "dualpi2-2019-02-21"},
        {"version": "dualpi2-2019-wrr-counter", "wrr_ratio": 10, "l_drop": 100},
        {"version": "dualpi2-2019-wrr-percent", "classic_protection": 15},
        {"version": "dualpi2-2019-refactored"},
        {"version": "dualpi2-2019-refactored", "arithmetic": "div64", "reset_interval": "1s"},
        {"arithmetic": "div127", "drop": "enqueue", "step_thresh": "5p"},
    ],
    ids=lambda queue: "-".join(map(str, queue.values())),
)
def test_flows_share_as_in_the_simulator(tmp_path: Path, queue: dict[str, Any]) -> None:
    means = []
    for engine in ("sim", "kernel"):
        options = {f"bottleneck.queue.{name}": value for name, value in queue.items()}
        runs = tb.run(SCENARIO + FLOWS, set=options, seeds=3, engine=engine, out=tmp_path / engine)
        values = [
            [of_class(run.summary, name)["samples"]["rate_mbit"]["mean"] for name in ("L", "C")]
            + [of_class(run.summary, name)["delay_ms"]["mean"] for name in ("L", "C")]
            for run in runs
        ]
        means.append([sum(column) / len(column) for column in zip(*values, strict=True)])
        # Packets are marked only in L, and dropped only in C. Captures do not distinguish marks by
        # the step from marks by p.
        for run in runs:
            assert set(run.summary["queue"]["causes"]) - {"step_mark"} == {"aqm", "mark"}
            assert of_class(run.summary, "L")["samples"]["drop_share"]["mean"] == 0
            assert of_class(run.summary, "C")["samples"]["mark_share"]["mean"] == 0
    assert means[1] == pytest.approx(means[0], rel=0.15)


@pytest.mark.parametrize(
    ("l_drop", "delay"),
    [
        # The buffer is full, with 300 packets at 8 Mbit/s.
        (0, 454),
        # The probability p also causes drops in L, so the delay of L is at the target.
        (50, 20),
    ],
)
def test_overload_of_l_overflows_or_is_dropped(tmp_path: Path, l_drop: int, delay: float) -> None:
    queue = {"version": "dualpi2-2019-wrr-counter", "l_drop": l_drop, "limit": "300p"}
    text = SCENARIO + STREAMS.partition("\n\n")[0].replace('"4Mbit"', '"10Mbit"')
    for summary in both(tmp_path, text, queue, **{"bottleneck.rate": "8Mbit"}):
        entry = of_class(summary, "L")
        assert entry["samples"]["drop_share"]["mean"] == pytest.approx(0.2, abs=0.005)
        assert entry["delay_ms"]["mean"] == pytest.approx(delay, rel=0.05)
        # Without `l_drop`, L loses packets only if the buffer is full. With `l_drop`, the buffer
        # never fills.
        assert set(summary["queue"]["causes"]) & {"overflow"} == (
            {"overflow"} if not l_drop else set()
        )


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    change = {"bottleneck.queue.version": "dualpi2-2019-wrr-percent", "duration": "8s"}
    for name in ("a", "b"):
        tb.run(SCENARIO + FLOWS, set=change, seeds=2, out=tmp_path / name, engine="kernel")
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first
    assert first == second


@pytest.mark.parametrize("ecn", ["ect1", "not-ect"])
def test_a_captureless_run_counts_marks_and_drops(tmp_path: Path, ecn: str) -> None:
    # Captures may change the time at which the guest reads a packet. TCP would respond to this
    # change, but a stream does not.
    stream = f'[[traffic]]\nkind = "cbr"\nrate = "21Mbit"\necn = "{ecn}"\n'
    text = SCENARIO.replace('statistics = "1s"', "") + stream
    change = {"bottleneck.queue.version": "dualpi2-2019-wrr-counter", "warmup": "0s"}
    counts = []
    for captures in (True, False):
        sets = {**change, "record.captures": captures}
        [run] = tb.run(text, set=sets, engine="kernel", out=tmp_path / str(captures))
        counts.append([run.summary["queue"][name] for name in ("marks", "drops")])
    assert counts[0][ecn == "not-ect"] > 50
    # One of the counters does not include packets that leave at the end of the run.
    assert counts[0] == pytest.approx(counts[1], abs=3)


def test_offloads_are_split(tmp_path: Path) -> None:
    change = {"bottleneck.queue.version": "dualpi2-2019-wrr-counter", "path.offloads": True}
    [run] = tb.run(SCENARIO + FLOWS, set=change, engine="kernel", out=tmp_path)
    # The queue splits the large packets that offloads produce.
    flows = {flow["name"]: flow for flow in run.summary["flows"]}
    assert sum(flow["throughput_mbit"] for flow in flows.values()) == pytest.approx(19.1, abs=0.4)
    # An unsplit packet of 64 kB would delay packets of L by 26 ms.
    assert flows["L"]["rtt_ms"]["p50"] < 24


def test_linux_has_its_own_where_nothing_older_is_asked_for(
    tailback: Tailback, tmp_path: Path
) -> None:
    file = tmp_path / "dualpi2.toml"
    file.write_text(SCENARIO + FLOWS, encoding="utf-8")
    shown = tailback("kernel", "show", file)
    assert shown.returncode == 0
    assert "insmod /modules/sch_dualpi2.ko" in shown.stdout
    older = tailback("kernel", "show", file, "--set", "bottleneck.queue.version=dualpi2-2019-02-21")
    assert older.returncode == 0
    assert "agent qdisc add dev out parent 1:1 handle 10: dualpi2_2019 version" in older.stdout


def test_what_the_guest_cannot_do_has_its_place(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "dualpi2.toml"
    file.write_text(SCENARIO + FLOWS, encoding="utf-8")
    change = "bottleneck.queue.reset_statistics=true"
    done = tailback("run", file, "--engine", "kernel", "--set", change)
    assert done.returncode == 2
    assert "the guest reads the counters of a queue as totals" in done.stderr
