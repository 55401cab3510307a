"""Compares statistics with values computed by hand."""

from __future__ import annotations

import math
from statistics import NormalDist, fmean, variance

import pytest
from scipy.stats import t as student

from tailback.metrics import METRICS, completion, gain, pooling, results
from tailback.metrics.base import Better
from tailback.metrics.crossing import Crossing, crossing, monotone
from tailback.metrics.differences import deviation, paired, unpaired
from tailback.metrics.groups import group_of, is_of
from tailback.metrics.harm import harm
from tailback.metrics.jain import jain
from tailback.metrics.margins import MOST_RUNS, POWER, Contrast, Samples
from tailback.metrics.pooling import Reading, between, over_runs, together
from tailback.metrics.statistics import Estimate, estimate, median, nearest_rank, t_quantile

BASE = (10.0, 12.0, 14.0)
OTHER = (20.0, 26.0, 23.0, 25.0)


def test_welchs_interval_of_a_ratio_has_the_spread_of_both() -> None:
    found = unpaired(BASE, OTHER)
    assert found is not None
    va, vb = variance(BASE) / 3, variance(OTHER) / 4
    freedom = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 3)
    t = student.ppf(0.975, freedom)
    ratio = fmean(OTHER) / fmean(BASE)
    assert (found.n, found.paired) == (3, False)
    assert found.absolute == pytest.approx(fmean(OTHER) - fmean(BASE))
    assert found.relative == pytest.approx(ratio - 1)
    assert found.ci95 == pytest.approx(t * math.sqrt(va + vb))
    assert found.relative_ci95 == pytest.approx(t * math.sqrt(vb + ratio**2 * va) / fmean(BASE))
    spread = math.sqrt((variance(BASE) + variance(OTHER)) / 2)
    assert found.effect_size == pytest.approx(found.absolute / spread)
    # If all values are negated, the relative difference and its interval have the same size.
    mirrored = unpaired([-x for x in BASE], [-x for x in OTHER])
    assert mirrored is not None
    assert mirrored.relative == pytest.approx(found.relative)
    assert mirrored.relative_ci95 == pytest.approx(found.relative_ci95)


def test_the_paired_interval_of_a_ratio_is_of_what_is_left() -> None:
    other = OTHER[:3]
    found = paired(BASE, other)
    assert found is not None
    ratio = fmean(other) / fmean(BASE)
    rests = [b - ratio * a for a, b in zip(BASE, other, strict=True)]
    t = student.ppf(0.975, 2) / math.sqrt(3)
    assert found.relative_ci95 == pytest.approx(t * math.sqrt(variance(rests)) / fmean(BASE))
    gaps = [b - a for a, b in zip(BASE, other, strict=True)]
    assert found.ci95 == pytest.approx(t * math.sqrt(variance(gaps)))
    assert found.effect_size == pytest.approx(fmean(gaps) / math.sqrt(variance(gaps)))
    with pytest.raises(ValueError, match="as many values"):
        paired(BASE, OTHER)
    assert paired((), ()) is None
    assert unpaired((), OTHER) is None
    assert unpaired(BASE, ()) is None


def test_one_run_has_a_difference_and_no_interval() -> None:
    for found in (paired((4.0,), (5.0,)), unpaired((4.0,), (5.0,)), unpaired((4.0,), (4.0, 6.0))):
        assert found is not None
        assert (found.n, found.absolute, found.relative) == (1, 1.0, 0.25)
        assert (found.ci95, found.relative_ci95, found.effect_size, found.p) == (None,) * 4
    nothing = paired((0.0,), (5.0,))
    assert nothing is not None
    assert nothing.relative is None


def test_values_without_spread_are_told_by_their_number() -> None:
    found = unpaired((2.0,) * 3, (3.0,) * 4)
    assert found is not None
    # There are 35 ways to choose 3 of 7 values. Two of them give a difference at least as large as
    # the tested difference.
    assert found.p == pytest.approx(2 / 35)
    assert (found.absolute, found.relative, found.ci95) == (1.0, 0.5, None)
    same = unpaired((2.0,) * 3, (2.0,) * 4)
    assert same is not None
    assert (same.absolute, same.relative, same.p) == (0.0, 0.0, None)
    steady = paired((2.0, 3.0, 4.0), (3.0, 4.0, 5.0))
    assert steady is not None
    assert (steady.p, steady.absolute) == (2.0**-2, 1.0)


