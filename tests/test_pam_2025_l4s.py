"""Tests the experiment `pam-2025-l4s`: published values, scenarios, claims, statistics, the report,
and rows drawn by hash."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tailback.errors import InputError
from tailback.report import to_markdown
from tailback.running.batch import run_many
from tailback.running.options import RunOptions
from tailback.running.scenarios import check
from tailback_studies.experiments import get
from tailback_studies.experiments.pam_2025_l4s import (
    EXPERIMENT,
    PARTS,
    TABLES,
    claims,
    layout,
    points,
    readings,
    report,
    truth,
)
from tailback_studies.experiments.pam_2025_l4s.layout import COLUMNS, ROWS, PamRow
from tailback_studies.reproduction.published import MAX_WORDS, Whole, page
from tailback_studies.reproduction.shown import facts


@dataclass(frozen=True)
class Fake:
    """A run of a published row with these rates and smoothed RTTs."""

    row: PamRow
    cells: dict[str, float]

    @property
    def summary(self) -> dict[str, Any]:
        """Return the fields of a summary that the experiment reads."""
        flows = []
        for side, count in (("prague", self.row.n_prague), ("classic", self.row.n_classic)):
            rate, srtt = self.cells[f"{side}_mbit"], self.cells[f"{side}_srtt_ms"]
            each = {"throughput_mbit": rate / count, "srtt_ms_mean": 1e6}
            flows += [{**each, "srtt_ms_mean": srtt}, *(each for _ in range(count - 1))]
        return {"flows": flows}


def as_published(added: float = 0.0, swapped: bool = False) -> list[points.PamEntry]:
    """Return entries for every published row, with made-up measurements. The rate of the classic
    flows is larger by `added` Mbit/s. `swapped` exchanges the rates of the classic and the other
    flows."""
    known = layout.published()
    results = []
    for row in ROWS:
        cells = {c: known[row, c].mean if (row, c) in known else 20.0 for c in COLUMNS}
        if swapped:
            one, two = layout.RATES
            cells[one], cells[two] = cells[two], cells[one]
        cells["classic_mbit"] += added
        results.append([Fake(row, cells)])
    return points.entries(ROWS, results)


# --- published values -----------------------------------------------------------------------------


def test_rows_of_the_source() -> None:
    assert len(ROWS) == len(set(ROWS)) == 765
    assert len(layout.known_rows()) == 383
    assert layout.known_rows() <= set(ROWS)
    assert PARTS == ("cubic", "bbr", "bbr3", "2ms", "many", "readings")
    counts = {part: sum(row.part == part for row in ROWS) for part in TABLES}
    assert counts == {"cubic": 90, "bbr": 45, "bbr3": 135, "2ms": 135, "many": 360}


def test_published_values() -> None:
    row = PamRow(10, "DualPI2", 1.0, "bbr", "noecn")
    cell = layout.published()[row, "prague_mbit"]
    assert (cell.mean, cell.sd, cell.trials) == (12.6106, 0.6604, 10)
    assert layout.published()[row, "classic_srtt_ms"].mean == 15.5062


# --- scenarios --------------------------------------------------------------------------

PLANNED = {
    "FIFO": {"aqm": "fifo", "limit": "125000b"},
    "single_queue_FQ": {
        "aqm": "fq",
        "limit": "84p",
        "flow_limit": "84p",
        "fast_path": False,
        "orphan_mask": 0,
        "ce_threshold": "5ms",
    },
    "pie_drop": {"aqm": "pie", "limit": "84p", "target": "5ms", "ecn": False},
    "Codel_drop": {
        "aqm": "codel",
        "limit": "84p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": False,
    },
    "Codel": {"aqm": "codel", "limit": "84p", "target": "5ms", "interval": "100ms", "ecn": True},
    "FQ": {
        "aqm": "fq",
        "limit": "84p",
        "flow_limit": "84p",
        "fast_path": False,
        "ce_threshold": "5ms",
    },
    "FQ_Codel": {
        "aqm": "fq_codel",
        "limit": "84p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
    },
    "FQ_Codel_L4S": {
        "aqm": "fq_codel",
        "limit": "84p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
        "ce_threshold": "1ms",
        "ce_threshold_selector": "0x01/0x01",
    },
    "DualPI2": {"aqm": "dualpi2", "target": "5ms"},
}
"""The queues for an RTT of 10 ms and a buffer of 1 BDP. These values were frozen before the first
comparison."""


def test_the_planned_queues() -> None:
    one_bdp = [PamRow(10, aqm, 1.0, "cubic", "ecn") for aqm in layout.QUEUES]
    assert {row.aqm: points.queue(row) for row in one_bdp} == PLANNED
    small = points.queue(PamRow(2, "Codel", 0.5, "bbr3", "ecn"))
    assert (small["limit"], small["target"]) == ("9p", "1ms"), "12,500 bytes, rounded up"
    assert points.queue(PamRow(2, "FIFO", 8.0, "bbr3", "ecn"))["limit"] == "200000b"


def test_the_planned_flows() -> None:
    for row in ROWS:
        made = points.made(row)
        assert (made["duration"], made["start_jitter"], made["host_jitter"]) == (
            "60s",
            "500ms",
            "100us",
        )
        assert made["path"] == {"rtt": f"{row.rtt_ms}ms"}
        prague, classic = made["flows"]
        assert prague["cc"] == {"name": "prague", "version": "0.7"}
        assert prague["tcp"] == {"accecn_receiver": "l4s-5.15"}
        assert (prague["count"], classic["count"]) == (row.n_prague, row.n_classic)
        responding = {"name": "bbr3", "ecn_response": True}
        assert classic["cc"] == (responding if row.ecn == "ecnlow" else row.classic)
        assert classic["ecn"] is (row.ecn != "noecn")


def test_the_scenario_file_is_what_is_run() -> None:
    file = Path(layout.__file__).parent / "scenarios" / "shared.toml"
    made = points.made(PamRow(10, "DualPI2", 1.0, "cubic", "ecn"))
    assert made == tomllib.loads(file.read_text())


@pytest.mark.parametrize("aqm", layout.QUEUES)
def test_the_scenarios_are_valid(aqm: str) -> None:
    check(points.made(PamRow(10, aqm, 0.5, "cubic", "ecn")))
    check(points.made(PamRow(2, aqm, 8.0, "bbr3", "ecnlow")))


# --- values, claims and goals on synthetic input -------------------------------------------------


def test_cells_of_several_flows() -> None:
    """A rate is the sum over a group of flows. An RTT is the RTT of the group's first flow."""
    row = PamRow(10, "FIFO", 1.0, "cubic", "ecn", 2, 5)
    cells = dict(zip(COLUMNS, (40.0, 50.0, 12.0, 13.0), strict=True))
    assert points.values(row, Fake(row, cells).summary) == pytest.approx(cells)


