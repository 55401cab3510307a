"""Estimates as people read them: a mean, its interval, and how many runs it is of."""

from __future__ import annotations

from tailback.base.numbers import short
from tailback.metrics import Estimate


def mean_text(found: Estimate) -> str:
    """A mean without its interval, or the bound that stands for it."""
    return short(found.mean) if found.at_least is None else f"> {short(found.at_least)}"


def has_spread(found: Estimate) -> bool:
    """Whether runs differ in the digits that are shown."""
    return found.mean is not None and _spread(found) != short(found.mean)


def with_spread(found: Estimate, *, counted: bool = True) -> str:
    """A mean and, if there is one, half of its interval to the same decimal place.

    `counted`: whether the number of runs stands beside it where it is not all.

    An interval that is less than the digits shown is none. A mean that is not of all runs says of
    how many, and where some had not finished the bound of the mean over all stands for it.
    """
    of = "" if found.whole or not counted else f" ({found.n} of {found.of})"
    if found.at_least is not None:
        return f"{mean_text(found)}{of}"
    if found.mean is None:
        return short(None)
    return f"{_spread(found)}{of}"


def _spread(found: Estimate) -> str:
    mean = short(found.mean)
    if found.half_width is None:
        return mean
    # A whole mean of a spread that is not whole has decimals too.
    if "." not in mean and found.mean is not None and found.half_width < 10:
        mean = f"{found.mean:.1f}"
    decimals = len(mean.partition(".")[2])
    half = f"{found.half_width:.{decimals}f}"
    if float(half) == 0:
        return mean
    if found.ci95 and found.mean is not None and found.ci95[1] - found.mean < found.half_width:
        # It ends where values do.
        above = f"{found.ci95[1] - found.mean:.{decimals}f}"
        return f"{mean} −{half} +{above}" if above != half else f"{mean} ±{half}"
    return f"{mean} ±{half}"
