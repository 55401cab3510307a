"""Formats names and numbers for the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailback.report import Mark, TableCell, Value
from tailback_studies.experiments.dctcp_internet_2014 import points as pts


def m_name(m: float) -> str:
    """Return Min_Thresh_Reno as the paper writes it."""
    known = {0.125: "1/8 BDP", 0.25: "1/4 BDP", 0.5: "1/2 BDP", 1.0: "1 BDP"}
    return known.get(m, "1/\u221a2 BDP" if abs(m - 0.70711) < 1e-3 else f"{m:g} BDP")


def seconds(text: str) -> str:
    """Return a time of a scenario file with a space before its unit: "60s" becomes "60 s"."""
    return text[:-1] + " s" if text.endswith("s") and text[:-1].isdigit() else text


def with_ci(cell: TableCell, digits: str) -> str | None:
    """Return the measured value and the half-width of its confidence interval."""
    if cell.measured is None:
        return None
    return f"{cell.measured:{digits}}" + (f" {spread(cell.ci95, digits)}" if cell.ci95 else "")


def spread(ci: float | None, digits: str) -> str | None:
    """Return the half-width of an interval after the sign ±."""
    return None if ci is None else f"\u00b1{ci:{digits}}"


def verdict(cell: TableCell, digits: str) -> Value:
    """Return the error as text, marked as a pass or a miss. If the value has a tolerance but its
    error could not be computed, return "none found".
    """
    if cell.error is None:
        return Mark("none found", "miss") if cell.tolerance is not None else None
    return Mark(f"{cell.error:+{digits}}", cell.status)


def miss_text(cell: TableCell) -> str:
    """Describe a value whose error exceeds the tolerance."""
    if cell.measured is None:
        return f"{cell.id}: not measured"
    return (
        f"{cell.id}: {cell.measured:.3f} against {cell.published:g} "
        f"(tolerance {cell.tolerance:.3g})"
    )


def rate(value: Any) -> float:
    """Convert a rate such as "10Mbit" to bit/s."""
    if isinstance(value, str):
        number = value.lower().removesuffix("bit")
        scale = {"k": 1e3, "m": 1e6, "g": 1e9}.get(number[-1:], 1.0)
        return float(number.rstrip("kmg")) * scale
    return float(value)


def sixteenths(value: Any) -> float:
    """Round a threshold in BDP to a multiple of 1/16.

    The thresholds in the scenario are multiples of 1/16 BDP, rounded to bytes.
    """
    return round(pts.bdp_size(value) * 16) / 16


def nearest(grid: Sequence[float], want: float) -> float:
    """Return the value in `grid` that is nearest to `want`."""
    return min(grid, key=lambda v: abs(v - want))


def interpolate(xs: Sequence[float], ys: Sequence[float], x: float) -> float | None:
    """Interpolate linearly between points. Return None if x is outside the range of the points."""
    for (a, b), (u, v) in zip(
        zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False
    ):
        if a <= x <= u:
            return b if u == a else b + (v - b) * (x - a) / (u - a)
    return None


def straight(xs: Sequence[float], ys: Sequence[float]) -> tuple[str, float]:
    """Return the least-squares line as text, and the largest distance of a point from the line."""
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    square = sum((x - mx) ** 2 for x in xs)
    slope = (
        sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / square if square else 0.0
    )
    start = my - slope * mx
    gap = max(abs(y - start - slope * x) for x, y in zip(xs, ys, strict=True))
    return f"{start:.2f} + {slope:.2f} m", gap
