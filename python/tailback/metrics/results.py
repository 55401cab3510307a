"""Metrics of numbers that programs write to files. The scenario gives each number a name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tailback.metrics.base import Metric

PREFIX = "results"


def metric(name: str) -> Metric | None:
    """Return the metric `results.NAME`. In tables, the metric's column is called `results_NAME`."""
    for dot in (".", "_"):
        head = f"{PREFIX}{dot}"
        if name.startswith(head) and len(name) > len(head):
            own = name.removeprefix(head)
            doc = f"The number {own} from a file of a program."
            read = partial(_number, name=own)
            return Metric(f"{PREFIX}.{own}", "flow", "", doc, read, least=None)
    return None


def _number(part: Mapping[str, Any], name: str) -> float | None:
    found: float | None = part.get(PREFIX, {}).get(name)
    return found
