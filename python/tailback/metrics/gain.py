"""Gain of a flow over the same flow with the standard backoff, at another point of the sweep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tailback.metrics.base import recorded
from tailback.stored import StoredRun

METRICS = (
    recorded(
        "throughput_gain",
        "flow",
        "",
        "Throughput over that at the sweep's point with the standard backoff and all else equal.",
    ),
)


def add(summary: dict[str, Any], baseline: Path) -> None:
    """Puts the gain of every flow into a summary; `baseline` is the folder of the other run.

    A run that is not there, or a flow that sent nothing there, has no gain over it.
    """
    if not os.path.lexists(baseline):
        return
    other = StoredRun(baseline).summary
    standard = {flow["name"]: flow["throughput_mbit"] for flow in other["flows"]}
    for flow in summary["flows"]:
        own, over = flow["throughput_mbit"], standard.get(flow["name"])
        flow["throughput_gain"] = own / over if own is not None and over else None
