"""Tests the experiment `abe-2017`: formulas, evaluation, a few real runs, and errors."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import responses
import tailback
from conftest import Tailback
from drawn import check as hold
from drawn import draw
from tailback import check
from tailback.errors import InputError, ScenarioError, ScenarioWarning
from tailback.kernel.kit import Kit
from tailback.metrics.statistics import estimate
from tailback.running.options import RunOptions
from tailback.store.results import Results
from tailback_studies.experiments import get
from tailback_studies.experiments.abe_2017 import (
    enter,
    equal,
    groups,
    layout,
    page,
    predict,
    report,
    short,
    single,
    tradeoff,
    truth,
)
from tailback_studies.experiments.abe_2017.cells import cells
from tailback_studies.experiments.abe_2017.measured import AbeMeasures

SCENARIOS = sorted((Path(layout.__file__).parent / "scenarios").glob("*.toml"))


# --- theory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "shares", "gain"),
    [
        (0, (0.750, 0.800, 0.850, 0.900, 0.925, 0.950), 1.200),
        (0.06, (0.792, 0.844, 0.896, 0.946, 0.970, 0.990), 1.194),
        (0.125, (0.832, 0.885, 0.935, 0.979, 0.995, 1), 1.176),
        (0.25, (0.893, 0.941, 0.981, 1, 1, 1), 1.120),
        (0.5, (0.964, 0.993, 1, 1, 1, 1), 1.037),
    ],
)
def test_utilisation_is_the_reference_s_table(
    queue: float, shares: tuple[float, ...], gain: float
) -> None:
    betas = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
    found = [predict.aimd_utilisation(beta, 1 + queue) for beta in betas]
    assert found == pytest.approx(shares, abs=0.0006)
    assert found[3] / found[0] == pytest.approx(gain, abs=0.0006)


def test_cubic_without_a_buffer() -> None:
    assert predict.cubic_utilisation(0.7, 1) == pytest.approx(0.925)
    assert predict.cubic_utilisation(0.85, 1) == pytest.approx(0.9625)
    # With a buffer, compute the mean of min(1, x (1 - (1 - beta) s^3)) numerically.
    steps = 100_000
    mean = sum(min(1, 1.1 * (1 - 0.3 * ((i + 0.5) / steps) ** 3)) for i in range(steps)) / steps
    assert predict.cubic_utilisation(0.7, 1.1) == pytest.approx(mean, abs=1e-6)


def test_ratios_at_equal_probability_are_the_reference_s_table() -> None:
    betas = (0.7, 0.75, 0.8, 0.85, 0.9)
    reno = [round(predict.ratio("reno", beta), 2) for beta in betas]
    cubic = [round(predict.ratio("cubic", beta), 2) for beta in betas]
    assert reno == [1.37, 1.53, 1.73, 2.03, 2.52]
    assert cubic == [1.0, 1.05, 1.11, 1.20, 1.33]
    # With random marks and a backoff factor of 1/2, the constant equals the constant in the
    # square-root law of Ott, Kemperman and Mathis.
    assert predict.random_constant(0.5) == pytest.approx(1.3098, abs=1e-4)


def test_reductions_that_halve_a_window() -> None:
    assert [predict.steps(b) for b in (0.5, 0.7, 0.8, 0.85, 0.9)] == [1, 2, 4, 5, 7]


@pytest.mark.parametrize("x", [1.0, 1.1])
def test_cycle_by_cycle_is_the_formula_where_paths_are_long(x: float) -> None:
    path = 20_000
    found = predict.utilisation_by_cycles("reno", 0.5, [x * path], path, 0.1)
    assert found == pytest.approx(predict.aimd_utilisation(0.5, x), abs=0.001)
    # Simulated windows grow by whole segments, so the results differ slightly from the formula. The
    # last segment takes 1.4 s of a cycle of K = 24 s.
    plain = predict.utilisation_by_cycles("cubic", 0.7, [x * path], path, 0.02, fast=False)
    assert plain == pytest.approx(predict.cubic_utilisation(0.7, x), abs=0.006)


def test_fast_convergence_costs_utilisation() -> None:
    windows = [264.0, 262.0]
    with_it = predict.utilisation_by_cycles("cubic", 0.7, windows, 264, 0.16)
    without = predict.utilisation_by_cycles("cubic", 0.7, windows, 264, 0.16, fast=False)
    # From the shape of the window's curve, the mean is 0.925 without fast convergence and 0.879
    # with fast convergence.
    assert 0.04 < without - with_it < 0.07


# --- scenarios ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenario_files_are_valid(path: Path) -> None:
    assert tailback.check(path).points


def test_every_part_has_the_points_of_the_source() -> None:
    parts = layout.KERNEL_PARTS
    planned = single.plan(parts, quick=False, seeds=None, engine="sim")
    for setup, job in planned:
        points = tailback.check(job.scenario, seeds=job.seeds).points
        rtts = {float(p.params["path.rtt"]) / 1e6 for p in points}
        betas = {p.params["flows.flow.cc.beta_ecn"] for p in points}
        assert rtts == set(layout.RTTS)
        assert betas == set(layout.BETAS[setup.cc])
        assert len(points) == len(rtts) * len(betas) * single.SEEDS
        # A gain is relative to the standard backoff factor, so every point also needs a run with
        # the standard factor.
        assert all(p.baseline for p in points)
    assert {s.part for s, _ in planned} == set(parts)
    for _, job in groups.plan(quick=False, seeds=None):
        points = tailback.check(job.scenario, seeds=job.seeds).points
        assert {float(p.params["path.rtt"]) / 1e6 for p in points} == {20, 80, 160, 320}
        assert {p.seed for p in points} == set(range(1, 31))
    for _, job in enter.plan(quick=False, seeds=None):
        assert {p.seed for p in tailback.check(job.scenario, seeds=job.seeds).points} == set(
            range(1, 31)
        )


def test_linux_has_experiments_one_to_four(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only the simulator runs experiment-5"):
        layout.kernel_only(("experiment-5",), True, "abe-2017")
    assert layout.kernel_only(tuple(layout.PARTS), False, "abe-2017") == layout.KERNEL_PARTS
    assert layout.options("pie", "kernel") == layout.options("pie-8033", "sim")
    with pytest.raises(InputError, match=r"did you mean .experiment-7"):
        get("abe-2017").run(
            ["experiment-8"], RunOptions(seeds=1, jobs=1, out=tmp_path, progress=False), quick=True
        )


# --- evaluation of runs --------------------------------------------------------------------------


class Entered:
    """A run whose two flows have the given rates from 30 s on, when the second flow starts."""

    def __init__(self, rates: list[tuple[float, float]]) -> None:
        self.summary = {
            "flows": [{"name": "first"}, {"name": "second"}],
            "duration_s": 30.0 + len(rates),
        }
        rows: list[tuple[int, str, float]] = [(29_900_000_000, "first", 1e6)]
        rows.append((30_000_000_000, "first", 1e6))
        one, other = 1e6, 0.0
        for i, (a, b) in enumerate(rates):
            one, other = one + a, other + b
            time = (31 + i) * 1_000_000_000
            rows += [(time, "first", one), (time, "second", other)]
        self.rows = rows

    def series(self) -> pl.DataFrame:
        return pl.DataFrame(
            self.rows, schema=["time_ns", "flow", "value"], orient="row"
        ).with_columns(pl.lit("delivered_bytes").alias("quantity"))


def test_time_to_a_fair_share() -> None:
    # For the cumulative sums 90:10, 150:50, 200:100 and 240:160, Jain's index is 0.61, 0.8, 0.9 and
    # 0.96.
    run: Any = Entered([(90, 10), (60, 40), (50, 50), (40, 60)])
    assert enter.time_to_share(run) == (4.0, True)
    never: Any = Entered([(90, 10)] * 20)
    assert enter.time_to_share(never) == (20.0, False)


def test_steps_down_to_the_path() -> None:
    levels = [(140.0, 112.0), (112.0, 90.0), (90.0, 72.0), (72.0, 58.0), (90.0, 72.0)]
    assert short.steps_down(levels, 66) == 4
    assert short.steps_down(levels, 80) == 3
    assert short.steps_down(levels[:1], 66) == 1


def choice(
    beta: float, gain: float, loss: float, delay: float, seconds: float
) -> tradeoff.TradeoffPoint:
    """Return synthetic results for a backoff factor."""
    when = estimate([seconds])
    return tradeoff.TradeoffPoint("reno", "pie", beta, gain, loss, delay, delay, when)


def test_the_pareto_front() -> None:
    points = [
        choice(0.5, 0, 0, 5, 10),
        choice(0.7, 0.1, 0.1, 6, 12),
        # A factor of 0.8 gives the same gain as a factor of 0.7, and is worse by all other
        # measures.
        choice(0.8, 0.1, 0.2, 7, 13),
        choice(0.9, 0.2, 0.3, 8, 20),
    ]
    assert [p.best for p in tradeoff.front(points)] == [True, True, False, True]


# --- real runs -----------------------------------------------------------------------------------


def measured_single(tmp_path: Path, cc: str, queue: str) -> list[single.SinglePoint]:
    """Run one flow with several backoff factors at an RTT of 160 ms."""
    [(setup, job)] = [
        (setup, job)
        for setup, job in single.plan(layout.KERNEL_PARTS, quick=True, seeds=1, engine="sim")
        if (setup.cc, setup.queue, setup.rate_mbit) == (cc, queue, 10)
    ]
    scenario: Any = job.scenario
    betas = {"reno": [0.5, 0.7, 0.8], "cubic": [0.7, 0.85]}[cc]
    scenario["sweep"] = {"flows.flow.cc.beta_ecn": betas, "path.rtt": ["160ms"]}
    scenario["duration"], scenario["warmup"] = "240s", "60s"
    job = tailback.Job(scenario, {}, 1)
    results = tailback.run_many([job], out=tmp_path, progress=False)
    return single.measured([(setup, job)], results)


def test_one_newreno_flow_on_codel(tmp_path: Path) -> None:
    points = measured_single(tmp_path, "reno", "codel")
    for p in points:
        # The bandwidth-delay product of 132 segments meets the formula's assumptions.
        assert p.doubt == ""
        assert abs(truth.gap(p)) < 0.02
        assert abs(truth.cycle_gap(p)) < 0.01
        # When the window is reduced, the queue delay is 6 to 9 ms, which is 4 to 6 % of the base
        # RTT.
        assert p.x is not None
        assert 1.03 < p.x < 1.07
    assert [p.beta for p in points] == [0.5, 0.7, 0.8]
    gain = points[2].gain.mean
    assert gain is not None
    # The ABE paper gives 1.194 for a queue of 6 % of the bandwidth-delay product.
    assert gain == pytest.approx(1.195, abs=0.02)
    assert points[0].gain.mean is None


def test_cubic_gains_less_than_newreno(tmp_path: Path) -> None:
    cubic = measured_single(tmp_path, "cubic", "codel")
    reno = measured_single(tmp_path, "reno", "codel")
    assert cubic[1].gain.mean is not None
    assert reno[2].gain.mean is not None
    assert 1.05 < cubic[1].gain.mean < 1.1 < reno[2].gain.mean
    # In every other cycle, fast convergence reduces the window further.
    assert cubic[0].doubt == "fast convergence"
    assert truth.gap(cubic[0]) < -0.04
    assert abs(truth.cycle_gap(cubic[0])) < 0.02
    found = AbeMeasures(single=[*cubic, *reno])
    less = next(v for v in truth.verdicts(found) if v.id == "cubic-gains-less")
    assert (less.cells, less.holds) == (1, True)


def test_utilisation_of_cells_drawn_by_hash(tmp_path: Path) -> None:
    """Compare one flow with the formula, and with the formula applied cycle by cycle. Some of the
    cases meet the formula's assumptions, and some do not."""
    planned = single.plan(layout.KERNEL_PARTS, quick=False, seeds=1, engine="sim")
    every = [
        (setup, job, rtt, beta)
        for setup, job in planned
        for rtt in layout.RTTS
        for beta in layout.BETAS[setup.cc]
    ]
    chosen = draw(every, lambda at: f"{at[0].id}, {at[2]} ms, {at[3]}", 12)
    made = []
    for setup, job, rtt, beta in chosen:
        scenario: Any = copy.deepcopy(job.scenario)
        (zipped,) = scenario["sweep"]["zip"]
        at = zipped["path.rtt"].index(layout.rtt_text(rtt))
        scenario["sweep"] = {
            "flows.flow.cc.beta_ecn": [beta],
            "zip": [{key: [row[at]] for key, row in zipped.items()}],
        }
        made.append((setup, tailback.Job(scenario, {}, 1)))
    results = tailback.run_many([job for _, job in made], out=tmp_path, progress=False)
    rows = []
    for one, result in zip(made, results, strict=True):
        (point,) = single.measured([one], [result])
        if point.predicted is None:
            gaps = ["no reduction", ""]
        else:
            gaps = [
                f"{100 * gap:+.2f}{'' if abs(gap) <= truth.UTILISATION else ' miss'}"
                for gap in (truth.gap(point), truth.cycle_gap(point))
            ]
        rows.append((truth.where(point), *gaps))
    hold("abe-2017", ("value", "formula", "cycle by cycle"), sorted(rows))


