"""Defines which structure the JSON files in a folder of results must have.

The structure is checked even if the hash is correct, because a hash does not show who wrote a file.
A table's schema lists the required keys. Other keys are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tailback import _native
from tailback.base import foreign
from tailback.metrics import fields
from tailback.metrics.fields import Field

Shape = Callable[[Any], bool] | Mapping[str, Any] | list[Any]
"""A schema: a function that tests a value, a table of schemas by key, or a list with the schema of
its elements."""

MAX_WHOLE = 2**64 - 1
MAX_FLOAT = 1e100


def text(value: Any) -> bool:
    return isinstance(value, str)


def whole(value: Any) -> bool:
    """Return whether a value is an integer from 0 to 2^64 - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_WHOLE


def number(value: Any) -> bool:
    """Return whether a value is an int or a float. Infinite values cannot occur, because `foreign`
    rejects them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Squares and sums of values below this bound are finite. Measured values are much smaller.
    return abs(value) <= (MAX_FLOAT if isinstance(value, float) else MAX_WHOLE)


def identity(value: Any) -> bool:
    """Return whether a value can be the id of a run, a sweep or a comparison."""
    return isinstance(value, str) and value.isascii() and _native.is_id(value)


@dataclass(frozen=True, eq=False)
class Maybe:
    """A value that matches the inner schema, or null."""

    shape: Any

    def __call__(self, value: Any) -> bool:
        return value is None or fault(value, self.shape) is None


@dataclass(frozen=True, eq=False)
class Each:
    """A table whose values all match the inner schema."""

    shape: Any

    def __call__(self, value: Any) -> bool:
        return isinstance(value, dict) and all(
            fault(inner, self.shape) is None for inner in value.values()
        )


@dataclass(frozen=True, eq=False)
class Either:
    """A value that matches any of the inner schemas."""

    shapes: tuple[Any, ...]

    def __call__(self, value: Any) -> bool:
        return any(fault(value, shape) is None for shape in self.shapes)


def maybe(shape: Shape) -> Shape:
    """Return a schema that also accepts null."""
    return Maybe(shape)


def either(*shapes: Shape) -> Shape:
    """Return a schema that accepts a value if any of these schemas accepts it."""
    return Either(shapes)


def each(shape: Shape) -> Shape:
    """Return the schema of a table whose values all match this schema."""
    return Each(shape)


@dataclass(frozen=True)
class Absent:
    """A key that may be missing in a table. If the key exists, its value must match the inner
    schema."""

    shape: Any


def fault(value: Any, shape: Shape, at: str = "") -> str | None:
    """Return where a value does not match its schema, such as `flows[0].name`, or None if it
    matches."""
    # Almost all values match. First test only whether the value matches, because this test is
    # faster than one that finds the path of the mismatch.
    if not at and _test_of(shape)(value):
        return None
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            return at or "it"
        for key, inner in shape.items():
            where = f"{at}.{key}" if at else key
            if isinstance(inner, Absent):
                if key not in value:
                    continue
                inner = inner.shape
            if key not in value:
                return where
            if (place := fault(value[key], inner, where)) is not None:
                return place
        return None
    if isinstance(shape, list):
        if not isinstance(value, list):
            return at or "it"
        for i, element in enumerate(value):
            if (place := fault(element, shape[0], f"{at}[{i}]")) is not None:
                return place
        return None
    return None if shape(value) else at or "it"


_TESTS: dict[int, tuple[Shape, Callable[[Any], bool]]] = {}
"""The tests of schemas, by the id of the schema. The schema is stored too, so that Python does not
reuse its id for another object."""


def _test_of(shape: Shape) -> Callable[[Any], bool]:
    known = _TESTS.get(id(shape))
    if known is None:
        known = _TESTS[id(shape)] = (shape, _compiled(shape))
    return known[1]


def _compiled(shape: Shape) -> Callable[[Any], bool]:
    """Return a function that returns whether a value matches a schema. The index of a large sweep
    has many values, so the function does as little as possible for each of them."""
    if isinstance(shape, Mapping):
        keys = [
            (key, _compiled(inner.shape), False)
            if isinstance(inner, Absent)
            else (key, _compiled(inner), True)
            for key, inner in shape.items()
        ]

        def table(value: Any) -> bool:
            if not isinstance(value, dict):
                return False
            for key, inner, needed in keys:
                if key in value:
                    if not inner(value[key]):
                        return False
                elif needed:
                    return False
            return True

        return table
    if isinstance(shape, list):
        element = _compiled(shape[0])
        return lambda value: isinstance(value, list) and all(map(element, value))
    if isinstance(shape, Maybe):
        known = _compiled(shape.shape)
        return lambda value: value is None or known(value)
    if isinstance(shape, Each):
        each_value = _compiled(shape.shape)
        return lambda value: isinstance(value, dict) and all(map(each_value, value.values()))
    if isinstance(shape, Either):
        tests = [_compiled(inner) for inner in shape.shapes]
        return lambda value: any(test(value) for test in tests)
    return shape


def described(shape: Shape) -> Any:
    """Convert a schema to JSON for `_native.Shape`. Simple schemas become words such as "text".
    Any other schema becomes a table with a single key, which names the kind of schema.
    """
    if isinstance(shape, Mapping):
        keys = (
            [key, inner.shape, False] if isinstance(inner, Absent) else [key, inner, True]
            for key, inner in shape.items()
        )
        return {"table": [[key, described(inner), needed] for key, inner, needed in keys]}
    if isinstance(shape, list):
        return {"list": described(shape[0])}
    if isinstance(shape, Maybe | Each):
        return {type(shape).__name__.lower(): described(shape.shape)}
    return _WORDS[shape]


_WORDS: Mapping[Any, str] = {text: "text", whole: "whole", number: "number", identity: "identity"}


@cache
def native_summary() -> _native.Shape:
    """Return the schema `SUMMARY` as a Rust object, which checks JSON without converting it to
    Python objects.
    """
    return _native.Shape(
        json.dumps(described(SUMMARY)), depth=foreign.MAX_DEPTH, values=foreign.MAX_VALUES
    )


_NUMBER = maybe(number)
COUNT = maybe(whole)
TEXT = maybe(text)
_KINDS: Mapping[str, Shape] = {
    "text": text,
    "optional text": TEXT,
    "identity": identity,
    "count": whole,
    "optional count": COUNT,
    "number": number,
    "optional number": _NUMBER,
    "causes": maybe(each(whole)),
    "numbers": each(_NUMBER),
}
"""The schema of each kind of field that contains no other fields."""


def _field(field: Field) -> Shape:
    match field.kind:
        case "statistics":
            return {word: whole if word == "n" else _NUMBER for word in field.statistics}
        case "table":
            return _table(field.fields)
        case "optional table":
            return maybe(_table(field.fields))
        case "list":
            return [_table(field.fields)]
        case "by name":
            return each(_table(field.fields))
    return _KINDS[field.kind]


def _table(fields: Sequence[Field]) -> dict[str, Any]:
    return {f.name: Absent(_field(f)) if f.may_lack else _field(f) for f in fields}


SUMMARY = _table(fields.summary())
"""The schema of `summary.json` of a run."""

TIMING: Shape = {
    "wall_s": number,
    "cpu_s": number,
    "host": text,
    "data_packets": whole,
    "events": whole,
    "memory_bytes": COUNT,
}
"""The schema of `timing.json` of a run."""

INDEX: Shape = {
    "id": identity,
    "title": text,
    "engine": text,
    "engine_version": text,
    "axes": [[text]],
    "warnings": [text],
    "points": [
        {
            "params": each(either(text, number)),
            "labels": each(text),
            "seed": whole,
            "run_id": identity,
            "baseline": maybe(identity),
            "without": Absent(each(identity)),
        }
    ],
}
"""The schema of `index.json` of a sweep."""

MARKER: Shape = {
    "kind": text,
    "id": text,
    "files": each({"bytes": whole, "sha256": text}),
}
"""Schema of the marker file in the folder of a report."""
