"""Names of numbers: a path in the JSON, an identifier with its unit everywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tailback._native import identifier
from tailback.metrics import fields

_WITH_UNIT = re.compile(r"\w+_(?:ms|mbit|bytes|s)")


def has_unit(name: str) -> bool:
    """Whether an identifier ends in its unit."""
    return _WITH_UNIT.fullmatch(name) is not None


def flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a summary as columns: `{"rtt_ms": {"mean": 1}}` as `{"rtt_mean_ms": 1}`.

    A metric has its own name: `requests` for `completions.started`.
    """
    return {flat_name(path): value for path, value in _paths(part)}


def flat_name(path: str) -> str:
    """The column of a place in a part of a summary."""
    return fields.names().get(path) or identifier(path)


def _paths(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{key}.")
        # Only the missing value shows that no samples were taken.
        elif key != "samples":
            yield f"{prefix}{key}", value


__all__ = ["flat", "flat_name", "has_unit", "identifier"]