def test_the_rate_at_equal_mark_probability(tmp_path: Path) -> None:
    planned = [p for p in equal.plan(quick=True) if p[0] == ("reno", "periodic")]
    results = tailback.run_many([job for _, job in planned], out=tmp_path, progress=False)
    found = {p.beta: p for p in equal.measured(planned, results)}
    for beta, ratio in ((0.7, 1.374), (0.8, 1.732), (0.85, 2.028)):
        measured = found[beta].ratio.mean
        assert measured is not None
        assert measured == pytest.approx(ratio, rel=0.08)
    # By the Mathis formula, the flow sends 1.22 / sqrt(p) segments every 50 ms.
    rate = found[0.5].throughput.mean
    assert rate == pytest.approx(math.sqrt(1.5 / 1e-3) * 1448 * 8 / 0.05 / 1e6, rel=0.06)


def test_a_part_ends_with_a_report(tmp_path: Path) -> None:
    done = get("abe-2017").run(
        ["experiment-7", "trade-off"], RunOptions(seeds=1, out=tmp_path, progress=False), quick=True
    )
    steps = {c["id"]: c for c in done.cells if c["quantity"] == "reduction_steps"}
    assert steps["Experiment 7/reno/pie/80ms/beta 0.8"]["predicted"] == 4
    assert done.report_dir.name == "abe-2017-experiment-7-trade-off"
    text = (done.report_dir / "report.md").read_text(encoding="utf-8")
    assert "lucky / unlucky" in text
    assert "Pareto front" in text
    # With a queue for each flow, the competitor loses only capacity that the other flow had left
    # unused.
    loss = {c["id"]: c["measured"] for c in done.cells if c["quantity"] == "competitor_loss"}
    assert loss["Trade-off/reno/pie/beta 0.5"] == 0
    assert loss["Trade-off/reno/pie/beta 0.9"] > 0.25
    assert 0 < loss["Trade-off/reno/fq_codel/beta 0.9"] < 0.12


