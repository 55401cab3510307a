"""Tests the experiment `ccafct-2020`: scenarios, statistics, and values drawn by hash."""

from __future__ import annotations

import hashlib
import math
import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tailback.errors import InputError
from tailback.report import to_markdown
from tailback.running.batch import run_many
from tailback.running.options import RunOptions
from tailback_studies.experiments import get
from tailback_studies.experiments.ccafct_2020 import EXPERIMENT, layout, points, report, truth
from tailback_studies.experiments.ccafct_2020.layout import ROWS, CcafctRow
from tailback_studies.reproduction.shown import facts


@dataclass(frozen=True)
class Fake:
    """A run with requests that have these completion times in ms."""

    times: list[float]
    seed: int = 1

    def series(self) -> pl.DataFrame:
        """Return the rows of a run's series that the experiment reads."""
        names = ["completion_ns"] * len(self.times) + ["completion_bytes"]
        values = [1e6 * time for time in self.times] + [1000.0]
        return pl.DataFrame({"quantity": names, "value": values})


def as_published(factor: float = 1.0) -> list[points.CcafctEntry]:
    """Return values of every published row with made-up measurements. Completion times beside a
    competitor are `factor` times the published completion times."""
    known = layout.published()
    results = []
    for row in ROWS:
        time = known.get((row, "geomean_ms"), 500.0) * (factor if row.competitor else 1.0)
        results.append([Fake([time] * 3, seed) for seed in range(5)])
    return truth.judged(points.entries(ROWS, results))


# --- published values -----------------------------------------------------------------------------


def test_rows_of_the_source() -> None:
    assert len(ROWS) == 15
    known = layout.published()
    assert len({row for row, _ in known}) == 9
    assert len(known) == 9 * 3 + 6 * 3
    assert layout.published_rtts() == (10, 20, 80)


def test_harm_of_the_source_is_the_one_here() -> None:
    """Compute the published harm from the published times. Published times have only one decimal,
    so the comparison needs a tolerance."""
    known = layout.published()
    for row, column in known:
        if not column.endswith("_harm"):
            continue
        time = column.replace("_harm", "_ms")
        alone, contended = known[row.alone, time], known[row, time]
        assert 1 - alone / contended == pytest.approx(known[row, column], abs=1e-3)


# --- scenarios --------------------------------------------------------------------------


def test_the_planned_set_up() -> None:
    for row in ROWS:
        made = points.made(row)
        assert made["duration"] == "260s"
        assert made["path"] == {"rtt": f"{row.rtt_ms}ms"}
        assert made["bottleneck"] == {
            "rate": "50Mbit",
            "burst": "tc",
            "queue": {"aqm": "fq_codel", "flows": 1},
            "both_directions": True,
        }
        assert made["traffic"] == [
            {
                "name": "requests",
                "kind": "web",
                "cc": "cubic",
                "ecn": False,
                "start": "20s",
                "stop": "200s",
                "arrival": "200ms",
                "sizes": {"lognormal": {"p5": "64kb", "p95": "2mb"}},
                "reuse": True,
                "idle": "0s",
                "tcp": {"metrics_save": True, "ssthresh_metrics_save": True},
            }
        ]
        flows = made.get("flows", [])
        if not row.competitor:
            assert not flows
            continue
        (flow,) = flows
        prague = {"name": "prague", "rtt_scaling": "off", "window": "carry"}
        assert flow["cc"] == (prague if row.competitor == "prague" else "cubic")
        assert (flow["ecn"], flow["tcp"]) == (True, {"ecn_feedback": "accecn"})


def test_the_scenario_file_is_what_is_run() -> None:
    file = Path(layout.__file__).parent / "scenarios" / "requests.toml"
    assert points.made(CcafctRow(10, "cubic")) == tomllib.loads(file.read_text())


def test_linux_has_the_offloads_that_the_source_left_on() -> None:
    (plain, kernel) = (
        points.job(ROWS[1], seeds=1, kernel=kernel).scenario for kernel in (False, True)
    )
    assert isinstance(plain, dict)
    assert isinstance(kernel, dict)
    assert "offloads" not in plain["path"]
    assert kernel["path"]["offloads"] is True
    (source,) = kernel["traffic"]
    assert not {"reuse", "idle"} & set(source)


# --- statistics on synthetic input ----------------------------------------------------------------