def test_a_deviation_is_that_of_a_sample() -> None:
    assert deviation(OTHER) == pytest.approx(math.sqrt(variance(OTHER)))


@pytest.mark.parametrize("relative", [False, True])
def test_a_contrast_of_two_samples_is_welchs(relative: bool) -> None:
    found = Samples(BASE, OTHER, paired=False).against(0.5, relative=relative)
    share = 1.5 if relative else 1.0
    va, vb = share**2 * variance(BASE) / 3, variance(OTHER) / 4
    mean = fmean(OTHER) - share * fmean(BASE) - (0.0 if relative else 0.5)
    freedom = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 3)
    assert found.n == 3
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(math.sqrt(va + vb))
    assert found.freedom == pytest.approx(freedom)
    assert found.alike == pytest.approx(1 / 35)
    assert found.deviation == pytest.approx(found.error * math.sqrt(3))
    assert found.more() == pytest.approx(student.sf(mean / found.error, freedom))
    assert found.less() == pytest.approx(student.cdf(mean / found.error, freedom))
    fallen = Samples(BASE, OTHER, paired=False).against(0.5, relative=relative, falls=True)
    assert fallen.mean == pytest.approx(-mean)


def test_a_contrast_of_pairs_is_of_their_rests() -> None:
    found = Samples(BASE, OTHER[:3], paired=True).against(0.25, relative=True)
    rests = [b - 1.25 * a for a, b in zip(BASE, OTHER, strict=False)]
    assert found.mean == pytest.approx(fmean(rests))
    assert found.error == pytest.approx(math.sqrt(variance(rests) / 3))
    assert (found.n, found.freedom, found.alike) == (3, 2.0, 1 / 8)
    assert found.deviation == pytest.approx(math.sqrt(variance(rests)))


@pytest.mark.parametrize("size", [2.0, 0.7, 0.31, 0.05])
def test_the_number_of_runs_is_the_least_that_is_enough(size: float) -> None:
    found = Contrast(9, size * 3.0, 1.0, 8.0, 0.1, 3.0).runs(0.05)
    assert found is not None

    def enough(n: int) -> bool:
        needed = student.isf(0.05, n - 1) + student.isf(1 - POWER, n - 1)
        return bool(needed / math.sqrt(n) <= size)

    assert enough(found)
    assert not enough(found - 1)
    # A difference of the same size and the opposite sign needs the same number of runs.
    assert Contrast(9, -size * 3.0, 1.0, 8.0, 0.1, 3.0).runs(0.05) == found
    # With this many runs, Student's t is nearly normal.
    normal = NormalDist().inv_cdf
    asymptotic = ((normal(0.95) + normal(POWER)) / size) ** 2
    assert asymptotic <= found <= asymptotic + 4


def test_no_number_of_runs_tells_what_is_at_the_limit() -> None:
    assert Contrast(9, 0.0, 1.0, 8.0, 0.1, 3.0).runs(0.05) is None
    needed = 2.4865 / math.sqrt(MOST_RUNS)
    assert Contrast(9, 0.99 * needed, 1.0, 8.0, 0.1, 1.0).runs(0.05) is None
    assert Contrast(9, 1.01 * needed, 1.0, 8.0, 0.1, 1.0).runs(0.05) is not None
    # If all differences are equal, there is no spread, and a sign test decides. Five equal signs
    # have a probability of 2^-5 < 0.05.
    assert Contrast(9, 1.0, 0.0, 8.0, 0.1, 0.0).runs(0.05) == 5


def test_bounds_of_pairs_in_the_quantitys_unit_are_students() -> None:
    low, high = Samples(BASE, OTHER[:3], paired=True).bounds(0.1, relative=False)
    gaps = [b - a for a, b in zip(BASE, OTHER, strict=False)]
    half = student.isf(0.1, 2) * math.sqrt(variance(gaps) / 3)
    assert low == pytest.approx(fmean(gaps) - half)
    assert high == pytest.approx(fmean(gaps) + half)


