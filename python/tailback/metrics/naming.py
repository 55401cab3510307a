"""Converts names of metrics from JSON paths to identifiers that end in a unit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tailback._native import identifier
from tailback.metrics import fields

_WITH_UNIT = re.compile(r"\w+_(?:ms|mbit|bytes|s)")


def has_unit(name: str) -> bool:
    """Return whether an identifier ends in a unit."""
    return _WITH_UNIT.fullmatch(name) is not None


def flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested fields of a summary to columns: `{"rtt_ms": {"mean": 1}}` to
    `{"rtt_mean_ms": 1}`.

    A field that is a metric with another name gets the metric's name, such as `requests` for
    `completions.started`.
    """
    return {flat_name(path): value for path, value in _paths(part)}


def flat_name(path: str) -> str:
    """Return the column name of a field's path."""
    return fields.names().get(path) or identifier(path)


def _paths(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{key}.")
        # Leave out the number of samples. Missing values in the other fields already show that this
        # number is 0.
        elif key != "samples":
            yield f"{prefix}{key}", value


__all__ = ["flat", "flat_name", "has_unit", "identifier"]
