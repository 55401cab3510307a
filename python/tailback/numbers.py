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


def with_spread(found: Estimate) -> str:
    """A mean and, if there is one, half of its interval to the same decimal place."""
    mean = short(found.mean)
    if found.half_width is None:
        return mean
    # A whole mean of a spread that is not whole has decimals too.
    if "." not in mean and found.mean is not None and found.half_width < 10:
        mean = f"{found.mean:.1f}"
    decimals = len(mean.partition(".")[2])
    return f"{mean} ±{found.half_width:.{decimals}f}"


def bytes_text(count: int) -> str:
    """A size on the disk, in decimal units."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{short(value, 3)} {unit}"
