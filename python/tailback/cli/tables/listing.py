"""Makes the lines that `tailback list` prints."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any

from tailback import studies

KERNEL_HAS = {"cc": "cc", "aqm": "qdisc"}
"""For each registry, the key in a guest kernel's manifest that lists the algorithms of the guest
kernel."""

PARTS = ("cake_mq", "clsact", "ingress", "mq", "noqueue")
"""Qdiscs of the kernel that cannot be the queue of a link."""


def lines(kind: str, *, options: bool) -> Iterator[str]:
    """Yield a line for each entry of a registry, and for each of its options if `options` is
    set."""
    if kind == "metrics":
        from tailback import metrics

        heads = _aligned((m.name, m.on, m.unit or "–", m.path, m.doc) for m in metrics.METRICS)
        for metric, head in zip(metrics.METRICS, heads, strict=True):
            yield head
            if options:
                yield f"    computed from: {metrics.WEIGHTS[metric.weight]}"
                yield f"    if a run has no value: {metric.missing}"
        if options:
            yield f"all: {metrics.RULE}"
    elif kind == "paths":
        from tailback import _native

        paths = _registry(_native)["paths"]
        heads = _aligned((path["name"], path["doc"]) for path in paths)
        for path, head in zip(paths, heads, strict=True):
            yield head
            if options:
                keys = path["toml"].splitlines()[1:]
                yield from (f"    {key}".rstrip() for key in keys)
    elif kind in studies.lists():
        yield from _aligned(studies.listed(kind))
    else:
        from tailback.plugins import asked, copies

        native = copies.native(asked.by_environment())
        registry = _registry(native)
        entries = list(registry[kind])
        has = _kernel_has(kind)
        key = "name" if kind == "cc" else kind
        entries += [
            {"name": name, "doc": f'as {{ {key} = "{name}", kernel = true }}', "options": []}
            for name in _only_kernel(entries, has)
        ]
        if kind == "programs":
            entries = [*entries, *_only_stacks(registry)]
            engines = [_engines_of_program(e["name"], registry) for e in entries]
        else:
            engines = [_engines(e, has) for e in entries]
        heads = _aligned(
            (e["name"], names, e["doc"]) for e, names in zip(entries, engines, strict=True)
        )
        for entry, head in zip(entries, heads, strict=True):
            yield head
            if options:
                every = [*entry["options"], *connection_keys(kind, entry, native)]
                yield from (f"    {text}" for text in option_lines(every))


@functools.cache
def _registry(native: ModuleType) -> dict[str, Any]:
    registry: dict[str, Any] = json.loads(native.registry_json())
    return registry


_TYPES = {"cc": "congestion control", "tcp": "table of keys of [tcp]", "back": "list of links"}
"""The types of the keys that `connection_keys` returns."""


def connection_keys(
    kind: str, entry: Mapping[str, Any], native: ModuleType
) -> list[dict[str, Any]]:
    """Return keys of `[[traffic]]` that only some kinds of traffic accept, such as `cc` of web, in
    the form of options. Only the registry of traffic has such keys.
    """
    if kind != "traffic":
        return []
    shapes = _traffic_shapes(native)
    shared = set.intersection(*map(set, shapes.values()))
    own = {option["name"] for option in entry["options"]}
    return [
        {
            "name": name,
            "type": _TYPES[name],
            "default": shape.get("default"),
            "tc": None,
            "doc": shape["description"],
        }
        for name, shape in shapes[entry["name"]].items()
        if name not in shared and name not in own
    ]


@functools.cache
def _traffic_shapes(native: ModuleType) -> dict[str, dict[str, Any]]:
    """Return the keys that each kind of traffic accepts, from the schema of scenarios."""
    schema = json.loads(native.json_schema())
    shapes = schema["properties"]["traffic"]["items"]["anyOf"]
    return {one["properties"]["kind"]["const"]: one["properties"] for one in shapes}


def option_lines(options: list[dict[str, Any]], prefix: str = "") -> Iterator[str]:
    """Yield `name = default  (type)  doc` for each option. Nested options come after their
    table."""
    for option in options:
        name = f"{prefix}{option['name']}"
        default = f" = {option['default']}" if option["default"] is not None else ""
        yield f"{name}{default}  ({type_of(option)})  {option['doc']}"
        yield from option_lines(option.get("options", []), f"{name}.")


def type_of(option: dict[str, Any]) -> str:
    match option:
        case {"type": "word", "words": words}:
            return " | ".join(words)
        case {"type": "word or int", "words": words, "min": low, "max": high}:
            return f"{' | '.join(words)} | {low} to {high}"
        case {"type": "bool or int", "min": low, "max": high}:
            return f"true | false | {low} to {high}"
        case {"type": "int" | "float" as kind, "min": low, "max": high}:
            return f"{kind}, {low:g} to {high:g}"
        case {"type": "time", "min": low} if not low.startswith("0"):
            return f"time, at least {low}"
        case {"type": "size", "packets": packets, "bytes": size}:
            units = [u for u, has in (("packets", packets), ("bytes", size)) if has]
            return f"size in {' or '.join(units)}"
        case {"type": "list", "of": of}:
            return f"list of {of}s"
        case {"type": "pairs", "of": of}:
            return f"list of [time, {of}]"
        case {"type": str(kind)}:
            return kind
    return "?"


def _engines(entry: dict[str, Any], has: Collection[str] | None) -> str:
    """Return the engines that support an entry of a registry, with the entry's name in Linux if
    that differs."""
    if "kernel" not in entry:
        return "kernel"
    name = entry["kernel"]
    own = bool(entry.get("stand_ins")) and not entry["since"]
    tailbacks = entry["kernel_kind"] == "agent" or own
    if name is None or (not tailbacks and has is not None and name not in has):
        return "sim"
    return "sim, kernel" if name == entry["name"] else f"sim, kernel ({name})"


def _only_stacks(registry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the kinds of programs that only the simulator can run: the stacks in the engine, and
    the stacks in the repository's folder `stacks`.
    """
    known = {entry["name"]: entry for entry in registry["programs"]}
    stacks = {entry["name"]: entry for entry in registry["stacks"]}
    others = {one["name"]: {**one, "options": []} for one in registry["adapters"]}
    return [entry for name, entry in (others | stacks).items() if name not in known]


