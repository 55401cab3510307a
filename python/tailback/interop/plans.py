"""Reads the flows of a stored run from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailback.errors import DamagedResults
from tailback.metrics.groups import group_of


def flow_plan(point: Mapping[str, Any], flow: str, run: Path) -> dict[str, Any]:
    """Return the table of a flow in a canonical point. Several flows can share one table.

    Raises `DamagedResults`, with the folder of the run, if the point does not have the flow.
    """
    plans: list[dict[str, Any]] = point["flows"]
    for wanted in (flow, group_of(flow)):
        for plan in plans:
            if plan["name"] == wanted:
                return plan
    raise DamagedResults(f"{run}: the manifest has no flow {flow}")
