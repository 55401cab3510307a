"""Tests the experiment `imc-bbr-2023`: published values, scenarios, gains, goals, and values that a
hash selects."""

from __future__ import annotations

import hashlib
import tomllib
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
from tailback_studies.experiments.imc_bbr_2023 import (
    EXPERIMENT,
    counting,
    layout,
    points,
    report,
    truth,
)
from tailback_studies.experiments.imc_bbr_2023.layout import PLACES, ROWS, ImcRow, Place
from tailback_studies.reproduction.shown import facts

FILE = Path(layout.__file__).parent / "scenarios" / "one-flow.toml"


@dataclass(frozen=True)
class Fake:
    """A run of one flow with this goodput, and with this much data in the queue after 60 s."""

    rate: float | None
    seed: int = 1
    queue_bytes: float = 0.0

    @property
    def summary(self) -> dict[str, Any]:
        """Return the fields of a summary that the experiment reads."""
        return {"flows": [{"throughput_mbit": self.rate}]}

    def series(self) -> pl.DataFrame:
        """Return the samples of a flow with a constant rate and queue."""
        rows: list[dict[str, Any]] = []
        rate = self.rate or 0.0
        for time_s in () if self.rate is None else (0, 60, 69):
            delivered, queue = rate * time_s * 1e6 / 8, self.queue_bytes
            rows += [
                {"time_ns": time_s * 10**9, "link": link, "quantity": quantity, "value": value}
                for link, quantity, value in (
                    (None, "delivered_bytes", delivered),
                    ("tbf", "backlog_bytes", queue),
                )
            ]
        types = {"time_ns": pl.Int64, "link": pl.String, "quantity": pl.String, "value": pl.Float64}
        return pl.DataFrame(rows, schema=types)


def as_published(off: float = 0.0, cc: str = "") -> list[points.ImcEntry]:
    """Return entries for every row of the publication. Measured goodputs equal the published
    goodputs, or are made up if no goodput is published. The argument `off` raises the goodputs of
    `cc`, as a share of the link's rate."""
    known = layout.published()
    results = []
    for row in ROWS:
        rate = row.place.rate_mbit
        value = known.get(row, 0.9 * rate) + (off * rate if row.cc == cc else 0.0)
        results.append([Fake(value, seed) for seed in range(3)])
    return truth.judged(points.entries(ROWS, results))


# --- published values -----------------------------------------------------------------------------


def test_rows_of_the_source() -> None:
    assert len(PLACES) == 128
    assert len(ROWS) == 768
    known = layout.published()
    assert len(known) == 384
    assert set(known) <= set(ROWS)
    # The package has published values for half of the bottlenecks, and for the same half with each
    # kernel and congestion control.
    assert len(layout.published_places()) == 64
    assert {row for row in ROWS if row.place in layout.published_places()} == set(known)


def test_gains_of_the_source() -> None:
    """For 1 Gbit/s, 150 ms, 100 kB and kernel 5.15, the publication has a goodput of 863 Mbit/s for
    BBR and 51 Mbit/s for CUBIC. At 10 Mbit/s and 10 ms, CUBIC is ahead by only 0.9 %, which counts
    as a draw."""
    entries = {e.cell.id: e for e in as_published()}
    large = entries["5.15/gain/100kB/1000Mbit/150ms"].cell
    assert large.published == pytest.approx(863.3276 / 50.8024 - 1)
    assert entries["5.15/gain/100kB/10Mbit/10ms"].cell.published == pytest.approx(-0.0091, abs=1e-4)
    assert entries["5.15/gain_sign/100kB/10Mbit/10ms"].cell.published == 0.0
    assert entries["5.15/gain_sign/100kB/1000Mbit/150ms"].cell.published == 1.0
    assert entries["5.15/gain_sign/10000kB/100Mbit/150ms"].cell.published == -1.0


# --- scenarios --------------------------------------------------------------------------