@pytest.mark.parametrize("paired", [True, False])
def test_bounds_of_a_negative_baseline_enclose_what_was_measured(paired: bool) -> None:
    base, other = (-10.0, -12.0, -11.0), (-8.0, -8.5, -9.0)
    low, high = Samples(base, other, paired).bounds(0.05, relative=True)
    # The relative rise of a negative value is the share by which the value gets closer to 0.
    rise = fmean(other) / fmean(base) - 1
    assert low is not None
    assert high is not None
    assert low < -rise < high


def test_a_crossing_needs_a_value_for_each_place() -> None:
    for ys in ([1.0, -1.0], [1.0, 0.5, -0.5, -1.0]):
        with pytest.raises(ValueError, match="as many values"):
            crossing([1.0, 2.0, 3.0], ys, falling=True)


def test_a_crossing_lies_where_the_line_between_its_neighbours_does() -> None:
    for falling in (True, False):
        sign = -1.0 if falling else 1.0
        ys = [sign * y for y in (-4.0, -1.0, 3.0, 5.0)]
        found = crossing([10.0, 20.0, 40.0, 50.0], ys, 0.0, falling=falling)
        assert found == Crossing(25.0, 1, 2, 0.25)
        assert found is not None
        assert found.at([0.0, 100.0, 200.0, 900.0]) == 125.0
    # The curve equals the level at the grid points 2, 3 and 6. The crossing is in the middle of the
    # range from 2 to 6.
    found = crossing([1.0, 2.0, 3.0, 6.0, 7.0], [0.0, 5.0, 5.0, 5.0, 9.0], 5.0, falling=False)
    assert found == Crossing(4.0, 1, 3, 0.5)


def test_neighbours_that_violate_the_order_are_pooled_by_weight() -> None:
    assert monotone([1.0, 5.0, 2.0, 2.0, 9.0], falling=False) == [1.0, 3.0, 3.0, 3.0, 9.0]
    assert monotone([9.0, 2.0, 5.0, 5.0, 1.0], falling=True) == [9.0, 4.0, 4.0, 4.0, 1.0]
    # Two equal neighbouring values do not violate monotonicity.
    assert monotone([2.0, 2.0, 1.0], falling=True) == [2.0, 2.0, 1.0]


def test_an_estimate_ends_where_values_do() -> None:
    found = estimate([0.9, 1.0, None, 0.98], most=1.0)
    half = student.ppf(0.975, 2) * math.sqrt(variance([0.9, 1.0, 0.98]) / 3)
    mean = fmean([0.9, 1.0, 0.98])
    assert (found.n, found.of, found.whole) == (3, 4, False)
    assert found.mean == pytest.approx(mean)
    assert found.ci95 is not None
    low, high = found.ci95
    assert low == pytest.approx(mean - half)
    assert high == 1.0
    # `half_width` is half the width of the interval before its upper end is limited to 1.
    assert found.half_width == pytest.approx(half)
    assert found.scaled(10).ci95 == (10 * low, 10.0)
    assert found.scaled(10).of == 4
    assert Estimate(2, None, None, 3, 5.0).scaled(2).at_least == 10.0


def test_intervals_end_at_0_unless_a_number_may_be_negative() -> None:
    few = [Reading(0.0), Reading(0.0), Reading(5.0)]
    [drops] = [metric for metric in METRICS if metric.path == "drops" and metric.on == "flow"]
    found = over_runs(drops, few)
    assert found.ci95 is not None
    assert found.ci95[0] == 0
    assert found.half_width == pytest.approx(student.ppf(0.975, 2) * 5 / 3)
    # A program may write negative numbers, such as decibels.
    own = results.metric("results.gain_db")
    assert own is not None
    low, high = over_runs(own, [Reading(-3.0), Reading(-5.0)]).ci95 or (0, 0)
    assert (low + high) / 2 == pytest.approx(-4)
    assert high - low == pytest.approx(2 * student.ppf(0.975, 1))


def test_estimates_without_an_interval() -> None:
    for values in ([], [3.0], [3.0, 3.0]):
        found = estimate(values)
        n = len(values)
        assert (found.n, found.of, found.ci95, found.half_width) == (n, n, None, None)
        assert found.mean == (3.0 if values else None)


