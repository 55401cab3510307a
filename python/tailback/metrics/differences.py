"""Computes the difference between two sets of runs, with its confidence interval and p value.

If two sets share their seeds, runs are compared seed by seed (paired t test). Otherwise the sets
are treated as two samples, each with its own variance (Welch's t test). In a comparison with many
differences, `tailback.comparison.families` decides which differences are flagged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.metrics.statistics import t_quantile

FALSE_DISCOVERY = 0.05
"""A difference is flagged if its q value is below this level."""

ROUNDING = 1e-9
"""A spread below this share of the values counts as a rounding error."""


@dataclass(frozen=True)
class Difference:
    """The difference between a variant and the baseline in one metric."""

    n: int
    """Number of pairs of runs. For unpaired runs, the size of the smaller set."""
    paired: bool
    absolute: float
    """Mean of the variant minus the mean of the baseline, in the quantity's unit."""
    relative: float | None
    """`absolute` divided by the baseline's mean. `None` if that mean is 0."""
    ci95: float | None = None
    """Half the length of the 95 % interval of `absolute`. `None` for one run, or if all values are
    equal."""
    relative_ci95: float | None = None
    """Half the length of the 95 % interval of `relative`. The interval accounts for the spread of
    the baseline (delta method).
    """
    effect_size: float | None = None
    """Cohen's d: `absolute` divided by the standard deviation of the pairs' differences. For
    unpaired runs, `absolute` divided by the root of the mean variance of both samples."""
    p: float | None = None
    """Probability of a difference at least as large by chance alone. `None` for one run, and if all
    values are equal."""


def paired(base: Sequence[float], other: Sequence[float]) -> Difference | None:
    """Compute the difference between two sets of runs that share their seeds, in the same order.
    Return `None` if there are no runs.

    A t test needs differences that vary. If all n differences are equal but not 0, the p value is
    the value of a sign test, 2^(1 - n).
    """
    n = len(base)
    if n != len(other):
        raise ValueError("as many values as in the baseline are needed")
    if n == 0:
        return None
    mean = math.fsum(base) / n
    gaps = [b - a for a, b in zip(base, other, strict=True)]
    absolute = math.fsum(gaps) / n
    relative = absolute / mean if mean else None
    if n == 1:
        return Difference(n, True, absolute, relative)
    noise = ROUNDING * max(map(abs, [*base, *other]))
    spread = deviation(gaps)
    if spread <= noise:
        p = 2.0 ** (1 - n) if abs(absolute) > noise else None
        return Difference(n, True, absolute if p else 0.0, relative if p else 0.0, p=p)
    t = t_quantile(n - 1) / math.sqrt(n)
    ratio_ci95 = None
    if relative is not None:
        # Delta method: to first order, the ratio of means has the variance of these residuals.
        rests = [b - (1 + relative) * a for a, b in zip(base, other, strict=True)]
        ratio_ci95 = t * deviation(rests) / abs(mean)
    from scipy.stats import ttest_rel

    p = float(ttest_rel(other, base).pvalue)
    return Difference(n, True, absolute, relative, t * spread, ratio_ci95, absolute / spread, p)


def unpaired(base: Sequence[float], other: Sequence[float]) -> Difference | None:
    """Compute the difference between two independent sets of runs. Return `None` if either set is
    empty.

    If the values of neither set vary, the p value comes from a permutation test. This p value is 2
    divided by the number of ways to split all runs into sets of these sizes.
    """
    n, m = len(base), len(other)
    if not n or not m:
        return None
    mean, mean_other = math.fsum(base) / n, math.fsum(other) / m
    absolute = mean_other - mean
    relative = absolute / mean if mean else None
    if n == 1 or m == 1:
        return Difference(min(n, m), False, absolute, relative)
    noise = ROUNDING * max(map(abs, [*base, *other]))
    a, b = deviation(base), deviation(other)
    if max(a, b) <= noise:
        p = min(1.0, 2 / math.comb(n + m, n)) if abs(absolute) > noise else None
        return Difference(min(n, m), False, absolute if p else 0.0, relative if p else 0.0, p=p)
    va, vb = a * a / n, b * b / m
    error = math.sqrt(va + vb)
    # Compute the degrees of freedom by the formula of Welch and Satterthwaite.
    freedom = (va + vb) ** 2 / (va**2 / (n - 1) + vb**2 / (m - 1))
    t = t_quantile(freedom)
    ratio_ci95 = None
    if relative is not None:
        ratio_ci95 = t * math.sqrt(vb + (1 + relative) ** 2 * va) / abs(mean)
    effect = absolute / math.sqrt((a * a + b * b) / 2)
    from scipy.stats import ttest_ind_from_stats

    # ttest_ind would warn about a sample without variation, so pass the moments.
    p = float(ttest_ind_from_stats(mean_other, b, m, mean, a, n, equal_var=False).pvalue)
    return Difference(min(n, m), False, absolute, relative, t * error, ratio_ci95, effect, p)


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation of some values."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
