"""Reads which fields a run's summary has, with their JSON types, and which fields are metrics.

The fields are declared in Rust, in `tailback_record::summary`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tailback import _native


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the summary, with the fields inside it."""

    name: str
    kind: str
    """The field's type, by the name that the Rust binding gives it: `optional count`, `list`,
    `statistics` ..."""
    fields: Sequence[Field]
    """The fields in the tables that this field contains."""
    statistics: Sequence[str]
    """For a field with statistics, the names of its numbers."""
    may_lack: bool
    """Whether the key may be absent, because the run has no value or an earlier version wrote the
    summary."""
    measured: bool
    """Whether the field's numbers are metrics. If false, the field describes the flow or link
    itself, for example by its name."""


@cache
def _declared() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_native.summary_json())
    return found


@cache
def summary() -> tuple[Field, ...]:
    """Return the top-level fields of `summary.json`."""
    return _fields(_declared()["fields"])


def _fields(declared: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    return tuple(
        Field(
            entry["name"],
            entry["kind"],
            _fields(entry["fields"] or ()),
            entry["statistics"] or (),
            entry["may_lack"],
            entry["measured"],
        )
        for entry in declared
    )


def inside(*path: str) -> tuple[Field, ...]:
    """Return the fields at a path of the summary, such as `flows`, or `programs` and `tuples`."""
    found = summary()
    for name in path:
        found = tuple(next(field for field in found if field.name == name).fields)
    return found


def metrics() -> Sequence[Mapping[str, Any]]:
    """Return the declarations of the fields that are metrics.

    Each declaration has the keys on, parts, path, name, field (the path in the flow, link or
    class), doc, unit, weight, most and better.
    """
    found: Sequence[Mapping[str, Any]] = _declared()["metrics"]
    return found


def bins() -> tuple[tuple[str, int], ...]:
    """Return the bins of request sizes, each with its name and its upper bound in bytes."""
    return tuple((name, upto_bytes) for name, upto_bytes in _declared()["bins"])


@cache
def names() -> Mapping[str, str]:
    """Map fields to the names of their metrics where the names differ: `completions.started` to
    `requests`.
    """
    return {one["field"]: one["name"] for one in metrics()}