def test_middles_and_ranks() -> None:
    assert median([]) is None
    assert (median([5.0]), median([5.0, 1.0]), median([9.0, 1.0, 2.0])) == (5.0, 3.0, 2.0)
    assert median([1.0, 2.0, 4.0, 9.0]) == 3.0
    values = [float(n) for n in range(10, 0, -1)]
    shares = (0.0, 0.1, 0.11, 0.5, 0.9, 0.91, 1.0)
    assert [nearest_rank(values, share) for share in shares] == [1, 1, 2, 5, 9, 10, 10]
    assert nearest_rank([], 0.5) is None


def test_jains_index() -> None:
    assert jain([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert jain([4.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)
    assert jain([0.1, 0.3]) == pytest.approx(16 / 20)
    assert jain([]) is None
    assert jain([0.0, 0.0]) is None


def test_shares_of_packets_end_at_one() -> None:
    of_classes = {metric.path: metric.most for metric in METRICS if metric.on == "class"}
    for path, most in of_classes.items():
        share = path.startswith(("mark_share.", "drop_share."))
        # The number of intervals and the standard deviation are not shares, so they have no upper
        # limit.
        ends = share and not path.endswith((".n", ".stddev"))
        assert most == (1.0 if ends else None), path
    assert of_classes["mark_share.mean"] == of_classes["drop_share.p99"] == 1.0


def test_a_ratio_is_that_of_the_means_of_two_groups() -> None:
    def flow(name: str, rate: float | None) -> dict[str, object]:
        return {"name": name, "throughput_mbit": rate}

    (metric,) = (one for one in METRICS if one.path == "throughput_ratio")
    flows = [flow("a/1", 2.0), flow("b", 1.5), flow("a/2", 4.0), flow("a/3", None)]
    assert metric.value({"flows": flows}) == 2.0
    assert metric.value({"flows": flows[:1]}) is None
    assert metric.value({"flows": [*flows, flow("c", 1.0)]}) is None
    assert metric.value({"flows": [flow("a", 1.0), flow("b", None)]}) is None
    # If the run has only one group of flows, all programs together are the second group.
    programs = [flow("p", 6.0)]
    assert metric.value({"flows": flows[:1], "programs": programs}) == pytest.approx(1 / 3)
    assert metric.value({"flows": flows, "programs": programs}) == 2.0


@pytest.mark.parametrize(
    ("better", "alone", "contended", "expected"),
    [
        # The first flow loses 4 of 10 Mbit/s. The competitor causes 3 s of the completion time of 5
        # s.
        ("more", 10.0, 6.0, 0.4),
        ("more", 10.0, 12.0, -0.2),
        ("more", 10.0, 0.0, 1.0),
        ("more", 0.0, 5.0, None),
        ("less", 2.0, 5.0, 0.6),
        ("less", 4.0, 2.0, -1.0),
        ("less", 0.0, 5.0, 1.0),
        ("less", 5.0, 0.0, None),
    ],
)
def test_harm_is_a_share_of_the_better_side(
    better: Better, alone: float, contended: float, expected: float | None
) -> None:
    assert harm(alone, contended, better) == (expected and pytest.approx(expected))


def test_a_bound_stands_for_what_had_not_finished() -> None:
    assert together([Reading(2.0), Reading(None), Reading(4.0)]) == Reading(3.0)
    assert together([Reading(None)]) == Reading(None)
    assert together([Reading(2.0), Reading(None, 10.0)]) == Reading(None, 6.0)
    (metric,) = (one for one in METRICS if one.path == "completion_s")
    pooled = over_runs(metric, [Reading(2.0), Reading(4.0), Reading(None, 12.0)])
    assert (pooled.n, pooled.mean, pooled.runs, pooled.at_least) == (2, None, 3, 6.0)
    assert over_runs(metric, [Reading(2.0), Reading(4.0)]).mean == 3.0
    assert pooling.values({1: Reading(2.0), 2: Reading(None, 5.0)}) == {1: 2.0}


def test_harm_of_pairs_is_a_mean_of_harms_and_of_others_a_harm_of_means() -> None:
    (metric,) = (one for one in METRICS if one.path == "harm.throughput")
    base = {1: Reading(10.0), 2: Reading(20.0), 3: Reading(40.0)}
    other = {1: Reading(5.0), 2: Reading(5.0), 4: Reading(1.0), 3: Reading(None)}
    pairs = between(metric, base, other, paired=True)
    assert pairs.n == 2
    assert pairs.mean == pytest.approx((0.5 + 0.75) / 2)
    # The means are 70 / 3 and 11 / 3.
    means = between(metric, base, other, paired=False)
    assert means.n == 1
    assert means.mean == pytest.approx(1 - 11 / 70)


def test_an_unfinished_transfer_had_taken_at_least_so_long() -> None:
    def flow(name: str, from_s: float, done: float | None = None) -> dict[str, object]:
        return {"name": name, "from_s": from_s, "to_s": 30.0, "completion_s": done}

    def planned(name: str, start_s: float, size: int | None) -> dict[str, object]:
        return {"name": name, "start": int(start_s * 1e9), "bytes": size}

    # The measured time begins at 5 s, and flows start up to 0.5 s later than planned.
    flows = [
        flow("early", 5.0),
        flow("late", 12.25),
        flow("done", 5.0, 7.0),
        flow("endless", 5.0),
        flow("many/1", 5.0),
        flow("many/2", 8.0),
    ]
    plans = [
        planned("early", 1.0, 1000),
        planned("late", 12.0, 1000),
        planned("done", 1.0, 1000),
        planned("endless", 1.0, None),
        planned("many", 4.75, 1000),
    ]
    summary = {"warmup_s": 5.0, "flows": flows}
    point = {"start_jitter": 500_000_000, "flows": plans}
    completion.add(summary, completion.transfers(point))
    found = {flow["name"]: flow.get(completion.UNFINISHED) for flow in flows}
    assert found == {
        "early": 30 - 1.5,
        "late": 30 - 12.25,
        "done": None,
        "endless": None,
        "many/1": 30 - 5.0,
        "many/2": 30 - 8.0,
    }
    early = flow("early", 5.0)
    completion.add({"warmup_s": 5.0, "flows": [early]}, completion.transfers({"flows": plans}))
    assert completion.UNFINISHED not in early, "another format"


def test_requests_count_once_each_whatever_their_bin() -> None:
    def bin_(upto: int, n: int, mean: float | None) -> dict[str, object]:
        return {"upto_bytes": upto, "n": n, "completion_s": {"mean": mean}, "normalised": {}}

    by_path = {metric.path: metric for metric in METRICS}
    bins = [bin_(1000, 3, 0.1), bin_(3000, 0, None), bin_(9000, 1, 0.5)]
    part = {"completions": {"bins": bins}}
    assert by_path["requests_completion_s"].value(part) == pytest.approx(0.2)
    assert by_path["completion_s.9kB"].value(part) == 0.5
    assert by_path["completion_s.3kB"].value(part) is None
    assert by_path["completion_s.27kB"].value(part) is None
    for empty in ({}, {"completions": None}, {"completions": {"bins": bins[1:2]}}):
        assert by_path["requests_completion_s"].value(empty) is None


def test_a_gain_is_over_the_flow_of_the_same_name() -> None:
    def run(**rates: float | None) -> dict[str, list[dict[str, object]]]:
        return {"flows": [{"name": n, "throughput_mbit": r} for n, r in rates.items()]}

    summary = run(a=3.0, b=2.0, c=None, d=1.0, e=1.0)
    gain.add(summary, run(a=2.0, b=0.0, c=1.0, d=None))
    found = [flow["throughput_gain"] for flow in summary["flows"]]
    assert found == [1.5, None, None, None, None]


def test_groups_of_names() -> None:
    for name, group in [("cubic/1", "cubic"), ("cubic", "cubic"), ("a/b", "a/b"), ("/7", "")]:
        assert group_of(name) == group
    for name, group, belongs in [
        ("cubic/2", "cubic", True),
        ("cubic/2", "cubic/2", True),
        ("bbr", "bbr", True),
        ("cubic2", "cubic", False),
        ("cubic", "cubic/1", False),
    ]:
        assert is_of(name, group) == belongs


def test_the_stored_quantiles_are_those_of_scipy() -> None:
    from scipy.special import stdtrit

    for freedom in range(1, 40):
        assert t_quantile(freedom) == pytest.approx(float(stdtrit(freedom, 0.975)), rel=1e-13)
