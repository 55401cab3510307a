"""Tests the experiment `l4s-tests-2020`: published values, scenarios, statistics, and values drawn
by hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tailback.errors import InputError
from tailback.report import to_markdown
from tailback.running.batch import run_many
from tailback.running.options import RunOptions
from tailback.running.scenarios import check
from tailback_studies.experiments import get
from tailback_studies.experiments.l4s_tests_2020 import (
    EXPERIMENT,
    both_ways,
    layout,
    points,
    report,
    rows,
    steps,
    truth,
)
from tailback_studies.experiments.l4s_tests_2020.layout import DEFECTS, S1, S6, Flow, L4sRow
from tailback_studies.reproduction.shown import facts

FOLDER = Path(layout.__file__).parent


@dataclass(frozen=True)
class Fake:
    """A made-up run with two flows that have these rates."""

    first: float | None
    second: float | None
    seed: int = 1

    @property
    def summary(self) -> dict[str, Any]:
        """Return the fields of a summary that the experiment reads."""
        rates = (self.first, self.second)
        return {"flows": [{"throughput_mbit": rate} for rate in rates]}


def as_published(off: float = 0.0, seeds: int = 5) -> list[points.L4sEntry]:
    """Return entries for every published row, with the published rates as results. The first flow's
    rate is larger by `off`, which is a share of the link's rate.
    """
    known = layout.published()
    results = []
    for row in layout.ROWS:
        one = known.get((row.table, row.name, "D1"), 10.0) + off * row.rate_mbit
        two = known.get((row.table, row.name, "D2"), 10.0)
        results.append([Fake(one, two, seed) for seed in range(seeds)])
    return truth.judged(points.entries(layout.ROWS, results))


# --- published values -----------------------------------------------------------------------------


def test_rows_of_the_source() -> None:
    assert len(S1) == 192 - 48
    assert len(S6) == 24
    assert len({(row.table, row.name) for row in layout.ROWS}) == 168
    known = layout.published()
    assert len(layout.published_names()) == 128 - 32 + 12
    assert all(
        (table, name) in {(row.table, row.name) for row in layout.ROWS} for table, name, _ in known
    )
    assert sum(rows or 0 for _, rows, _ in EXPERIMENT.not_run) == 48


def test_published_values() -> None:
    known = layout.published()
    assert known["s1", "50Mbit/dualpi2/10ms-10ms/cubic-vs-prague", "D1"] == 12.65
    assert known["s6", "fq_codel(1q)/prague-vs-cubic-ecn", "ratio"] == pytest.approx(45.70 / 1.94)


def test_jains_index_of_the_source_is_the_one_here() -> None:
    known = layout.published()
    for row in S1:
        place = ("s1", row.name)
        if (*place, "jain") in known:
            made = points.values(row, Fake(known[*place, "D1"], known[*place, "D2"]).summary)
            assert made["jain"] == pytest.approx(known[*place, "jain"], abs=1e-3)


def test_the_defect_is_a_row_given_twice() -> None:
    known = layout.published()
    (row,) = DEFECTS
    other = L4sRow("s1", 50, "pfifo(1000)", (Flow("cubic", 20), Flow("prague", 10)))
    for column in row.columns:
        values = [known.get(("s1", r.name, column)) for r in (row, other)]
        assert None in values or values[0] == values[1]


def test_twins_are_the_same_experiment() -> None:
    row = L4sRow("s1", 10, "fq_codel", (Flow("cubic", 80), Flow("prague", 80)))
    other = layout.twin(row)
    assert other is not None
    assert other[0].flows == (Flow("prague", 80), Flow("cubic", 80))
    assert other[1] == (1, 0)
    equal = L4sRow("s1", 10, "fq_codel", (Flow("cubic", 80), Flow("cubic", 80)))
    assert layout.twin(equal) == (equal, (1, 0)), "both flows of one row"
    assert layout.twin(L4sRow("s1", 10, "fq_codel", (Flow("cubic", 80), Flow("cubic", 20)))) is None
    pairs = truth.twins()
    assert len(pairs) <= 2 * 3 * 3 * 3, "rates, queues, equal round-trip times, pairs less swaps"
    assert all(gap >= 0 for _, gap in pairs)


# --- scenarios --------------------------------------------------------------------------

PLANNED = """\
s1, 119s to 179s
  dualpi2: aqm=dualpi2 min_qlen_step=2
  pfifo(1000): aqm=fifo limit=1000p
  fq_codel: aqm=fq_codel
  pfifo(200): aqm=fifo limit=200p
