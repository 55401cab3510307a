"""What `tailback list` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def lines(kind: str, *, options: bool) -> Iterator[str]:
    """The entries of a registry, a line each (and one for each option)."""
    if kind == "metrics":
        from tailback import metrics

        yield from _aligned((m.name, m.on, m.unit or "–", m.doc) for m in metrics.METRICS)
    elif kind == "experiments":
        from tailback import experiments

        entries = [experiments.get(name) for name in experiments.NAMES]
        yield from _aligned((e.name, e.title) for e in entries)
    else:
        from tailback._native import registry_json

        entries = json.loads(registry_json())[kind]
        heads = _aligned((e["name"], _engines(e), e["doc"]) for e in entries)
        for entry, head in zip(entries, heads, strict=True):
            yield head
            if options:
                yield from (f"    {text}" for text in option_lines(entry["options"]))


def option_lines(options: list[dict[str, Any]], prefix: str = "") -> Iterator[str]:
    """`name = default  (type)  doc`, nested ones under their table's name."""
    for option in options:
        name = f"{prefix}{option['name']}"
        default = f" = {option['default']}" if option["default"] is not None else ""
        yield f"{name}{default}  ({type_of(option)})  {option['doc']}"
        yield from option_lines(option.get("options", []), f"{name}.")


def type_of(option: dict[str, Any]) -> str:
    """Type and range of an option."""
    match option:
        case {"type": "word", "words": words}:
            return " | ".join(words)
        case {"type": "int" | "float" as kind, "min": low, "max": high}:
            return f"{kind}, {low:g} to {high:g}"
        case {"type": "time", "min": low} if not low.startswith("0"):
            return f"time, at least {low}"
        case {"type": "size", "packets": packets, "bytes": size}:
            units = [u for u, has in (("packets", packets), ("bytes", size)) if has]
            return f"size in {' or '.join(units)}"
        case {"type": str(kind)}:
            return kind
    return "?"


def _engines(entry: dict[str, Any]) -> str:
    # What Linux calls it is told too: that is what it is held against. Traffic
    # is nothing of Linux's.
    linux = entry["kernel"] if entry["kernel_kind"] != "agent" else None
    return "sim" if linux is None else f"sim  (Linux: {linux})"


def _aligned(rows: Any) -> list[str]:
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
