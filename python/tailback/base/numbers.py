"""Formats numbers for people, in tables on the terminal and in reports."""

from __future__ import annotations


def short(value: float | str | None, digits: int = 4) -> str:
    """Format a number with `digits` significant digits, but never shorten its integer part. Return
    a dash for None.
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def grouped(count: int) -> str:
    """Format a whole number with commas between thousands: 103,228."""
    return f"{count:,}"


def bytes_text(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{short(value, 3)} {unit}"