def test_the_planned_set_up() -> None:
    for row in ROWS:
        made = points.made(row)
        longer = 0.5 + 8e-6 * 1024 * row.place.buffer_kb / row.place.rate_mbit
        lasts = f"{60 + longer:.3f}s" if row.kernel == "4.15" else "60s"
        assert made["duration"] == lasts
        assert "warmup" not in made, "slow start counts"
        place, links = row.place, made["links"]
        assert links["tbf"] == {
            "rate": f"{place.rate_mbit}Mbit",
            "burst": "tc",
            "queue": {"aqm": "fifo", "limit": f"{1024 * place.buffer_kb}b"},
        }
        assert links["netem"]["delay"] == f"{place.rtt_ms}ms"
        (flow,) = made["flows"]
        assert (flow["route"], flow["back"]) == (["tbf"], ["netem"])


def test_congestion_controls_of_the_kernels() -> None:
    place = PLACES[0]
    found = {
        (kernel, cc): points.made(ImcRow(kernel, cc, place))["flows"][0]["cc"]
        for kernel, ccs in layout.KERNELS.items()
        for cc in ccs
    }
    assert found["4.15", "cubic"] == {"name": "cubic", "hystart_ack_delay": False}
    assert found["4.15", "bbr"] == {"name": "bbr", "ack_aggregation": False, "pacing_margin": 0}
    assert found["5.15", "cubic"] == found["5.13.12", "cubic"] == "cubic"
    assert found["5.15", "bbr"] == "bbr"
    assert found["5.13.12", "bbr2"] == "bbr2"
    for row in (ImcRow(kernel, cc, place) for kernel, cc in found):
        check(points.made(row))


def test_the_scenario_file_is_what_is_run() -> None:
    assert points.made(ImcRow("5.15", "cubic", PLACES[0])) == tomllib.loads(FILE.read_text())


def test_hosts_have_the_offloads_that_the_source_left_on() -> None:
    for row in ROWS:
        assert points.made(row)["path"]["offloads"] is True


def test_what_waits_in_the_queue_counts_on_4_15() -> None:
    """A queue of 6.25 MB drains in 5 s at 10 Mbit/s. The payload of 65 s at 9.6 Mbit/s, divided by
    60 s, gives 10.4 Mbit/s."""
    run = Fake(9.6, queue_bytes=6_250_000.0)
    place = Place(10_000, 10, 5)
    assert counting.goodput_mbit(ImcRow("4.15", "cubic", place), run) == pytest.approx(10.4)
    assert counting.goodput_mbit(ImcRow("5.15", "cubic", place), run) == 9.6
    assert counting.goodput_mbit(ImcRow("4.15", "cubic", place), Fake(None)) is None


# --- values and goals on synthetic input ----------------------------------------------------------


def test_gains_are_taken_seed_by_seed() -> None:
    place = Place(100, 100, 10)
    rows = [ImcRow("5.15", "cubic", place), ImcRow("5.15", "bbr", place)]
    cubic, bbr = [Fake(50.0, 1), Fake(100.0, 2)], [Fake(75.0, 1), Fake(99.5, 2)]
    found = {e.quantity: e for e in points.entries(rows, [cubic, bbr]) if e.row.cc == "bbr"}
    assert found["gain"].values == pytest.approx((0.5, -0.005))
    assert found["gain_sign"].values == (1.0, 0.0)
    alone = points.entries(rows[1:], [bbr])
    assert {e.quantity for e in alone} == {"goodput_mbit"}, "no gain without CUBIC"


def test_a_missing_goodput_is_no_gain() -> None:
    place = Place(100, 100, 10)
    rows = [ImcRow("5.15", "cubic", place), ImcRow("5.15", "bbr", place)]
    found = {
        e.quantity: e
        for e in points.entries(rows, [[Fake(50.0)], [Fake(None)]])
        if e.row.cc == "bbr"
    }
    assert found["gain"].values == ()
    assert found["gain"].cell.measured is None


def test_cubic_in_a_small_buffer_is_judged_up_to_100_mbit() -> None:
    own = {e.row for goal in truth.GOODPUTS for e in goal.own(as_published())}
    left_out = set(ROWS) - own
    assert {row.cc for row in left_out} == {"cubic"}
    assert {row.place.buffer_kb for row in left_out} == {100}
    assert {row.place.rate_mbit for row in left_out} == {250, 500, 750, 1000}
    assert len(left_out) == 3 * 4 * 8


