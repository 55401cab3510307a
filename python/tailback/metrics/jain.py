"""Jain's fairness index."""

from collections.abc import Sequence


def jain(values: Sequence[float]) -> float | None:
    """Return Jain's index of some numbers. Return `None` if there are no numbers or all are 0."""
    squares = sum(x * x for x in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None
