"""Tests earlier versions of DCTCP and Reno on the kernel engine. The tests compare tailback's
modules with the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb
from bottlenecks import SLOW
from conftest import contents
from tailback.running.options import RunOptions
from tailback_studies.experiments import get
from tailback_studies.experiments.dctcp_internet_2014 import beside
from tailback_studies.experiments.dctcp_internet_2014 import points as pts

pytestmark = pytest.mark.usefixtures("kernel_kit")

SCENARIO = (
    f'duration = "32s"{SLOW}'
    + """
[bottleneck.queue]
aqm     = "wred"
limit   = "1000p"
ecn     = { min = "24750b", max = "24750b", probability = 1, weight = 1, uniformise = "none" }
classic = { min = "15kb", max = "45kb", probability = 0.1 }

[tcp]
growth = "acks"

[[flows]]
name = "flow"
cc   = { name = "dctcp", version = "paper-2014" }
"""
)


@pytest.mark.parametrize(
    "control",
    [
        'version = "patch-2012"',
        'version = "paper-2014"',
        'version = "paper-2014", update = "window"',
        'version = "paper-2014", reduction = "immediate"',
        'version = "paper-2014", ssthresh = "cwnd", grow_in_cwr = false',
        'version = "paper-2014", normalise = true',
        'version = "linux-3.19"',
        'version = "linux-5.2"',
    ],
)
def test_a_flow_alone_marks_and_uses_as_in_the_simulator(tmp_path: Path, control: str) -> None:
    text = SCENARIO.replace('version = "paper-2014"', control)
    of = {}
    for engine in ("sim", "kernel"):
        [run] = tb.run(text, engine=engine, out=tmp_path / engine)
        assert run.manifest.get("environment", {}).get("warnings", []) == []
        of[engine] = run.summary
    sim, kernel = of["sim"], of["kernel"]
    assert kernel["queue"]["drops"] == sim["queue"]["drops"] == 0
    assert kernel["queue"]["marks"] == pytest.approx(sim["queue"]["marks"], rel=0.25)
    for quantity in ("utilisation", "occupancy_bytes_mean"):
        assert kernel["queue"][quantity] == pytest.approx(sim["queue"][quantity], rel=0.1)


def test_versions_differ_on_linux(tmp_path: Path) -> None:
    marks = {}
    for version in ("patch-2012", "paper-2014", "linux-5.2"):
        text = SCENARIO.replace("paper-2014", version)
        [run] = tb.run(text, engine="kernel", out=tmp_path)
        marks[version] = run.summary["queue"]["marks"]
    assert len(set(marks.values())) == 3


def test_windows_grow_by_acks_or_by_segments(tmp_path: Path) -> None:
    """Windows that grow half as fast get half as many drops.

    With delayed ACKs, a window grows by half a segment per round trip if the sender counts ACKs.
    The window grows by one segment if the sender counts segments. Linux sends more than one ACK for
    two segments, so the engines are compared without delayed ACKs."""
    drops = {}
    for growth in ("acks", "segments"):
        text = SCENARIO.replace('{ name = "dctcp", version = "paper-2014" }', '"reno"')
        text = text.replace('"acks"', f'"{growth}"')
        for delack in (True, False):
            for engine in ("sim", "kernel"):
                change = {"tcp.delack": delack}
                runs = tb.run(text, set=change, seeds=6, engine=engine, out=tmp_path / engine)
                total = sum(run.summary["queue"]["drops"] for run in runs)
                drops[growth, delack, engine] = total
    assert drops["acks", True, "kernel"] < 0.8 * drops["segments", True, "kernel"]
    alike = [("acks", False), ("segments", False), ("segments", True)]
    for growth, delack in alike:
        sim, kernel = (drops[growth, delack, engine] for engine in ("sim", "kernel"))
        assert kernel == pytest.approx(sim, rel=0.15)


def test_alpha_is_recorded(tmp_path: Path) -> None:
    [run] = tb.run(SCENARIO, engine="kernel", out=tmp_path)
    alpha = run.series().filter(quantity="alpha")["value"]
    assert 0 < alpha.mean() < 1  # type: ignore[operator]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        tb.run(SCENARIO, set={"duration": "5s"}, seeds=2, out=tmp_path / name, engine="kernel")
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first
    assert first == second


def test_without_ecn_it_is_reno(tmp_path: Path) -> None:
    text = SCENARIO + "ecn = false\n"
    [run] = tb.run(text, engine="kernel", out=tmp_path, set={"duration": "10s"})
    assert run.summary["queue"]["marks"] == 0
    assert run.summary["queue"]["utilisation"] > 0.8


# --- the experiment ------------------------------------------------------------------------------


def test_what_linux_cannot_run_is_refused_by_itself() -> None:
    batches = pts.plan(["fig10"], [], [], quick=True, engine="kernel")
    name = next(iter(batches))
    batches["wrong"] = pts.DctcpBatch(
        "wrong", batches[name].scenario, {"bottleneck.count_in_service": True}
    )
    refused = beside.refused(batches, "kernel")
    assert list(refused) == ["wrong"]
    assert refused["wrong"]


def test_figure_10_stands_beside_the_simulator(tmp_path: Path) -> None:
    experiment = get("dctcp-internet-2014")
    options = RunOptions(engine="kernel", seeds=1, out=tmp_path, progress=False)
    done = experiment.run(["fig10"], options, quick=True)
    assert done.engine == "kernel"
    page = (done.report_dir / "index.html").read_text(encoding="utf-8")
    assert "Linux beside the simulator" in page
    assert "tcp_dctcp_2014" in page


OVERFLOW = """
duration = "10s"

[bottleneck]
rate  = "50Mbit"
queue = { aqm = "fq_codel", limit = "40p", target = "1ms" }

[path]
rtt = "5ms"

[[flows]]
cc  = "dctcp"
ecn = true
"""


def test_fq_codel_marks_little_after_an_early_overflow(tmp_path: Path) -> None:
    """Slow start overflows the queue before CoDel's first dropping phase. If this phase did not
    start from a count of 1, CoDel would mark every packet above the target."""
    marks = []
    for engine in ("sim", "kernel"):
        [run] = tb.run(OVERFLOW, engine=engine, out=tmp_path / engine)
        flow = run.summary["flows"][0]
        assert flow["drops"] > 0
        assert flow["srtt_ms_mean"] > 10
        marks.append(flow["marks"])
    sim, kernel = marks
    assert kernel == pytest.approx(sim, rel=0.02)
    # About 40,000 packets leave the queue, so less than 15 % of them are marked.
    assert sim < 6_000
