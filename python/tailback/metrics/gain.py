"""Metric: a flow's throughput divided by its throughput with the standard backoff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric, field

METRICS = (
    Metric(
        "throughput_gain",
        "flow",
        "",
        "Throughput of the flow, divided by its throughput in another run of the sweep. In that "
        "other run, the flow uses the standard backoff (beta_ecn = beta), and all other keys "
        "have the same values.",
        field("throughput_gain"),
        "bytes",
        better="more",
        only=("flow",),
    ),
)


def add(summary: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add the gain of every flow to a summary. `other` is the summary of the run with the standard
    backoff (`beta_ecn` = `beta`).

    If a flow sent nothing in the run with the standard backoff, the flow's gain is missing.
    """
    standard = {flow["name"]: flow["throughput_mbit"] for flow in other["flows"]}
    for flow in summary["flows"]:
        own, over = flow["throughput_mbit"], standard.get(flow["name"])
        flow["throughput_gain"] = own / over if own is not None and over else None
