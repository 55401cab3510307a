"""Lists the algorithms and other entries that the engine registers, with their support in the
kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tailback import _native


@cache
def entries(kind: str) -> list[dict[str, Any]]:
    """Return the entries of a registry, which is `cc`, `aqm`, `traffic`, `impairments` or
    `programs`."""
    found: list[dict[str, Any]] = json.loads(_native.registry_json())[kind]
    return found


def entry(kind: str, name: str) -> Mapping[str, Any]:
    """Return the entry with this name in scenarios or in the kernel, or an empty table."""
    named = (e for e in entries(kind) if name in (e["name"], e["kernel"], *e.get("kinds", ())))
    return next(named, {})


def built_in(kind: str) -> Iterator[str]:
    """Yield the Linux names of the entries that every kernel supports without a module."""
    for found in entries(kind):
        if found.get("built_in"):
            yield from found.get("kinds", [found["kernel"]])


def in_order(queue: Mapping[str, Any]) -> bool:
    """Return whether packets leave this queue in the order of their arrival."""
    order = entry("aqm", queue["name"]).get("in_order", False)
    if isinstance(order, bool):
        return order
    options = queue.get("options", {})
    return all(options.get(option) == word for option, word in order.items())


def is_dual(entry: Mapping[str, Any]) -> bool:
    """Return whether the queue discipline is a dual queue, which sorts packets into two queues by
    their ECN field."""
    return bool(entry.get("dual", False))


def stand_ins() -> dict[str, str | None]:
    """Return tailback's kernel modules for algorithms that Linux does not have. Each module has the
    first Linux release for which it compiles, or None if it compiles for all releases."""
    found = [own for kind in ("cc", "aqm") for e in entries(kind) for own in e.get("stand_ins", [])]
    return {own["module"]: own.get("since") for own in found}
