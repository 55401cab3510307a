"""Makes a metric of each summary field that Rust's declarations of the summary mark as a metric."""

from __future__ import annotations

from typing import Any

from tailback.metrics import fields
from tailback.metrics.base import Metric, On, field

_NAMES = {"program": "`[[programs]]`", "traffic": "`[[traffic]]`"}


def _metric(declared: Any) -> Metric:
    parts, doc = declared["parts"], declared["doc"]
    if declared["on"] == "flow" and "flow" not in parts:
        doc = f"{doc} This metric exists only for {' and '.join(_NAMES[part] for part in parts)}."
    return Metric(
        declared["path"],
        declared["on"],
        declared["unit"],
        doc,
        field(declared["field"]),
        declared["weight"],
        most=declared["most"],
        better=declared["better"],
        only=tuple(parts),
    )


METRICS = tuple(_metric(declared) for declared in fields.metrics())


def metric(path: str, on: On) -> Metric:
    """Return the metric for the field at this path."""
    return next(one for one in METRICS if (one.path, one.on) == (path, on))
