"""Finds the settings of flows and programs in the manifest of a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback.errors import DamagedResults
from tailback.metrics.groups import group_of


def flow_plan(point: Mapping[str, Any], flow: str, run: Path) -> dict[str, Any]:
    """Return the settings of a flow from the canonical scenario of a run. Several flows made by the
    key `count` share one table of settings.

    Raises `DamagedResults` with the run's folder if the scenario does not contain the flow.
    """
    return _plan(point["flows"], flow, run)


def sender_plan(point: Mapping[str, Any], name: str, run: Path) -> dict[str, Any]:
    """Return the settings of a flow or program."""
    return _plan([*point["flows"], *point.get("programs", ())], name, run)


def _plan(plans: Sequence[dict[str, Any]], name: str, run: Path) -> dict[str, Any]:
    for wanted in (name, group_of(name)):
        for plan in plans:
            if plan["name"] == wanted:
                return plan
    raise DamagedResults(f"{run}: the manifest has no flow {name}")
