"""Words and columns that sections share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tailback.metrics.statistics import Estimate
from tailback_studies.experiments.abe_2017 import layout


def beta_text(cc: str, beta: float) -> str:
    """Return a backoff factor as the legend shows it."""
    return f"{beta:g}, standard" if beta == layout.STANDARD[cc] else f"{beta:g}"


def band(name: str, value: Estimate, scale: float, shift: float = 0.0) -> dict[str, float | None]:
    """Return a mean and the ends of its interval as columns."""
    low, high = value.ci95 or (None, None)

    def shown(number: float | None) -> float | None:
        return None if number is None else scale * (number + shift)

    return {name: shown(value.mean), f"{name}_low": shown(low), f"{name}_high": shown(high)}


def betas_of(points: Iterable[Any]) -> list[float]:
    return sorted({p.beta for p in points})