def test_the_source_fulfils_its_claims() -> None:
    found = claims.verdicts(as_published())
    assert len(found) == len(claims.CLAIMS) == 6
    assert [verdict.holds for verdict in found] == [True] * 6
    assert [len(verdict.published) for verdict in found] == [13, 13, 38, 4, 2, 1]


def test_other_rates_break_the_claims() -> None:
    found = claims.verdicts(as_published(swapped=True))
    held = [verdict.holds for verdict in found]
    assert held == [True, False, True, False, False, False], "the conditions that name no side hold"


def test_goals_count_errors_and_sides() -> None:
    exact = {judge.judge: judge for judge in truth.judges(as_published())}
    assert len(exact) == 4
    assert all(judge.holds for judge in exact.values())
    rates = exact["rates of both sides"]
    assert (rates.cells, rates.blind) == (2 * 383, 0)
    assert rates.noise_median == pytest.approx(0.00556, abs=1e-5)
    off = {judge.judge: judge for judge in truth.judges(as_published(added=8.0))}
    assert off["rates of both sides"].p90 == pytest.approx(0.08)
    assert off["rates of both sides"].median == pytest.approx(0.04), "half of the values are exact"
    assert not off["rates of both sides"].holds
    swapped = truth.winners(as_published(swapped=True))
    assert len(swapped) > 200
    assert not any(swapped.values())


