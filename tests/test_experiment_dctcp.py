"""Tests the experiment about DCTCP of 2014: the evaluation of synthetic runs and of a few real
runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import tailback
from drawn import check, draw
from synthetic import FakeRun, expand, measured, run
from tailback.figures import export
from tailback.metrics.crossing import crossing, monotone
from tailback.report import Mark, Table
from tailback.running.options import RunOptions
from tailback_studies.experiments import get
from tailback_studies.experiments.dctcp_internet_2014 import (
    QUICK_SEEDS,
    SEEDS,
    beside,
    table1,
)
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.charts import fixed_point
from tailback_studies.experiments.dctcp_internet_2014.options import DECLARED, OPTIONS, READINGS
from tailback_studies.experiments.dctcp_internet_2014.parts import PARTS
from tailback_studies.experiments.dctcp_internet_2014.report import report

SCENARIOS = sorted((Path(pts.__file__).parent / "scenarios").glob("*.toml"))


# --- crossings -----------------------------------------------------------------------------------


def test_a_crossing_of_a_staircase_lies_between_its_steps() -> None:
    found = crossing([1.0, 2.0, 3.0, 4.0], [2.0, 1.5, -0.5, -3.0], falling=True)
    assert found
    assert (found.left, found.right) == (1, 2)
    assert found.x == pytest.approx(2.75)
    assert found.at([0.0, 10.0, 20.0, 30.0]) == pytest.approx(17.5)


def test_noise_on_a_flat_part_makes_one_crossing() -> None:
    # The curve falls below 0 and then rises above 0 again. Pooling replaces both middle values with
    # 0.05, so that the curve is monotone.
    found = crossing([1.0, 2.0, 3.0, 4.0], [1.0, -0.1, 0.2, -1.0], falling=True)
    assert found
    assert found.x == pytest.approx(3.0 + 0.05 / 1.05)


def test_values_on_the_level_count_with_their_middle() -> None:
    found = crossing([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, -1.0], falling=True)
    assert found
    assert found.x == 2.5


def test_there_is_no_crossing_on_one_side_of_the_level() -> None:
    assert crossing([1.0, 2.0], [1.0, 0.5], falling=True) is None
    assert crossing([1.0, 2.0], [-0.5, -1.0], falling=True) is None


def test_monotone_is_the_least_squares_fit() -> None:
    assert monotone([1.0, 3.0, 2.0, 4.0], falling=False) == [1.0, 2.5, 2.5, 4.0]
    assert monotone([1.0, 2.0, 3.0], falling=True) == [2.0, 2.0, 2.0]


# --- K at equal rates -----------------------------------------------------------------------------


def staircase_runs(equal_frames: float, seeds: int = 3) -> list[FakeRun]:
    """Make runs of one row of Table I. The flows share the link equally if K is `equal_frames`."""
    return [
        run(
            {f"{pts.ECN}.min": f"{pts.FRAME * n - pts.FRAME // 2}b"},
            seed,
            ratio=math.exp(equal_frames + 0.5 - n + 0.01 * (seed - 2)),
            utilisation=0.9 + 0.01 * n,
            queue_bdp=0.1 * n,
        )
        for n in range(3, 9)
        for seed in range(1, seeds + 1)
    ]


def test_equal_share_of_a_staircase() -> None:
    m = 0.125
    found = table1.share(pts.table(staircase_runs(5.25)), m)
    assert found
    # The crossing is three quarters of the way from the middle of the step of 5 frames to the
    # middle of the step of 6 frames.
    assert found.x == pytest.approx(5.25 * pts.FRAME / (m * pts.BDP))
    assert found.utilisation == pytest.approx(0.9 + 0.01 * 5.75)
    assert found.occupancy == pytest.approx(0.1 * 5.75)
    assert found.n == 3
    # Neighbouring crossings of the three seeds differ by 0.01 frames. With 2 degrees of freedom, t
    # is 4.303.
    frames = found.ci95 / (pts.FRAME / (m * pts.BDP)) if found.ci95 else 0.0
    assert frames == pytest.approx(4.302653 * 0.01 / math.sqrt(3), rel=1e-6)


def test_a_starved_flow_does_not_hide_the_crossing() -> None:
    runs = staircase_runs(5.25)
    runs[-1].summary["flows"][0]["throughput_mbit"] = 0.0
    found = table1.share(pts.table(runs), 0.125)
    assert found
    assert found.n == 3
    assert found.x == pytest.approx(5.25 * pts.FRAME / (0.125 * pts.BDP))


def test_steps_are_whole_frames() -> None:
    low, high = pts.staircase(6750, 0.125)
    assert (low, high) == (6000 / 3906.25, 7500 / 3906.25)
    # The paper has K/M = 2.3 for M = BDP/8. This K is 5.99 frames, at the edge between two steps.
    assert pts.staircase(2.304 * 0.125 * pts.BDP, 0.125)[1] == pytest.approx(2.304)


def test_formula_3() -> None:
    assert pts.formula3(0.5) == pytest.approx(0.2)
    for r in (1.5, 2.0, 5.0):
        assert pts.formula3((r - 1) / r) == pytest.approx(0.1 * r)
    with pytest.raises(ValueError, match="formula"):
        pts.formula3(1.0)


def test_half_the_growth_and_half_the_marks_have_nearly_the_same_fixed_point() -> None:
    # These ratios follow from windows of 2/p and 1.22/sqrt(p), and from uniformised RED.
    for min_ratio, expected in ((0.125, 0.109), (0.25, 0.127), (0.5, 0.186), (0.75, 0.350)):
        assert fixed_point(min_ratio) == pytest.approx(expected, rel=0.08)


# --- scenario files and plan ---------------------------------------------------------------------


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.stem)
def test_scenario_files_are_valid(path: Path) -> None:
    assert tailback.check(path).points


def test_every_change_of_the_options_is_valid() -> None:
    readings = [(name, changes) for name, _, changes, _ in READINGS]
    for quick in (False, True):
        batches = pts.plan(PARTS, OPTIONS, readings, quick=quick)
        for batch in batches.values():
            tailback.check(batch.scenario, set=batch.set)


def test_table_1_runs_on_a_complete_staircase() -> None:
    for tag, m in pts.ROWS:
        steps = pts.scenario(f"fig5-m{tag}")["sweep"]["zip"][0][f"{pts.ECN}.min"]
        frames = [math.ceil(float(k.removesuffix("b")) / pts.FRAME) for k in steps]
        assert frames == list(range(frames[0], frames[-1] + 1))
        assert (frames[0] - 1) * pts.FRAME <= m * pts.BDP <= frames[0] * pts.FRAME
        assert frames[-1] * pts.FRAME >= 3 * m * pts.BDP


def test_figure_10_scales_as_the_paper_says() -> None:
    for name, width in (("fig10-width-bdp", lambda _m: 2.0), ("fig10-width-min", lambda m: 2 * m)):
        (zipped,) = pts.scenario(name)["sweep"]["zip"]
        for row in zip(*zipped.values(), strict=True):
            low, high, prob, ecn_low, ecn_high, ecn_prob = row
            m = pts.bdp_size(low)
            assert pts.bdp_size(high) == pytest.approx(3 * m)
            assert prob == pytest.approx(min(1, 0.1 / m), abs=1e-5)
            assert pts.bdp_size(ecn_low) == pytest.approx(m / 2)
            slope = ecn_prob / (pts.bdp_size(ecn_high) - pts.bdp_size(ecn_low))
            assert slope == pytest.approx(0.2 / m / width(m), rel=1e-3)


def test_quick_has_the_same_parts_and_fewer_runs() -> None:
    readings = [(name, changes) for name, _, changes, _ in READINGS]
    full = pts.plan(PARTS, OPTIONS, readings, quick=False)
    short = [(name, changes) for name, _, changes, brief in READINGS if brief]
    quick = pts.plan(PARTS, OPTIONS, short, quick=True)
    brief = {f"readings/{name}/" for name, _, _, short in READINGS if short}
    kept = {b for b in full if not b.startswith("readings/") or b.rpartition("/")[0] + "/" in brief}
    assert set(quick) == kept

    def simulated(batches: dict[str, pts.DctcpBatch], seeds: int) -> float:
        return sum(
            len(list(expand(b.scenario)))
            * min(seeds, b.most_seeds or seeds)
            * float(pts.lengths(b)[0].removesuffix("s"))
            for b in batches.values()
        )

    assert simulated(quick, QUICK_SEEDS) < simulated(full, SEEDS) / 10


def test_frames_on_linux_are_those_of_the_paper() -> None:
    batches = pts.plan(PARTS, OPTIONS, [], quick=True, engine="kernel")
    for name, batch in batches.items():
        frame = batch.set["tcp.mss"] + batch.set["tcp.header"]
        assert frame == (1514 if name.startswith("ablation/header/") else pts.FRAME), name
        assert batch.set["path.offloads"] is False


def test_engines_stand_side_by_side() -> None:
    """The report marks a miss on Linux if the simulator misses the same criterion in the same
    direction.
    """
    parts = ("table1", "fig10")
    both = measured(parts)
    low = pl.col("utilisation") - 0.05
    worse = {name: frame.with_columns(utilisation=low) for name, frame in both.frames.items()}
    linux = replace(both, engine="kernel", frames=worse, simulated=both.frames)
    first, second = beside.sections(Builder(linux))
    [table] = first.blocks
    assert isinstance(table, Table)
    assert len(table.rows) == 25
    for row in table.rows:
        cell, paper, sim, kernel, apart, *_ = row
        assert isinstance(paper, float)
        assert isinstance(sim, float)
        assert isinstance(kernel, float)
        assert apart == pytest.approx(kernel - sim)
        assert apart == pytest.approx(-0.05 if "utilisation" in str(cell) else 0, abs=1e-9)
    agreeing = [row[6] for row in table.rows if "utilisation" in str(row[0])]
    assert agreeing == [Mark("no", "miss")] * 10
    [figures] = second.blocks
    assert isinstance(figures, Table)
    titles = [row[0] for row in figures.rows]
    assert "Figure 10, marking ramp of 2 BDP" in titles
    assert [round(float(str(row[4])), 6) for row in figures.rows] == [0.05] * len(titles)
    cells = beside.with_simulated(table1.cells(worse), linux)
    assert all(entry["simulated"] is not None for entry in cells)
    refused = beside.not_run({"x": "because"})
    assert isinstance(refused.blocks[0], Table)
    assert refused.blocks[0].rows == [["x", "because"]]


def test_the_reading_taken_is_the_one_without_changes() -> None:
    name, _, changes, quick = READINGS[0]
    assert (name, changes, quick) == ("taken", {}, True)
    assert sum(basis == "inferred" for _, _, basis, _ in DECLARED) == 2


# --- the report ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built() -> tuple[Builder, object]:
    builder = Builder(measured(PARTS))
    return builder, report(builder, PARTS)


def test_every_part_has_its_section(built: tuple[Builder, object]) -> None:
    ids = [section.id for section in built[1].sections]  # type: ignore[attr-defined]
    assert set(PARTS) <= set(ids)
    assert ids[:3] == ["result", "table1", "readings"]


def test_figures_have_no_more_rows_than_altair_takes(
    built: tuple[Builder, object],
) -> None:
    for figure in built[1].figures():  # type: ignore[attr-defined]
        made = export.spec(figure.chart)
        # Validate the chart with Altair too, because reports skip this check.
        figure.chart.to_dict()
        for rows in made.get("datasets", {}).values():
            assert len(rows) <= 5000


def test_cells_of_table_1(built: tuple[Builder, object]) -> None:
    cells = {cell.id: cell for cell in built[0].cells}
    table = [c for c in cells.values() if c.id.startswith("Table I/")]
    assert len(table) == 25
    k = cells["Table I/M=0.125/K over M"]
    assert (k.quantity, k.unit, k.published, k.n) == ("k_over_m", "1", 2.3, 3)
    assert k.tolerance == pytest.approx(0.384)
    assert cells["Table I/M=1/K over M"].tolerance == pytest.approx(0.1)
    assert cells["Table I/M=1/Reno and DCTCP/occupancy"].tolerance == pytest.approx(0.0792)
    for cell in table:
        assert set(cell.json()) == {
            "id",
            "quantity",
            "unit",
            "published",
            "measured",
            "n",
            "ci95",
            "blind",
        }
    # The made-up runs share equally at the paper's thresholds.
    assert all(c.status == "pass" for c in table if c.quantity == "k_over_m")


def test_one_part_alone_makes_a_report() -> None:
    for part in PARTS:
        made = report(Builder(measured((part,))), (part,))
        assert part in [section.id for section in made.sections]


# --- real runs -----------------------------------------------------------------------------------


def test_rows_of_table_1_drawn_by_hash(tmp_path: Path) -> None:
    """Two rows that a hash selects, with one seed each, have errors within the experiment's
    tolerances."""
    names = [f"readings/taken/{kind}" for kind in ("two-reno", *(f"step-{t}" for t, _ in pts.ROWS))]
    batches = pts.plan(["readings"], [], [("taken", {})], quick=False)
    published = table1.published()
    rows = draw(range(len(pts.ROWS)), lambda i: f"M = {pts.ROWS[i][1]:g}", 2)
    wanted = [names[0], *(names[1 + i] for i in sorted(rows))]
    jobs = [tailback.Job(batches[name].scenario, batches[name].set, 1) for name in wanted]
    found = tailback.run_many(jobs, out=tmp_path, progress=False)
    frames = {n: pts.table(r.points) for n, r in zip(wanted, found, strict=True)}
    cells = []
    for i in sorted(rows):
        share = table1.share(frames[names[1 + i]], pts.ROWS[i][1])
        cells += table1.step_cells(published[i], share)
        cells += table1.two_reno_cells(published[i], frames[names[0]])
    shown = [
        (c.id, f"{c.published:g}", f"{c.measured:.3f}", f"{c.error:+.3f}", c.status) for c in cells
    ]
    check("dctcp-internet-2014", ("value", "published", "measured", "error", ""), shown)


def test_thresholds_between_two_frames_are_the_same_queue(tmp_path: Path) -> None:
    scenario = pts.scenario("fig5-m0.25")
    scenario["duration"], scenario["warmup"] = "20s", "2s"
    thresholds = ["7812b", "8203b", "9000b", "9001b"]
    scenario["sweep"] = {"zip": [{f"{pts.ECN}.min": thresholds, f"{pts.ECN}.max": thresholds}]}
    frame = pts.table(tailback.run(scenario, out=tmp_path, progress=False).points)
    ratios = frame["ratio"].to_list()
    assert ratios[0] == ratios[1] == ratios[2]
    assert ratios[3] != ratios[0]


def test_table_1_comes_out(tmp_path: Path) -> None:
    """Every published value, including the values with two Reno flows, is within the report's
    tolerance."""
    result = get("dctcp-internet-2014").run(
        ["table1"], RunOptions(seeds=2, jobs=2, out=tmp_path, progress=False), quick=True
    )
    assert result.report_dir == tmp_path / "reports" / "dctcp-internet-2014-table1"
    assert (result.report_dir / "index.html").is_file()
    assert json.loads(json.dumps(result.to_dict()))["experiment"] == "dctcp-internet-2014"
    assert len(result.cells) == 25
    for cell in result.cells:
        m = float(cell["id"].partition("M=")[2].partition("/")[0])
        published = cell["published"]
        if cell["quantity"] == "k_over_m":
            allowed = max(0.1, 1500 / (m * pts.BDP))
        elif cell["quantity"].endswith("utilisation"):
            allowed = 0.01
        else:
            allowed = max(0.02, 0.08 * published)
        assert abs(cell["measured"] - published) <= allowed, cell


def test_formula_3_is_a_ridge_of_fairness(tmp_path: Path) -> None:
    result = get("dctcp-internet-2014").run(
        ["fig9"], RunOptions(seeds=2, jobs=2, out=tmp_path, progress=False), quick=True
    )
    jain = {
        float(cell["id"].partition("DCTCP=")[2].partition(" ")[0]): cell["measured"]
        for cell in result.cells
        if cell["quantity"] == "jain_formula_3"
    }
    held = [value for threshold, value in jain.items() if threshold <= 0.5]
    assert len(held) == 3
    assert min(held) >= 0.99, jain
