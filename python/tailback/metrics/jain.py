"""Jain's fairness index of a run."""

from collections.abc import Sequence

from tailback.metrics.base import recorded

METRICS = (
    recorded(
        "jain",
        "run",
        "",
        "Jain's index of the flows' throughputs: 1 when they are equal.",
        "flows",
        most=1.0,
    ),
)


def jain(values: Sequence[float]) -> float | None:
    """Jain's index of some numbers; `None` without any or when all are 0."""
    squares = sum(x * x for x in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None
