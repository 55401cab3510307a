"""Tests which differences a comparison flags if its statistical tests are correlated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tailback.comparison.families import false_discovery

# The 15 p values of Benjamini and Hochberg (1995), section 3.2.
TEXTBOOK = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
TEXTBOOK += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]


def flagged(qs: list[float | None]) -> list[bool]:
    return [q is not None and q < 0.05 for q in qs]


def test_each_a_family_of_its_own_is_benjamini_and_hochberg() -> None:
    families = list(range(15))
    qs = false_discovery(TEXTBOOK, families)
    # At a level of 5 %, the first four p values are flagged.
    assert flagged(qs) == [True] * 4 + [False] * 11
    assert qs[3] == pytest.approx(0.0095 * 15 / 4)
    # A q value never exceeds the q value of a larger p value. Here 0.0298 x 15 / 7 is less than
    # 0.0278 x 15 / 6.
    assert qs[5] == qs[6] == pytest.approx(0.0298 * 15 / 7)
    assert qs[14] == 1.0
    # The result does not depend on the order of the p values, and tests without a p value are not
    # counted.
    again = false_discovery([None, *reversed(TEXTBOOK), None], [0, *reversed(families), 0])
    assert again[1:-1] == qs[::-1]


def test_one_family_is_benjamini_and_yekutieli() -> None:
    qs = false_discovery(TEXTBOOK, [0] * 15)
    assert qs == pytest.approx(stats.false_discovery_control(TEXTBOOK, method="by").tolist())
    # The level is divided by 1 + 1/2 + ... + 1/15 = 3.318, so only three differences are flagged.
    assert flagged(qs) == [True] * 3 + [False] * 12


def test_what_cannot_be_told_counts_for_nothing() -> None:
    assert false_discovery([], []) == []
    assert false_discovery([None, 0.03, None], ["a", "b", "a"]) == [None, 0.03, None]


def test_a_chosen_family_pays_for_having_been_chosen() -> None:
    # One of four families is selected, so the level for the tests in that family is a quarter of 5
    # %.
    ps = [0.001, 0.02, 0.04, 0.5, 0.6, 0.7]
    qs = false_discovery(ps, ["a", "a", "a", "b", "c", "d"])
    # The factor for three tests is 1 + 1/2 + 1/3 = 11/6. Family "a" has p = 0.0055, which becomes
    # 0.022 among four families. The tests of "a" have adjusted p values of 0.0055, 0.055 and
    # 0.0733. With four families, the q values of "a" are four times as large as these p values.
    assert qs[:3] == pytest.approx([0.022, 0.22, 0.04 * 11 / 6 * 4])
    assert flagged(qs) == [True, False, False, False, False, False]
    # Two of four families are selected, so the level for the tests in each of them is half of 5 %.
    qs = false_discovery([0.001, 0.02, 0.001, 0.5, 0.6], ["a", "a", "b", "c", "d"])
    assert qs[1] == pytest.approx(0.02 * 1.5 * 4 / 2)


def test_a_q_is_the_level_at_which_the_rule_flags() -> None:
    draw = np.random.default_rng(1)
    for _ in range(50):
        n = int(draw.integers(1, 7))
        families = draw.integers(0, n, size=24).tolist()
        ps = (draw.random(24) ** 3).tolist()
        qs = false_discovery(ps, families)
        for level in (0.01, 0.05, 0.2, 0.6):
            assert [q is not None and q <= level for q in qs] == by_the_rule(ps, families, level)


def by_the_rule(ps: list[float], families: list[int], level: float) -> list[bool]:
    """Return the flags of Benjamini and Bogomolov's two-step procedure at one level."""
    groups = {f: [p for p, g in zip(ps, families, strict=True) if g == f] for f in set(families)}
    adjusted = {f: stats.false_discovery_control(group, method="by") for f, group in groups.items()}
    simes = [float(min(found)) for found in adjusted.values()]
    of_family = dict(zip(adjusted, stats.false_discovery_control(simes), strict=True))
    chosen = [f for f, q in of_family.items() if q <= level]
    left = {f: list(found) for f, found in adjusted.items()}
    return [
        f in chosen and bool(left[f].pop(0) <= level * len(chosen) / len(groups)) for f in families
    ]


# --- false and true discoveries --------------------------------------------

POINTS, CELLS, PAIRS = 6, 20, 2000


def p_values(seeds: int, paired: bool, change: float) -> np.ndarray:
    """Return the p values of comparisons of two synthetic variants.

    At each sweep point, all quantities have a common component, with a correlation of 0.9. One in
    four quantities is heavy-tailed. At the first sweep point, the second variant's values are
    larger by `change` standard deviations."""
    draw = np.random.default_rng(7)
    shape = (PAIRS, 2, seeds, POINTS)
    common = draw.standard_normal((*shape, 1))
    values = 0.9**0.5 * common + 0.1**0.5 * draw.standard_normal((*shape, CELLS))
    values[..., ::4] = np.exp(0.5 * values[..., ::4])
    values[:, 1, :, 0] += change
    a, b = values[:, 0], values[:, 1]
    test = (
        stats.ttest_rel(b, a, axis=1) if paired else stats.ttest_ind(b, a, axis=1, equal_var=False)
    )
    return np.asarray(test.pvalue)


def points_flagged(ps: np.ndarray) -> np.ndarray:
    """Return whether a difference is flagged, for each comparison and sweep point."""
    families = [point for point in range(POINTS) for _ in range(CELLS)]
    found = []
    for each in ps:
        marks = flagged(false_discovery(each.reshape(-1).tolist(), families))
        found.append(np.reshape(marks, (POINTS, CELLS)).any(axis=1))
    return np.array(found)


@pytest.mark.parametrize(("seeds", "paired"), [(5, False), (10, False), (10, True)])
def test_a_against_a_flags_something_in_one_comparison_of_twenty(seeds: int, paired: bool) -> None:
    alarms = points_flagged(p_values(seeds, paired, change=0.0)).any(axis=1)
    assert alarms.mean() <= 0.05


def test_what_differs_is_found_there_and_nowhere_else() -> None:
    found = points_flagged(p_values(10, paired=False, change=2.5))
    assert found[:, 0].mean() > 0.95
    # Only the first of six sweep points differs. The rate of false discoveries stays within the
    # level of 5 %.
    false = found[:, 1:].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    assert false.mean() <= 0.05