def _engines_of_program(name: str, registry: dict[str, Any]) -> str:
    """Return the engines that run a kind of program. If the program is a stack that is not compiled
    into the engine, add the folder that the user must pass to `--with`.
    """
    [folder] = [one["folder"] for one in registry["adapters"] if one["name"] == name] or [""]
    if any(entry["name"] == name for entry in registry["stacks"]):
        folder = ""
    elif not folder:
        return "kernel"
    sim = f"sim (--with {folder})" if folder else "sim"
    in_kernel = any(entry["name"] == name for entry in registry["programs"])
    return f"{sim}, kernel" if in_kernel else sim


def _kernel_has(kind: str) -> Collection[str] | None:
    """Return the names of all entries of this kind, such as queue disciplines, in the built kernel.

    Return None if no kernel is built. Read only the manifest of the kernel, because a list needs no
    other file. A run verifies the kernel's files.
    """
    from tailback.errors import InputError
    from tailback.kernel import kit

    if kind not in KERNEL_HAS:
        return None
    try:
        found: dict[str, str | None] = kit.described()[KERNEL_HAS[kind]]
    except InputError:
        return None
    return found


def _only_kernel(entries: list[dict[str, Any]], has: Collection[str] | None) -> list[str]:
    """Return the names of the kernel's algorithms that are not in tailback's registry."""
    known = {name for e in entries for name in (e["name"], e["kernel"])}
    return sorted(name for name in has or () if name not in known and name not in PARTS)


def _aligned(rows: Any) -> list[str]:
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
