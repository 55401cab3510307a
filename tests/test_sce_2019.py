"""Tests the experiment `sce-2019`: published tables, the sample, evaluation, and a few measured
values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import Tailback
from drawn import check, draw
from synthetic import FakeRun
from tailback.base.names import unknown
from tailback.figures import export
from tailback.kernel.kit import Kit
from tailback.running.options import RunOptions
from tailback_studies.experiments import get
from tailback_studies.experiments.sce_2019 import (
    GROUPS,
    PARTS,
    ablation,
    layout,
    misses,
    report,
    tables,
    truth,
)
from tailback_studies.experiments.sce_2019 import points as pts
from tailback_studies.experiments.sce_2019.layout import SceSetup, TableId
from tailback_studies.reproduction.readings import BASELINE


def number(quantity: str, mode: str, *ccs: str) -> int:
    """Return the number of the table with this quantity and set-up."""
    (found,) = [
        t.number
        for t in layout.TABLES.values()
        if t.quantity == quantity and t.setup == SceSetup(mode, ccs)
    ]
    return found


# --- published values -----------------------------------------------------------------------------


def test_the_numbers_of_the_tables() -> None:
    assert sorted(layout.TABLES) == [*range(5, 112)]
    assert number("throughput_mbit", "", "cubic") == 12
    assert number("tcp_rtt_ms", "", "dctcp-sce") == 21
    assert number("throughput_mbit", "flowblind", "cubic", "reno-sce") == 24
    assert number("throughput_mbit", "triple-isolate", "cubic", "cubic") == 52
    assert number("tcp_rtt_ms", "flowblind", "cubic", "dctcp") == 70
    assert number("tcp_rtt_ms", "flowblind sce-single", "reno", "dctcp-sce") == 90
    assert number("tcp_rtt_ms", "triple-isolate", "dctcp-sce", "dctcp-sce") == 111
    cells = sum(
        len(t.setup.ccs)
        * len(layout.GRIDS[t.setup.kind].rates)
        * len(layout.GRIDS[t.setup.kind].delays)
        for t in layout.TABLES.values()
        if t.quantity != "jain"
    )
    assert cells == 4240


@pytest.mark.parametrize("name", ["published.csv", "jain.csv"])
def test_published_rows_agree_with_the_layout(name: str) -> None:
    text = (Path(layout.__file__).parent / name).read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == {"published.csv": 4240, "jain.csv": 140}[name]
    for row in rows:
        table = layout.TABLES[int(row["table"])]
        position = int(row.get("position", 1))
        assert table.setup.mode == row["mode"]
        assert table.setup.ccs[position - 1] == row["cc"]
        assert row["peer"] == (table.setup.ccs[2 - position] if len(table.setup.ccs) == 2 else "")
        assert table.quantity == row.get("quantity", "jain")
        grid = layout.GRIDS[table.setup.kind]
        assert float(row["rate_mbit"]) in grid.rates
        assert float(row["delay_ms"]) in grid.delays


def test_published_values() -> None:
    known = layout.published()
    assert len(known) == 4380
    assert len(layout.blind()) == 1380
    assert (12, 1, 2.0, 20.0) in layout.blind()
    assert (12, 1, 5.0, 20.0) not in layout.blind()
    assert known[12, 1, 5.0, 20.0] == 4.76
    assert known[18, 1, 0.5, 0.0] == 138.77
    assert known[16, 1, 100.0, 160.0] == 82.53
    assert known[25, 1, 50.0, 20.0] == 15.25
    assert known[25, 2, 50.0, 20.0] == 31.72
    assert known[6, 0, 5.0, 80.0] == 0.632
    # No throughput exceeds Cake's rate times 1448/1514. Two flows end at different times, so the
    # sum of their throughputs may exceed this limit slightly.
    more = []
    for (table, position, rate, delay), value in known.items():
        if layout.TABLES[table].quantity == "throughput_mbit":
            other = known.get((table, 3 - position, rate, delay), 0.0)
            slack = 0.05 if other else 0.006
            if value + other > rate * 1448 / 1514 + slack:
                more.append((table, rate, delay))
    # Only one value of the publication exceeds the capacity of its link.
    assert set(more) == {(50, 5.0, 10.0)}


def test_the_noise_of_the_source() -> None:
    """The noise is the difference between two runs of the same experiment by the authors."""
    own = truth.noise("throughput_mbit", "relative")
    assert own["cells"] == 120
    assert own["median"] == pytest.approx(0.034, abs=0.0005)
    assert own["p90"] == pytest.approx(0.0955, abs=0.0005)
    assert own["max"] == pytest.approx(0.255, abs=0.0005)
    assert truth.noise("tcp_rtt_ms", "relative")["median"] == pytest.approx(0.009, abs=0.0005)


# --- scenarios --------------------------------------------------------------------------------


def test_every_cell_has_the_time_of_the_source() -> None:
    assert layout.seconds(0.5, 160.0) == 60
    assert layout.seconds(50.0, 10.0) == 40
    assert layout.seconds(100.0, 20.0) == 60
    assert layout.seconds(100.0, 160.0) == 300
    grid = layout.GRIDS["one-flow"]
    assert sum(layout.seconds(*place) for place in product(grid.rates, grid.delays)) == 2900


@pytest.mark.parametrize("kind", ["one-flow", "two-flow"])
def test_the_scenario_files_are_what_is_run(kind: str) -> None:
    """The scenario file's sweep has the same points as the experiment's plan."""
    scenario = Path(layout.__file__).parent / "scenarios" / f"{kind}.toml"
    alone = {point.run_id for point in tailback.check(scenario).points}
    setups = [s for s in layout.SETUPS if s.kind == kind]
    batches = pts.plan(pts.every(setups), seeds=1)
    planned = [p.run_id for b in batches for p in tailback.check(b.job.scenario, seeds=1).points]
    assert set(planned) == alone
    assert len(planned) == len(alone) == {"one-flow": 320, "two-flow": 900}[kind]


def test_one_set_of_options_for_every_cell() -> None:
    found: dict[str, set[str]] = {}
    for batch in pts.plan(pts.every(layout.SETUPS), seeds=1):
        made: Any = batch.job.scenario
        for flow in made["flows"]:
            name = flow["cc"] if isinstance(flow["cc"], str) else flow["cc"]["name"]
            found.setdefault(name, set()).add(json.dumps(flow["cc"]))
        assert list(made["sweep"]) == ["zip"]
        assert list(made["sweep"]["zip"][0]) == ["bottleneck.rate", "path.rtt", "duration"]
    assert sorted(found) == sorted(layout.CCS)
    assert {len(options) for options in found.values()} == {1}


def test_a_quick_sample_is_even() -> None:
    found = pts.sample(layout.SETUPS)
    assert found == pts.sample(layout.SETUPS)
    ones = {setup: places for setup, places in found.items() if setup.kind == "one-flow"}
    for places in ones.values():
        assert len(places) == len({rate for rate, _ in places}) == len({d for _, d in places}) == 8
    pairs = [places for setup, places in found.items() if setup.kind == "two-flow"]
    counts = {place: pairs.count([place]) for (place,) in pairs}
    assert len(counts) == 20
    assert set(counts.values()) <= {2, 3}


def test_parts() -> None:
    assert set(GROUPS) == {"one-flow", "two-flow", "flowblind", "sce-single", "fair-queued", "jain"}
    assert [len(GROUPS[name]) for name in GROUPS] == [10, 97, 33, 32, 32, 7]
    assert "table-24" in PARTS
    assert "table-11" in PARTS
    assert "table-112" not in PARTS
    told = unknown("part", "table-211", PARTS)
    assert (
        told.endswith('jain, ablation, table-5 to table-111; did you mean "table-21"?')
        or 'did you mean "table-' in told
    )
    assert "table-5 to table-111" in told


def test_a_part_that_does_not_exist(tailback: Tailback, tmp_path: Path) -> None:
    done = tailback("reproduce", "sce-2019", "--part", "table-4")
    assert done.returncode == 2
    assert 'part "table-4" does not exist' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_linux_has_no_sce(tailback: Tailback, kernel_kit: Kit, tmp_path: Path) -> None:
    assert kernel_kit
    done = tailback("reproduce", "sce-2019", "--engine", "kernel", "--part", "table-24")
    assert done.returncode == 2
    assert "Linux has no SCE" in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- evaluation of results -----------------------------------------------------------------------


def made_up(
    answer: Callable[[TableId, int, float, float], float], wanted: Sequence[TableId]
) -> list[pts.SceEntry]:
    """Return the values of synthetic runs. `answer` returns the measured value for each published
    value."""
    setups = tuple(dict.fromkeys(table.setup for table in wanted))
    batches = pts.plan(pts.every(setups), seeds=1)
    fields = {"throughput_mbit": "throughput_mbit", "tcp_rtt_ms": "srtt_ms_mean"}
    results = []
    for batch in batches:
        own = {t.quantity: t for t in wanted if t.setup == batch.setup}
        runs = []
        for rate, delay in batch.places:
            flows = [
                {
                    "cc": cc,
                    **{fields[q]: answer(own[q], i + 1, rate, delay) for q in fields if q in own},
                }
                for i, cc in enumerate(batch.setup.ccs)
            ]
            jain = answer(own["jain"], 0, rate, delay) if "jain" in own else None
            params = {
                "bottleneck.rate": round(rate * 1e6),
                "path.rtt": round((delay + pts.BASE_MS) * 1e6),
            }
            runs.append(FakeRun(params, 1, {"flows": flows, "jain": jain, "duration_s": 30.0}))
        results.append(runs)
    return pts.entries(wanted, batches, results)


def off_by(factor: float) -> Callable[[TableId, int, float, float], float]:
    """Return a function that gives `factor` times the published value, or `factor` if no value was
    published."""
    known = layout.published()
    return lambda table, position, rate, delay: (
        factor * known.get((table.number, position, rate, delay), 1.0)
    )


ALL = tuple(layout.TABLES.values())


def test_cells_name_table_row_and_column() -> None:
    found = made_up(off_by(1.03), ALL)
    assert len(found) == 4240 + 140
    by_id = {entry.cell.id: entry for entry in found}
    assert len(by_id) == len(found)
    cell = by_id["Table 12/5Mbit/20ms"].cell
    assert (cell.quantity, cell.unit, cell.published, cell.n) == (
        *("throughput_mbit", "Mbit/s"),
        *(4.76, 1),
    )
    assert cell.measured == pytest.approx(4.76 * 1.03)
    assert not cell.blind
    assert by_id["Table 12/25Mbit/20ms"].cell.blind
    # The set-up of DCTCP was changed after all published values of DCTCP were known. These values
    # therefore do not count as held-out.
    assert not by_id["Table 15/25Mbit/20ms"].cell.blind
    told = by_id["Table 25/50Mbit/20ms/2"].json()
    assert (told["table"], told["cc"], told["peer"], told["position"]) == (25, "dctcp", "cubic", 2)
    assert (told["published"], told["rate_mbit"], told["delay_ms"]) == (31.72, 50.0, 20.0)
    assert by_id["Table 6/5Mbit/80ms"].cell.published == 0.632
    assert all(entry.cell.published is not None for entry in found)


def test_goals() -> None:
    """Each goal applies to its own group of values."""
    rows = {row["quantity"]: row for row in truth.summary(made_up(off_by(1.05), ALL))}
    clear = rows["throughput_mbit.one-flow,fair-queued"]
    assert (clear["cells"], clear["median_goal_error"]) == (5 * 64 + 600, pytest.approx(0.05))
    assert not clear["holds"]
    assert rows["throughput_mbit.one-flow,fair-queued.cubic,reno"]["cells"] == 2 * 64 + 3 * 40
    shared = rows["throughput_mbit.shared"]
    assert shared["cells"] == 1200
    # The error is 5 % of the flow's rate. The flow's rate is about half of the link's rate.
    assert 0.01 < shared["median_goal_error"] < 0.03
    assert shared["source_noise"]["cells"] == 120
    assert rows["tcp_rtt_ms.from-5Mbit"]["cells"] + rows["tcp_rtt_ms.below-5Mbit"]["cells"] == 2120
    assert rows["tcp_rtt_ms.below-5Mbit"]["holds"]
    assert rows["jain"]["cells"] == 140
    exact = truth.verdicts(made_up(off_by(1.0), ALL))
    assert [verdict.holds for verdict in exact] == [True] * 6


def test_tables_as_files() -> None:
    wanted = [layout.TABLES[25], layout.TABLES[5]]
    made = tables.files(made_up(off_by(1.1), wanted))
    rows = list(csv.reader(io.StringIO(made["tables/table-25.csv"])))
    assert rows[0] == ["what", "Mbit/s", "0 ms", "10 ms", "20 ms", "80 ms"]
    assert [row[:2] for row in rows[1:]] == [
        [what, rate]
        for what in ("published", "measured", "difference")
        for rate in ("1", "5", "10", "50", "100")
    ]
    assert rows[4][4] == "15.25 / 31.72"
    assert rows[9][4] == "16.78 / 34.89"
    assert rows[14][4] == "+1.53 / +3.17"
    text = made["tables/table-25.md"]
    assert text.startswith("# Table 25: CUBIC and DCTCP, flowblind, throughput (Mbit/s)\n")
    assert "Each entry is CUBIC / DCTCP." in text
    assert "| 50 |" in text
    assert "0.993" in made["tables/table-5.md"]
    assert len(made["all-cells.csv"].splitlines()) == 1 + 40 + 20


def test_the_report_of_made_up_runs(tmp_path: Path) -> None:
    wanted = [layout.TABLES[number] for number in (6, 12, 17, 28, 24, 73)]
    entries = made_up(off_by(1.3), wanted)
    made = report.ran([], options=())
    written = report.report(entries, made, quick=False)
    ids = [section.id for section in written.sections]
    assert ids == [
        *("result", "map-one-flow", "map-flowblind", "misses", "set-up"),
        *("tables-one-flow", "tables-flowblind", "tables-jain"),
    ]
    # An error of 30 % exceeds the limit of 25 %.
    off = misses.listed(entries)
    assert len(off) == sum(e.cell.published is not None for e in entries)
    assert {entry.table.number for entry in off} == {6, 12, 17, 24, 28, 73}
    for figure in written.figures():
        drawn = export.spec(figure.chart)
        assert sum(map(len, drawn["datasets"].values())) in (40, 64, 80)
    index = tailback_write(written, tmp_path / "report")
    assert (index.parent / "tables" / "table-28.md").is_file()
    assert "table-24" in index.read_text()


def tailback_write(report: Any, folder: Path) -> Path:
    from tailback.report import write

    return write(report, folder)


def test_what_a_mechanism_does_is_told_of_the_cells_it_concerns() -> None:
    plan = ablation.plan(quick=False, seeds=1)
    rows = [BASELINE, *(tried.id for tried in ablation.TRIED)]
    remarks = [f"{r.id}/{name}" for r in ablation.REMARKS for name in (BASELINE, *r.tried)]
    assert list(plan) == [*rows, *remarks]
    # The plan contains all values of sixteen set-ups (one flow, and five pairs in three modes).
    assert len(plan["precise"]) == 16
    assert sum(len(batch.places) for batch in plan["precise"]) == 64 + 15 * 20
    assert set(ablation.EVERY) <= {tried.id for tried in ablation.TRIED}
    concerned = {batch.setup for batch in plan["no-unit-quirk"]}
    assert all(set(setup.ccs) & {"reno-sce", "dctcp-sce"} for setup in concerned)
    assert {batch.setup.mode for batch in plan["slope"]} == {"flowblind sce-single"}
    made: Any = plan["slope"][0].job.scenario
    assert made["bottleneck"]["queue"]["sce_single_slope"] == "kept"
    made = next(b.job.scenario for b in plan["no-unit-quirk"] if b.setup.ccs == ("dctcp-sce",))
    assert made["flows"][0]["cc"]["unit_quirk"] == 0


# --- real runs -----------------------------------------------------------------------------------


def run(made: Sequence[pts.SceBatch], out: Path, **options: Any) -> list[pts.SceEntry]:
    """Run these batches. Return their values."""
    results = tailback.run_many([b.job for b in made], out=out, progress=False, **options)
    return pts.entries(pts.tables_of(b.setup for b in made), made, results)


#: The number of published values that the test selects by hash.
DRAWN = 48


def test_cells_drawn_by_hash(tmp_path: Path) -> None:
    """Each error is compared with the limit for the 90th percentile of the value's group. A table
    in the repository lists the values beyond the limit."""
    every = [(s, place) for s, places in pts.every(layout.SETUPS).items() for place in places]
    chosen = draw(every, lambda at: f"{at[0].title}, {at[1][0]:g} Mbit/s, {at[1][1]:g} ms", DRAWN)
    wanted: dict[SceSetup, list[pts.Place]] = {}
    for setup, place in chosen:
        wanted.setdefault(setup, []).append(place)
    found = run(pts.plan(wanted, seeds=1), tmp_path)
    rows = []
    for entry in sorted(found, key=lambda e: (e.table.number, e.place, e.position)):
        goal = next(goal for goal in truth.GOALS if goal.belongs(entry))
        error = entry.error(goal.kind)
        assert error is not None
        shown = f"{error:+.3f}" if goal.kind == "absolute" else f"{100 * error:+.1f} %"
        within = "" if abs(error) <= goal.p90 else "miss"
        cell = entry.cell
        numbers = (f"{cell.published:g}", f"{cell.measured:.3f}", shown)
        rows.append((cell.id, entry.cc, entry.table.setup.mode or "alone", *numbers, within))
    head = ("value", "flow", "mode", "published", "measured", "error", "")
    check("sce-2019", head, rows)


def test_cells_on_the_kernel(kernel_kit: Kit, tmp_path: Path) -> None:
    """Run each congestion control alone at three combinations of rate and delay. Compare throughput
    and RTT."""
    assert kernel_kit
    places = [(5.0, 20.0), (10.0, 10.0), (10.0, 20.0)]
    wanted = {SceSetup("", (cc,)): places for cc in pts.STOCK}
    found = run(pts.plan(wanted, seeds=1, engine="kernel"), tmp_path, engine="kernel")
    assert len(found) == 18
    for one in found:
        assert one.cell.relative is not None
        allowed = 0.02 if one.table.quantity == "throughput_mbit" else 0.06
        assert abs(one.cell.relative) <= allowed, one


def test_cake_keeps_the_rate_of_the_link(kernel_kit: Kit, tmp_path: Path) -> None:
    """The kernel's Cake itself implements rate steps and link overhead."""
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
    # With link overhead, the transmission of a packet of 1514 bytes takes as long as that of 1552
    # bytes.
    sent = queue["utilisation"] * 1552 / 1514
    assert sent == pytest.approx(1, abs=0.005)
    assert queue["drops"] == 0
    assert queue["marks"] > 10
    warnings = run.manifest["environment"]["guest"]["warnings"]
    assert warnings == [], "captures agree with Cake's own counts"
    assert kernel_kit.version in run.manifest["engine_version"]


def test_a_table_ends_with_a_report(tmp_path: Path) -> None:
    done = get("sce-2019").run(
        ["table-25"], RunOptions(seeds=2, jobs=2, out=tmp_path, progress=False), quick=True
    )
    assert done.report_dir == tmp_path / "reports" / "sce-2019-table-25"
    assert (done.report_dir / "index.html").is_file()
    assert (done.report_dir / "tables" / "table-25.csv").is_file()
    assert [cell["n"] for cell in done.cells] == [2, 2]
    again = get("sce-2019").run(
        ["table-25"], RunOptions(seeds=2, jobs=1, out=tmp_path / "b", progress=False), quick=True
    )
    assert again.cells == done.cells, "the same at any number of jobs"
    told = json.loads(json.dumps(done.to_dict()))
    assert told["experiment"] == "sce-2019"
    assert {row["quantity"] for row in told["summary"]} == {
        "throughput_mbit",
        "throughput_mbit.shared",
    }