s6, 19s to 59s
  fq_codel(1q): aqm=fq_codel flows=1
  fq_codel(1q,1ms/20ms): aqm=fq_codel flows=1 target=1ms interval=20ms
  pie: aqm=pie ecn=True
  pie(100p/5ms): aqm=pie limit=100p target=5ms tupdate=32ms alpha=2 beta=20 ecn=True
  red(150000b): aqm=red limit=150000b avpkt=1000b burst=tc adaptive=True bandwidth=50Mbit ecn=True
  red(400000b): aqm=red limit=400000b avpkt=1000b burst=tc adaptive=True bandwidth=50Mbit ecn=True
"""
"""The queues and measured times for both tables. These values were frozen before the first
comparison."""


def test_the_planned_set_up() -> None:
    lines: dict[str, None] = {}
    for row in layout.ROWS:
        made = points.made(row)
        bottleneck = made["bottleneck"]
        words = " ".join(f"{key}={value}" for key, value in bottleneck["queue"].items())
        lines[f"{row.table}, {made['warmup']} to {made['duration']}\n"] = None
        lines[f"  {row.queue}: {words}\n"] = None
        assert bottleneck["rate"] == f"{row.rate_mbit}Mbit"
        assert bottleneck["burst"] == "tc"
        assert bottleneck["both_directions"] is True
        assert made["tcp"] == {"ecn_feedback": "accecn"}
        for table, flow in zip(made["flows"], row.flows, strict=True):
            cc = {"name": "prague", "rtt_scaling": "off", "window": "carry"}
            assert table["cc"] == (cc if flow.cc == "prague" else flow.cc)
            assert table["ecn"] is (not flow.bleached)
            assert table.get("rtt", made["path"]["rtt"]) == f"{flow.rtt_ms}ms"
    assert "".join(lines) == PLANNED


def test_every_scenario_is_valid() -> None:
    """Check which published rows Linux can run, by queue and congestion control. Also check the
    runs of the scenarios S2 to S4."""
    some: dict[Any, dict[str, Any]] = {}
    for row in layout.ROWS:
        some.setdefault((row.table, row.queue, row.flows[1].cc), points.made(row))
    for table in ("s2", "s3"):
        for case in steps.cases(table):
            some.setdefault((table, case.cc, case.queue, case.bursty), steps.made(case))
    for both in both_ways.CASES:
        some.setdefault((both.cc, both.queue), both_ways.made(both))
    for made in some.values():
        assert check(made)


def test_cases_of_the_plots() -> None:
    assert len(steps.cases("s2")) == 64
    assert len(steps.cases("s3")) == 16
    assert len(both_ways.CASES) == 36
    case = steps.StepCase("s3", "cubic", "fq_codel", 80, True)
    made = steps.made(case)
    assert made["links"]["bottleneck"]["queue"] == {"aqm": "fq_codel", "ecn": False}
    assert made["links"]["bursty"]["slots"]["packets"] == 32
    assert made["path"]["rtt"] == "80ms"
    made = both_ways.made(both_ways.CASES[2])
    assert made["links"]["up"] == {
        "rate": "1Mbit",
        "burst": "tc",
        "queue": {"aqm": "fifo", "limit": "20p"},
    }


# --- statistics on synthetic input ----------------------------------------------------------------


def test_values_of_a_row() -> None:
    assert points.values(S1[0], Fake(30.0, 10.0).summary) == {
        "D1": 30.0,
        "D2": 10.0,
        "jain": pytest.approx(1600 / 2000),
    }
    assert points.values(S6[0], Fake(40.0, 2.0).summary)["ratio"] == 20.0
    assert points.values(S6[0], Fake(40.0, 0.0).summary)["ratio"] is None
    assert points.values(S1[0], Fake(40.0, None).summary)["jain"] is None


def test_errors_are_counted_over_the_rate() -> None:
    (judge, six) = truth.judges(as_published(off=0.04))
    known = layout.published()
    cells = sum(
        (row.table, row.name, c) in known for row in S1 if row not in DEFECTS for c in ("D1", "D2")
    )
    assert judge.cells == cells
    assert judge.blind == 0, "the description of the set-up follows from S1 in part"
    # Half of the flows have the published rates. The rates of all other flows differ from the
    # published rates by 4 % of the link's rate.
    assert judge.median == pytest.approx(0.02, abs=1e-9)
    assert judge.p90 == pytest.approx(0.04, abs=1e-9)
    assert judge.holds
    assert (six.cells, six.within, six.blind) == (12, 12, 12)
    assert judge.noise_cells == len(truth.twins())


def test_a_miss_is_listed_with_its_row() -> None:
    off = as_published(off=0.4)
    assert not truth.judges(off)[0].holds
    missed = truth.missed(off)
    assert {e.column for e in missed} == {"D1", "ratio"}
    assert not any(e.row in DEFECTS for e in missed)
    made = facts([])
    (table,) = rows.misses(off, made)
    assert len(table.rows) == len(missed)  # type: ignore[union-attr]


def test_report_and_page_of_synthetic_results() -> None:
    entries = as_published(off=0.1)
    made = facts([])
    text = to_markdown(report.report(entries, [], made, quick=False))
    for row in layout.ROWS:
        assert row.queue in text
    page = report.page(entries, [], made).text("tailback reproduce l4s-tests-2020 --page", 1.0)
    assert "cnq_codel_af" in page
    assert "Changed after the comparison" in page
    assert "`min_qlen_step = 2`" in page


def test_the_time_after_a_step() -> None:
    times = [25.0 + i * steps.BIN_S for i in range(60)]
    trace = pl.DataFrame(
        {"time_s": times, "value": [90.0 if 31.0 <= t < 33.0 else 20.0 for t in times]}
    )
    assert steps.after_the_step(trace, 20) == (90.0, 2.0)
    assert steps.after_the_step(trace, 80) == (90.0, 0.0)


# --- the command ---------------------------------------------------------------------------------


def test_engines_and_parts() -> None:
    kernel = EXPERIMENT.request(None, RunOptions(seeds=1, engine="kernel"))
    found = EXPERIMENT._rows(kernel)
    assert len(found) == 36
    assert {flow.cc for row in found for flow in row.flows} == {"cubic"}
    with pytest.raises(InputError, match="every row of s6 has one"):
        EXPERIMENT._rows(EXPERIMENT.request(["s6"], RunOptions(seeds=1, engine="kernel")))
    quick = EXPERIMENT._rows(EXPERIMENT.request(["s1", "s6"], RunOptions(), quick=True))
    assert len(quick) == 108
    assert get("l4s-tests-2020") is EXPERIMENT


# --- published values drawn by hash ----------------------------------------------------------

DRAWN = {
    "s1/50Mbit/fq_codel/20ms-20ms/cubic-vs-prague": (0.1, 0.1),
    "s1/10Mbit/dualpi2/80ms-20ms/prague-vs-cubic": (4.8, 6.3),
    "s1/50Mbit/pfifo(1000)/10ms-10ms/prague-vs-cubic": (10.2, 10.0),
    "s1/50Mbit/fq_codel/80ms-20ms/prague-vs-cubic": (0.1, 0.1),
    "s1/10Mbit/dualpi2/80ms-20ms/cubic-vs-prague": (4.9, 2.0),
    "s1/50Mbit/fq_codel/80ms-20ms/cubic-vs-prague": (0.3, 1.5),
    "s1/10Mbit/fq_codel/160ms-10ms/cubic-vs-cubic": (1.5, 0.7),
    "s1/50Mbit/dualpi2/20ms-20ms/prague-vs-prague": (0.4, 0.1),
    "s6/fq_codel(1q,1ms/20ms)/prague-vs-cubic-noecn": (32.7,),
    "s6/pie/prague-vs-cubic-ecn": (33.7,),
    "s6/fq_codel(1q,1ms/20ms)/prague-vs-cubic-ecn": (25.4,),
}
"""Recorded errors of rows with one seed. Errors of rates are in percent of the link's rate, and
errors of ratios are relative to the published ratio. A hash selects the rows. The selection
includes rows with large errors."""
MORE = {"s1": 2.0, "s6": 5.0}
"""The largest allowed growth of an error, in percentage points."""


def drawn(table: str, count: int) -> list[L4sRow]:
    """Return the `count` rows of a table whose names have the smallest hashes. Leave out rows whose
    values in the publication are wrong."""
    known = layout.published_names()
    own = [r for r in layout.ROWS if r.table == table and (table, r.name) in known]
    right = [row for row in own if row not in DEFECTS]

    def key(row: L4sRow) -> str:
        return hashlib.sha256(f"l4s-tests-2020 {row.name}".encode()).hexdigest()

    return sorted(right, key=key)[:count]


def test_cells_drawn_by_hash(tmp_path: Path) -> None:
    for table, count in (("s1", 8), ("s6", 3)):
        own = drawn(table, count)
        names = [f"{table}/{row.name}" for row in own]
        assert names == [name for name in DRAWN if name.startswith(table)]
        jobs = [points.job(row, seeds=1) for row in own]
        found = run_many(jobs, jobs=None, out=tmp_path, progress=False, engine="sim")
        for entry in points.entries(own, found):
            limits = DRAWN[f"{table}/{entry.row.name}"]
            columns = ("D1", "D2") if table == "s1" else ("ratio",)
            if entry.column in columns:
                size = entry.size("capacity" if table == "s1" else "relative")
                assert size is not None
                limit = limits[columns.index(entry.column)] + MORE[table]
                assert 100 * size <= limit, entry.cell