# --- Linux ---------------------------------------------------------------------------------------

ABE = [{"name": "reno", "beta_ecn": 0.8}, {"name": "cubic", "beta_ecn": 0.85}]
#: Scenarios of marks and losses by packet number.
SIGNALS = ("marks-avoidance", "marks-one-round", "mark-then-loss", "loss-then-mark", "losses-3")


def traces(engine: str, out: Path) -> dict[tuple[str, str], responses.Trace]:
    """Return the responses of senders with ABE to the marks and losses of `SIGNALS`."""
    change = {"sweep": {"flows.flow.cc": ABE}}
    jobs = [tailback.Job(responses.HERE / f"{name}.toml", change) for name in SIGNALS]
    found = {}
    for name, results in zip(
        SIGNALS, tailback.run_many(jobs, out=out, engine=engine, progress=False), strict=True
    ):
        for run in results:
            found[name, run.summary["flows"][0]["cc"]] = responses.trace(run.series())
    return found


@pytest.fixture
def abe_kit(kernel_kit: Kit) -> Kit:
    """Return a guest kernel with tailback's modules for ABE."""
    have = {extra["name"] for extra in kernel_kit.extras()}
    if not {"tcp_reno_abe", "tcp_cubic_abe"} <= have:
        pytest.skip("the guest kernel is older than the modules; tailback kernel build adds them")
    return kernel_kit


