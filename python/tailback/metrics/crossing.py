"""Finds where a monotone curve crosses a level, from noisy values at grid points.

The values are first replaced by the closest monotone sequence (isotonic regression by pooling
adjacent violators), then joined by straight lines. Noise in a flat part therefore cannot cause
several crossings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Crossing:
    """Where a curve crosses a level, between two values of the grid."""

    #: Where the interpolated curve reaches the level.
    x: float
    #: Index of the grid value before the crossing. This index equals `right` if the crossing is at
    #: a grid value.
    left: int
    #: Index of the grid value after the crossing.
    right: int
    #: The weight of the value at `right` in the interpolation, from 0 to 1.
    weight: float

    def at(self, values: Sequence[float]) -> float:
        """Return another quantity of the same grid, interpolated at the crossing."""
        return (1 - self.weight) * values[self.left] + self.weight * values[self.right]


def monotone(values: Sequence[float], *, falling: bool) -> list[float]:
    """Compute the closest monotone sequence (least squares, equal weights)."""
    sign = -1.0 if falling else 1.0
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((sign * value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n), (b, m) = pools[-2], pools[-1]
            pools[-2:] = [((a * n + b * m) / (n + m), n + m)]
    return [sign * mean for mean, n in pools for _ in range(n)]


def crossing(
    xs: Sequence[float], ys: Sequence[float], level: float = 0.0, *, falling: bool
) -> Crossing | None:
    """Return the crossing of the monotone curve through (xs, ys) with `level`, or None if the curve
    does not reach this level.

    `xs` must be ascending. If the curve is at the level over several grid values, return the middle
    of these values.
    """
    if len(xs) != len(ys):
        raise ValueError("as many values as grid points are needed")
    curve = monotone(ys, falling=falling)
    sign = -1.0 if falling else 1.0
    below = [i for i, y in enumerate(curve) if sign * (y - level) < 0]
    above = [i for i, y in enumerate(curve) if sign * (y - level) > 0]
    on = [i for i, y in enumerate(curve) if y == level]
    if on:
        left, right = on[0], on[-1]
        return Crossing((xs[left] + xs[right]) / 2, left, right, 0.5)
    if not below or not above:
        return None
    left, right = below[-1], above[0]
    weight = (level - curve[left]) / (curve[right] - curve[left])
    return Crossing(xs[left] + weight * (xs[right] - xs[left]), left, right, weight)