def test_goals_and_misses() -> None:
    right = truth.judges(as_published())
    assert all(judge.holds for judge in right)
    assert [judge.cells for judge in right] == [64, 64, 48, 96, 32, 32, 192]
    assert sum(judge.blind for judge in right) == 0
    wrong = as_published(off=0.03, cc="bbr2")
    failed = [j.judge for j in truth.judges(wrong) if not j.holds and j.error == "capacity"]
    assert failed == [
        "goodput of BBRv2, buffer of 100 kB",
        "goodput of BBRv2, buffer of 10 MB",
    ]
    missed = truth.missed(wrong)
    assert {e.row.cc for e in missed} == {"bbr2"}
    assert len(missed) == 64


def test_an_opposite_sign_is_a_miss_and_a_draw_is_not() -> None:
    place = Place(10_000, 100, 150)
    rows = [ImcRow("5.15", "cubic", place), ImcRow("5.15", "bbr", place)]
    ahead, level = (
        truth.judged(points.entries(rows, [[Fake(90.0)], [Fake(bbr)]])) for bbr in (95.0, 90.2)
    )
    assert [e.cell.id for e in truth.opposite(ahead)] == ["5.15/gain_sign/10000kB/100Mbit/150ms"]
    assert not truth.opposite(level)


def test_report_and_page_of_synthetic_results() -> None:
    entries = as_published(off=0.03, cc="bbr2")
    made = facts([])
    text = to_markdown(report.report(entries, made, quick=False))
    assert "| 5.13.12 | BBRv2 | 10 MB |" in text
    page = report.page(entries, made).text("tailback reproduce imc-bbr-2023 --page", 1.0)
    assert "`bbr2` with its defaults" in page
    assert "Changed after looking" in page


def test_engines_and_parts() -> None:
    found = EXPERIMENT._rows(EXPERIMENT.request(None, RunOptions(seeds=1, engine="kernel")))
    assert {row.kernel for row in found} == {"5.15"}
    assert len(found) == 256
    with pytest.raises(InputError, match="use --part"):
        EXPERIMENT._rows(EXPERIMENT.request(["4.15"], RunOptions(engine="kernel")))
    quick = EXPERIMENT._rows(EXPERIMENT.request(None, RunOptions(), quick=True))
    assert len(quick) == 78
    assert set(quick) <= set(layout.published())
    assert get("imc-bbr-2023") is EXPERIMENT


# --- published values drawn by hash ----------------------------------------------------------

DRAWN = {
    "4.15/bbr/100kB/20Mbit/200ms": 0.36,
    "4.15/cubic/10000kB/10Mbit/10ms": 2.77,
    "5.15/bbr/100kB/50Mbit/5ms": 0.12,
    "5.13.12/cubic/10000kB/100Mbit/10ms": 0.03,
    "5.13.12/bbr2/10000kB/100Mbit/50ms": 1.49,
    "4.15/cubic/100kB/10Mbit/75ms": 0.11,
}
"""Recorded errors of rows with one seed, in percent of the link's rate. A hash selects the rows, so
that rows with large errors are included. The rate of these rows is at most 100 Mbit/s, because the
runs of such rows take little time."""
MORE = 0.5
"""The largest allowed growth of an error, in percentage points."""


def test_cells_drawn_by_hash(tmp_path: Path) -> None:
    def key(row: ImcRow) -> str:
        return hashlib.sha256(f"imc-bbr-2023 {row.name}".encode()).hexdigest()

    slow = [row for row in layout.published() if row.place.rate_mbit <= layout.SLOW_MBIT]
    chosen = sorted(slow, key=key)[: len(DRAWN)]
    assert [row.name for row in chosen] == list(DRAWN)
    jobs = [points.job(row, seeds=1) for row in chosen]
    found = run_many(jobs, jobs=None, out=tmp_path, progress=False, engine="sim")
    entries = [e for e in points.entries(chosen, found) if e.quantity == points.GOODPUT]
    assert len(entries) == len(chosen)
    for entry in entries:
        size = entry.size("capacity")
        assert size is not None
        assert 100 * size <= DRAWN[entry.cell.id] + MORE, entry.cell