@pytest.mark.usefixtures("abe_kit")
def test_the_modules_answer_as_the_simulator(tmp_path: Path) -> None:
    linux, simulated = traces("kernel", tmp_path), traces("sim", tmp_path)
    for case, trace in linux.items():
        ours = responses.changes(simulated[case])
        assert [r.response for r in ours] == [r.response for r in responses.changes(trace)], case
    # The first mark reduces ssthresh to 80 % of the window, and the first loss reduces it to half
    # of the window.
    first = {
        name: next(row.ssthresh for row in linux[name, "reno"] if row.ssthresh)
        for name in ("marks-one-round", "losses-3")
    }
    windows = {
        name: max(row.cwnd for row in linux[name, "reno"] if row.ssthresh is None) for name in first
    }
    for name, share in (("marks-one-round", 0.8), ("losses-3", 0.5)):
        assert first[name] == int(windows[name] * share)


@pytest.mark.usefixtures("abe_kit")
def test_a_flow_with_abe_gains_on_linux(tmp_path: Path) -> None:
    made: dict[str, Any] = layout.scenario("single")
    made["sweep"] = {"flows.flow.cc.beta_ecn": [0.5, 0.8]}
    made["path"]["rtt"] = "160ms"
    made["duration"], made["warmup"] = "150s", "50s"
    found = {
        engine: tailback.run(made, out=tmp_path, engine=engine, progress=False)
        for engine in ("kernel", "sim")
    }
    gain = {
        engine: results[1].summary["flows"][0]["throughput_gain"]
        for engine, results in found.items()
    }
    assert gain["kernel"] == pytest.approx(gain["sim"], abs=0.03)
    assert 1.15 < gain["kernel"] < 1.25


