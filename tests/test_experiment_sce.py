"""The experiment of 2019: its tables, its sample, and a few cells on the kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import Tailback
from synthetic import FakeRun
from tailback.experiments import get
from tailback.experiments.sce_2019 import figures
from tailback.experiments.sce_2019 import points as pts
from tailback.figures import export
from tailback.kernel.kit import Kit
from tailback.report import summarise


def rows(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Rate, base RTT and duration of each row of the sweep."""
    (zipped,) = made["sweep"]["zip"]
    return list(zip(zipped["bottleneck.rate"], zipped["path.rtt"], zipped["duration"], strict=True))


def test_every_cell_has_the_time_of_the_source() -> None:
    found = rows(pts.scenario(quick=False))
    assert len(found) == len(set(found)) == 64
    assert found[0] == ("500kbit", "0.9ms", "30s")
    assert found[7] == ("500kbit", "160.9ms", "60s")
    assert ("50Mbit", "10.9ms", "40s") in found
    assert ("100Mbit", "20.9ms", "60s") in found
    assert found[-1] == ("100Mbit", "160.9ms", "300s")
    # Virtual time of each congestion control.
    assert sum(int(seconds.removesuffix("s")) for _, _, seconds in found) == 2900


def test_a_quick_run_has_each_rate_and_each_delay_once() -> None:
    found = rows(pts.scenario(quick=True))
    assert len(found) == 8
    assert len({rate for rate, _, _ in found}) == 8
    assert len({rtt for _, rtt, _ in found}) == 8


def test_the_published_tables() -> None:
    known = pts.published()
    assert len(known) == 6 * 48
    assert known["throughput_mbit", "cubic", 5.0, 20.0] == 4.76
    assert known["throughput_mbit", "dctcp", 100.0, 160.0] == 57.89
    assert known["tcp_rtt_ms", "reno", 0.5, 0.0] == 138.77
    # Cake's rate times 1448/1514 is the most that can be had.
    for (quantity, _, rate, _), value in known.items():
        if quantity == "throughput_mbit":
            assert value <= rate * 1448 / 1514 + 0.006


def made_up(factor: float = 1.0) -> list[FakeRun]:
    """A run for each cell, the published value times a factor where there is one."""
    known = pts.published()
    out = []
    for cc in pts.CCS:
        for rate in pts.RATES:
            for delay in pts.DELAYS:
                flow: dict[str, Any] = {"name": "flow", "cc": cc}
                for quantity, (_, field) in pts.QUANTITIES.items():
                    flow[field] = factor * known.get((quantity, cc, rate, delay), 1.0)
                params = {
                    "bottleneck.rate": round(rate * 1e6),
                    "path.rtt": round((delay + pts.BASE_MS) * 1e6),
                }
                out.append(FakeRun(params, 1, {"flows": [flow], "duration_s": 30.0}))
    return out


def test_cells_name_table_row_and_column() -> None:
    found = pts.cells(made_up(1.03))
    assert len(found) == 2 * 192
    by_id = {cell.id: cell for cell in pts.as_listed(found)}
    assert len(by_id) == 384
    cell = by_id["Table 12/5Mbit/20ms"]
    assert (cell.quantity, cell.unit, cell.published, cell.n) == (
        "throughput_mbit",
        "Mbit/s",
        4.76,
        1,
    )
    assert cell.measured == pytest.approx(4.76 * 1.03)
    assert by_id["Table 20/100Mbit/160ms"].published is not None
    assert by_id["Table 12/25Mbit/20ms"].published is None, "kept out"
    for row in (*summarise(pts.as_listed(found)), *pts.summary_by_cc(found)):
        assert row["median_rel_error"] == pytest.approx(0.03)
    names = [row["quantity"] for row in pts.summary_by_cc(found)]
    assert names[:2] == ["throughput_mbit.cubic", "throughput_mbit.reno"]
    assert [o.cell.id for o in pts.worst(found, "tcp_rtt_ms", 0.031)] == []
    assert len(pts.worst(found, "tcp_rtt_ms", 0.029)) == 144


