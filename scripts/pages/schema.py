"""Writes docs/reference/scenario.schema.json, the schema of scenarios for editors.

The file has a fifth of the size of the engine's schema, because `$defs` contains each repeated part
once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tailback._native import json_schema

LEAST_BYTES = 120
"""The smallest size of a part that becomes a definition. A reference to a smaller part would not be
shorter."""

ANNOTATIONS = ("description", "default")
"""Annotations that a key adds to a shared part. These annotations are written in the object that
contains the `$ref`."""

Schema = dict[str, Any]
Names = tuple[str, ...]


def text() -> str:
    """Return the schema with its repeated parts under `$defs`."""
    hoisted = hoist(json.loads(json_schema()))
    return json.dumps(hoisted, indent=1, ensure_ascii=False) + "\n"


def hoist(schema: Schema) -> Schema:
    """Return an equivalent schema with repeated parts under `$defs`.

    The first pass ignores annotations when it compares parts. The second pass includes annotations,
    and finds parts that are long enough for a definition only with their annotations.
    """
    return _hoisted(_hoisted(schema, ANNOTATIONS), ())


def _hoisted(schema: Schema, beside: Names) -> Schema:
    """Replace repeated parts of the schema by definitions. Parts count as equal if they differ only
    in the keys `beside`."""
    defined = schema.get("$defs", {})
    names: dict[str, str] = {}
    for key, name in _repeated({**schema["properties"], **defined}, beside):
        names[key] = _unused(name, {*defined, *names.values()})
    new = {name: json.loads(key) for key, name in names.items()}
    parts = {name: _inside(part, names, beside) for name, part in (defined | new).items()}
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    return _inside(rest, names, beside) | {"$defs": dict(sorted(parts.items()))}


def inline(schema: Schema) -> Schema:
    """Return the schema with its definitions inlined, which undoes `hoist`."""
    definitions = schema.get("$defs", {})

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(item) for item in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            beside = {key: value for key, value in node.items() if key != "$ref"}
            return resolved(definitions[reference.rpartition("/")[2]]) | beside
        return {key: resolved(value) for key, value in node.items()}

    return {key: resolved(value) for key, value in schema.items() if key != "$defs"}


def _repeated(named: Mapping[str, Schema], beside: Names) -> Iterator[tuple[str, str]]:
    """Yield each repeated part that is long enough for a definition, with the scenario key that it
    describes."""
    seen: set[str] = set()
    given: set[str] = set()

    def visit(node: Any, name: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, list):
            for item in node:
                yield from visit(item, name)
        if not isinstance(node, dict):
            return
        if _is_schema(node) and len(key := _key(node, beside)) >= LEAST_BYTES:
            if key in seen:
                # Do not visit the parts inside a repeated part again: its definition contains them.
                if key not in given:
                    given.add(key)
                    yield key, name
                return
            seen.add(key)
        for word, value in node.items():
            if word == "properties":
                for inner, part in value.items():
                    yield from visit(part, inner)
            elif word not in (*ANNOTATIONS, "enum", "const"):
                yield from visit(value, name)

    for name, part in named.items():
        yield from visit(part, name)


def _is_schema(node: Mapping[str, Any]) -> bool:
    return any(word in node for word in ("type", "anyOf", "enum", "pattern"))


def _key(part: Schema, beside: Names) -> str:
    core = {key: value for key, value in part.items() if key not in beside}
    return json.dumps(core, sort_keys=True, ensure_ascii=False)


def _unused(name: str, taken: set[str]) -> str:
    """Return an unused name for a definition: `name`, with a number if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def _rewritten(node: Any, names: Mapping[str, str], beside: Names) -> Any:
    """Replace the named parts of a node by references."""
    if isinstance(node, list):
        return [_rewritten(item, names, beside) for item in node]
    if not isinstance(node, dict):
        return node
    if _is_schema(node) and (name := names.get(_key(node, beside))) is not None:
        return {"$ref": f"#/$defs/{name}"} | {key: node[key] for key in beside if key in node}
    return _inside(node, names, beside)


def _inside(node: Schema, names: Mapping[str, str], beside: Names) -> Schema:
    """Replace the named parts inside a node by references."""
    return {key: _rewritten(value, names, beside) for key, value in node.items()}