# --- gains, warnings and errors ------------------------------------------------------------------

FLOW = """\
duration = "10s"
warmup   = "2s"
[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel", ecn = true }
[path]
rtt = "80ms"
[record]
series = false
[[flows]]
name = "abe"
ecn  = true
cc   = { name = "reno", beta_ecn = 0.8 }
"""


def gains(results: Results) -> dict[float, float]:
    """Return the throughput gain of a single flow, by backoff factor."""
    return {
        float(run.params["flows.abe.cc.beta_ecn"]): run.summary["flows"][0]["throughput_gain"]
        for run in results
    }


def test_a_gain_is_over_the_standard_backoff(tmp_path: Path) -> None:
    sweep = FLOW + '[sweep]\n"flows.abe.cc.beta_ecn" = [0.8, 0.5]\n'
    results = tailback.run(sweep, out=tmp_path, progress=False)
    rates = [run.summary["flows"][0]["throughput_mbit"] for run in results]
    assert gains(results) == {0.8: pytest.approx(rates[0] / rates[1]), 0.5: 1.0}
    stored = tailback.open_results(tmp_path)
    assert gains(stored) == gains(results)


def test_a_gain_can_be_asserted(tailback: Tailback, tmp_path: Path) -> None:
    path = tmp_path / "abe.toml"
    wanted = '[[assert]]\nmetric = "throughput_gain"\nmax = 0.5\n'
    sweep = '[sweep]\n"flows.abe.cc.beta_ecn" = [{}]\n'
    path.write_text(FLOW + wanted + sweep.format("0.8, 0.5"), encoding="utf-8")
    done = tailback("run", path, "--out", tmp_path / "r", "--json")
    assert done.returncode == 1
    assert done.stderr.count("throughput_gain of flow abe is") == 2
    path.write_text(FLOW + wanted + sweep.format("0.8, 0.7"), encoding="utf-8")
    done = tailback("run", path, "--out", tmp_path / "r")
    assert done.returncode == 2
    assert 'abe.toml:15:10: there is no baseline for "throughput_gain"' in done.stderr


def test_a_comparison_of_gains_needs_a_baseline(tailback: Tailback, tmp_path: Path) -> None:
    path = tmp_path / "abe.toml"
    path.write_text(FLOW, encoding="utf-8")
    words = ["compare", path, "--variant", "a", "--variant", "b:bottleneck.rate=20Mbit"]
    done = tailback(*words, "--metric", "throughput_gain", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "variant a has no baseline" in done.stderr


def test_a_mark_that_costs_more_than_a_loss(tailback: Tailback, tmp_path: Path) -> None:
    path = tmp_path / "abe.toml"
    path.write_text(FLOW.replace("0.8 }", "0.4 }"), encoding="utf-8")
    done = tailback("run", path, "--out", tmp_path / "r", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["points"]) == 1
    message, _, caret, advice = done.stderr.splitlines()
    assert message.startswith("warning: ")
    assert message.endswith(
        "abe.toml:13:36: beta_ecn = 0.4 of reno is below beta = 0.5: a mark then reduces "
        "the window more than a loss"
    )
    assert caret.index("^") == len("  ") + 35
    assert advice == "  use beta_ecn of at least beta, as in RFC 8511"
    done = tailback("check", path)
    assert (done.returncode, "warning" in done.stderr) == (0, True)
    with pytest.warns(ScenarioWarning, match="below beta"):
        check(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ecn  = true\n", "", "a flow without ECN never gets; expected ecn = true"),
        ("beta_ecn = 0.8", "beta_ecn = 1.0", "expected a number from 0.001 to 0.999"),
        ("beta_ecn = 0.8", "beta = 0", "expected a number from 0.001 to 0.999"),
        ("beta_ecn = 0.8", 'abe = "freebsd"', "expected beta_ecn too"),
        (
            "beta_ecn = 0.8",
            "beta_ecn = 0.8, abe_frlossreduce = true",
            'only FreeBSD has it; expected abe = "freebsd"',
        ),
    ],
)
def test_what_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        tailback.check(FLOW.replace(old, new))


def test_the_report_of_nothing_is_empty() -> None:
    found = AbeMeasures()
    assert cells(found) == []
    assert truth.verdicts(found) == []
    written = report.report(found, [], [], {}, quick=False)
    assert page.page(written, [], {}).text("", 0.0).startswith("# ABE")