def test_the_simulator_is_refused(tailback: Tailback, tmp_path: Path) -> None:
    done = tailback("reproduce", "sce-2019", "--part", "one-flow")
    assert done.returncode == 2
    assert "no Cake" in done.stderr
    assert "--engine kernel" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_report_of_made_up_runs(tmp_path: Path) -> None:
    results = tailback.Results(
        id="made-up",
        title="",
        engine="kernel",
        version="0",
        axes=[],
        points=made_up(1.2),  # type: ignore[arg-type]
        root=tmp_path,
    )
    cells = pts.cells(results.points)
    report = figures.report(cells, results, quick=False)
    assert [section.id for section in report.sections] == [
        "result",
        "throughput-mbit",
        "tcp-rtt-ms",
        "misses",
        "set-up",
    ]
    summary = report.sections[0].blocks[0]
    assert [row[2:5] for row in summary.rows] == [[48, "20 %", "20 %"]] * 6  # type: ignore[union-attr]
    for figure in report.figures():
        drawn = export.spec(figure.chart)
        assert sum(map(len, drawn["datasets"].values())) == 144


# --- real runs -----------------------------------------------------------------------------------


def test_cells_on_the_kernel(kernel_kit: Kit, tmp_path: Path) -> None:
    """Three places of 5 and 10 Mbit/s, throughput and RTT of each congestion control."""
    made = pts.scenario(quick=False)
    (zipped,) = made["sweep"]["zip"]
    wanted = [("5Mbit", "20.9ms"), ("10Mbit", "10.9ms"), ("10Mbit", "20.9ms")]
    kept = [n for n, row in enumerate(rows(made)) if row[:2] in wanted]
    for key, values in zipped.items():
        zipped[key] = [values[n] for n in kept]
    results = tailback.run(made, out=tmp_path, progress=False, engine="kernel")
    assert results.version.startswith(kernel_kit.version)
    found = pts.cells(results.points)
    assert len(found) == 18
    for one in found:
        assert one.relative is not None
        allowed = 0.02 if one.quantity == "throughput_mbit" else 0.06
        assert abs(one.relative) <= allowed, one


def test_cake_keeps_the_rate_of_the_link(kernel_kit: Kit, tmp_path: Path) -> None:
    """Steps and overhead of the link are Cake's, exactly."""
    made = {
        "duration": "10s",
        "bottleneck": {
            "rate": {"steps": [["0s", "10Mbit"], ["5s", "5Mbit"]]},
            "overhead": 38,
            "queue": {"aqm": "cake", "kernel": True, "args": "flowblind besteffort"},
        },
        "path": {"rtt": "5ms"},
        "flows": [{"cc": "cubic", "ecn": True}],
    }
    (run,) = tailback.run(made, out=tmp_path, progress=False, engine="kernel")
    queue = run.summary["queue"]
    # A packet of 1514 bytes takes the time of 1552.
    sent = queue["utilisation"] * 1552 / 1514
    assert sent == pytest.approx(1, abs=0.005)
    assert queue["drops"] == 0
    assert queue["marks"] > 10
    warnings = run.manifest["environment"]["guest"]["warnings"]
    assert warnings == [], "captures agree with Cake's own counts"
    assert kernel_kit.version in run.manifest["engine_version"]


def test_a_quick_run_ends_with_a_report(kernel_kit: Kit, tmp_path: Path) -> None:
    assert kernel_kit.ccs["dctcp"]
    done = get("sce-2019").run(
        None, quick=True, seeds=1, jobs=2, out=tmp_path, progress=False, engine="kernel"
    )
    assert (done.report_dir / "index.html").is_file()
    assert len(done.cells) == 48
    told = json.loads(json.dumps(done.to_dict()))
    assert told["experiment"] == "sce-2019"
    assert {row["quantity"] for row in told["summary"]} >= {
        "throughput_mbit",
        "tcp_rtt_ms",
        "throughput_mbit.dctcp",
    }
