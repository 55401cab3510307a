"""Lists the entries that the engine registers, and which of them the kernel supports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tailback import _native


@cache
def entries(kind: str) -> list[dict[str, Any]]:
    """Return the entries of a registry: `cc`, `aqm`, `traffic`, `impairments` or `programs`."""
    found: list[dict[str, Any]] = json.loads(_native.registry_json())[kind]
    return found


def entry(kind: str, name: str) -> Mapping[str, Any]:
    """Return the entry with this name in scenario files or in the kernel. Empty if the registry has
    no such entry."""
    named = (e for e in entries(kind) if name in (e["name"], e["kernel"], *e.get("kinds", ())))
    return next(named, {})


def built_in(kind: str) -> Iterator[str]:
    """Yield the names that every kernel supports without a module."""
    for found in entries(kind):
        if found.get("built_in"):
            yield from found.get("kinds", [found["kernel"]])


def in_order(queue: Mapping[str, Any]) -> bool:
    """Return whether a packet in this queue waits behind all packets that arrived before it."""
    order = entry("aqm", queue["name"]).get("in_order", False)
    if isinstance(order, bool):
        return order
    options = queue.get("options", {})
    return all(options.get(option) == word for option, word in order.items())


def is_dual(entry: Mapping[str, Any]) -> bool:
    """Return whether a queue is dual: the ECN field of a packet decides in which of its parts the
    packet waits."""
    return bool(entry.get("dual", False))


def stand_ins() -> dict[str, str | None]:
    """Return tailback's own modules for algorithms that Linux does not have. Each module has the
    first Linux release for which it can be built, or None if it can be built for every release."""
    found = [own for kind in ("cc", "aqm") for e in entries(kind) for own in e.get("stand_ins", [])]
    return {own["module"]: own.get("since") for own in found}