def test_statistics_are_the_sources() -> None:
    found = points.statistics([1.0, 10.0, 100.0, 1000.0])
    assert found["geomean"] == pytest.approx(10**1.5)
    assert found["median"] == 10.0, "the nearest rank, not the middle"
    assert found["p95"] == 1000.0
    assert points.statistics([float(n) for n in range(1, 101)])["p95"] == 95.0
    assert points.statistics([]) == dict.fromkeys(layout.STATISTICS)


def test_statistics_of_lognormal_sizes() -> None:
    """The publication gives P5 and P95 of lognormal sizes. Their median is the square root of P5
    times P95."""
    draw = random.Random(1)
    p5, p95 = 65536, 2097152
    sigma = math.log(p95 / p5) / (2 * 1.645)
    drawn = [draw.lognormvariate(math.log(math.sqrt(p5 * p95)), sigma) for _ in range(100_000)]
    found = points.statistics(drawn)
    assert found["geomean"] == pytest.approx(370_728, rel=0.02)
    assert found["median"] == pytest.approx(370_728, rel=0.02)
    assert found["p95"] == pytest.approx(p95, rel=0.02)
    assert sum(drawn) / len(drawn) == pytest.approx(645_683, rel=0.02)


def test_harm_is_taken_seed_by_seed() -> None:
    rows = [CcafctRow(10, ""), CcafctRow(10, "cubic")]
    alone = [Fake([100.0], 1), Fake([300.0], 2)]
    beside = [Fake([400.0], 1), Fake([400.0], 2)]
    found = {(e.row, e.column): e for e in points.entries(rows, [alone, beside])}
    entry = found[rows[1], "median_harm"]
    assert entry.values == (0.75, 0.25)
    assert entry.cell.measured == 0.5
    assert (rows[0], "median_harm") not in found


def test_goals_and_misses() -> None:
    entries = as_published(factor=1.5)
    times, harm = truth.judges(entries)
    assert times.cells == 27
    assert harm.cells == 18
    # The set-up was changed after the first comparison, so no value is held out any more.
    assert times.blind == 0
    missed = truth.missed(entries)
    assert {e.row.competitor for e in missed} >= {"cubic", "prague"}
    assert all((e.size("relative") or 0) > truth.LIMIT for e in missed)


def test_report_and_page_of_synthetic_results() -> None:
    entries = as_published()
    made = facts([])
    text = to_markdown(report.report(entries, made, quick=False))
    assert "beside Prague" in text
    page = report.page(entries, made).text("tailback reproduce ccafct-2020 --page", 1.0)
    assert "Changed after the comparison" in page


def test_engines_and_parts() -> None:
    found = EXPERIMENT._rows(EXPERIMENT.request(None, RunOptions(seeds=1, engine="kernel")))
    assert {row.competitor for row in found} == {"", "cubic"}
    assert len(found) == 10
    quick = EXPERIMENT._rows(EXPERIMENT.request(None, RunOptions(), quick=True))
    assert len(quick) == 9
    with pytest.raises(InputError, match="published rows only"):
        EXPERIMENT._rows(EXPERIMENT.request(["rtt-40"], RunOptions(), quick=True))
    assert get("ccafct-2020") is EXPERIMENT


# --- published values drawn by hash ----------------------------------------------------------

DRAWN = {
    "20ms/prague": (34.8, 34.4, 40.1, 3.3, 2.6, 1.5),
    "10ms/prague": (40.2, 51.3, 54.8, 3.7, 3.7, 4.1),
}
"""Recorded errors of rows with one seed, by column, in percent of the published value. A hash
selects the rows, so that rows with large errors are included."""
MORE = 5.0
"""The largest allowed growth of an error, percentage points."""


def test_cells_drawn_by_hash(tmp_path: Path) -> None:
    def key(row: CcafctRow) -> str:
        return hashlib.sha256(f"ccafct-2020 {row.name}".encode()).hexdigest()

    chosen = sorted({row for row, _ in layout.published()}, key=key)[: len(DRAWN)]
    assert [row.name for row in chosen] == list(DRAWN)
    own = list(dict.fromkeys(row for one in chosen for row in (one.alone, one)))
    jobs = [points.job(row, seeds=1) for row in own]
    found = run_many(jobs, jobs=None, out=tmp_path, progress=False, engine="sim")
    for entry in points.entries(own, found):
        if entry.row in chosen:
            size = entry.size("relative")
            assert size is not None
            limit = DRAWN[entry.row.name][entry.row.columns.index(entry.column)] + MORE
            assert 100 * size <= limit, entry.cell
