"""Metrics that are ratios between two classes of flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric, field


def _ratio(quantity: str) -> Metric:
    read = field(f"samples.{quantity}.mean")

    def value(summary: Mapping[str, Any]) -> float | None:
        means = [read(part) for part in summary.get("classes", ()) if part["flows"]]
        if len(means) != 2:
            return None
        one, other = means
        return one / other if one is not None and other else None

    word = quantity.partition("_")[0]
    doc = (
        f"Mean {word} of the first class that has TCP flows, divided by the mean {word} of the "
        "second class that has TCP flows."
    )
    return Metric(f"class_{word}_ratio", "run", "", doc, value, "intervals")


METRICS = (_ratio("rate_mbit"), _ratio("window_bytes"))
