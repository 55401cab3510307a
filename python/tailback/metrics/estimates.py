"""Formats estimates: a mean, its interval, and the number of runs."""

from __future__ import annotations

from tailback.base.numbers import short
from tailback.metrics import Estimate


def mean_text(found: Estimate) -> str:
    """Format a mean without its interval. If only a lower bound is known, format the bound."""
    return short(found.mean) if found.at_least is None else f"> {short(found.at_least)}"


def has_spread(found: Estimate) -> bool:
    """Return whether the runs differ in the digits that the formatted mean shows."""
    return found.mean is not None and _spread(found) != short(found.mean)


def with_spread(estimate: Estimate, *, counted: bool = True) -> str:
    """Format a mean and the half-width of its interval with the same number of decimals.

    With `counted`, append the number of runs with a value, unless all runs have a value.

    Omit an interval that is smaller than the last digit of the mean. If some transfers did not
    finish, format the lower bound of the mean over all runs instead.
    """
    of = "" if estimate.whole or not counted else f" ({estimate.n} of {estimate.of})"
    if estimate.at_least is not None:
        return f"{mean_text(estimate)}{of}"
    if estimate.mean is None:
        return short(None)
    return f"{_spread(estimate)}{of}"


def _spread(estimate: Estimate) -> str:
    mean = short(estimate.mean)
    if estimate.half_width is None:
        return mean
    # If the interval needs decimals, also show decimals of a mean that is a whole number.
    if "." not in mean and estimate.mean is not None and estimate.half_width < 10:
        mean = f"{estimate.mean:.1f}"
    decimals = len(mean.partition(".")[2])
    half = f"{estimate.half_width:.{decimals}f}"
    if float(half) == 0 or estimate.mean is None or estimate.ci95 is None:
        return mean
    # The interval does not extend beyond the smallest and largest possible values, so its two
    # halves may differ.
    below = f"{estimate.mean - estimate.ci95[0]:.{decimals}f}"
    above = f"{estimate.ci95[1] - estimate.mean:.{decimals}f}"
    return f"{mean} ±{half}" if above == below else f"{mean} −{below} +{above}"
