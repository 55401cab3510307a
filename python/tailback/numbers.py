"""Numbers as people read them, in tables on the terminal and in reports."""

from __future__ import annotations

from tailback.metrics import Estimate


def short(value: float | str | None, digits: int = 4) -> str:
    """A number with so many digits, never cut before the point; a dash for what is missing."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


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


def bytes_text(count: int) -> str:
    """A size on the disk, in decimal units."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{short(value, 3)} {unit}"