def test_misses_start_with_the_worst() -> None:
    missed = truth.missed(as_published(added=8.0))
    assert len(missed) == 383
    assert {entry.column for entry in missed} == {"classic_mbit"}
    assert truth.missed(as_published(added=5.0)) == []


def test_report_and_page_of_synthetic_results() -> None:
    entries = as_published(added=8.0)
    made = facts([])
    assert "Every row" in to_markdown(report.report(entries, [], made, quick=False))
    text = report.page(entries, [], made).text("tailback reproduce pam-2025-l4s --page", 1.0)
    short = page(Whole.parse(text), "pam-2025-l4s", truth.judges(entries))
    headings = [line for line in short.splitlines() if line.startswith("## ")]
    assert headings[:2] == ["## Conclusions", "## Verdict"], "the page opens with the claims"
    assert short.index("## Verdict") < short.index("Rates, % of the link's rate")
    assert len(short.split()) <= MAX_WORDS


def test_readings_change_one_thing() -> None:
    row = readings.rows_of(readings.READINGS[0])[0]
    plain = points.made(row)
    for reading in readings.READINGS:
        changed = readings.made(row, reading.variant)
        check(changed)
        differing = [key for key in changed if changed[key] != plain.get(key)]
        if reading.id == "vm":
            # A scenario cannot have both hosts that hold packets and the jitter of hosts.
            assert differing == ["host_jitter", "hosts"]
        else:
            assert len(differing) == 1, reading.id
    groups = readings.jobs()
    assert {len(jobs) for jobs in groups.values()} == {75}
    assert groups["baseline"][0].scenario == plain


def test_engines_and_parts() -> None:
    with pytest.raises(InputError, match="Linux does not have"):
        EXPERIMENT.study(EXPERIMENT.request(None, RunOptions(engine="kernel")))
    quick = EXPERIMENT._rows(EXPERIMENT.request(None, RunOptions(), quick=True))
    assert len(quick) == 75
    assert set(quick) <= layout.known_rows()
    part = EXPERIMENT._rows(EXPERIMENT.request(["2ms"], RunOptions()))
    assert {(row.rtt_ms, row.classic) for row in part} == {(2, "bbr3")}
    assert get("pam-2025-l4s") is EXPERIMENT


# --- published rows drawn by hash -----------------------------------------------------------

DRAWN = {
    "10ms/FQ/2bdp/bbr3-noecn/1-1": (5.8, 5.1),
    "10ms/Codel_drop/8bdp/bbr-noecn/1-1": (1.6, 1.0),
    "10ms/FQ_Codel_L4S/1bdp/bbr3-noecn/1-1": (1.5, 0.7),
    "10ms/FQ/1bdp/cubic-noecn/1-1": (2.4, 2.4),
    "10ms/FIFO/1bdp/bbr-noecn/1-1": (1.8, 1.6),
}
"""Recorded errors of both rates in rows with one seed, in percent of the link's rate. A hash
selects rows with one flow of each kind. The selection includes rows with large errors."""
MORE = 2.0
"""The largest allowed growth of an error, in percentage points."""


def test_rows_drawn_by_hash(tmp_path: Path) -> None:
    def key(row: PamRow) -> str:
        return hashlib.sha256(f"pam-2025-l4s {row.name}".encode()).hexdigest()

    single = [row for row in layout.known_rows() if not row.many]
    chosen = sorted(single, key=key)[: len(DRAWN)]
    assert [row.name for row in chosen] == list(DRAWN)
    jobs = [points.job(row, seeds=1) for row in chosen]
    found = run_many(jobs, jobs=None, out=tmp_path, progress=False, engine="sim")
    for entry in points.entries(chosen, found):
        if entry.is_rate:
            size = entry.size("capacity")
            assert size is not None
            limit = DRAWN[entry.row.name][layout.RATES.index(entry.column)] + MORE
            assert 100 * size <= limit, entry.cell
