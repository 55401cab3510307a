"""Describes the changes during a run: the `[[events]]` of its scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tailback.registry import entry

MAX_SENTENCES = 20
"""The largest number of events that the text describes one by one."""


def of(canonical: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the time of each event in s, and a sentence about what it changes. `canonical` is the
    scenario in the run's manifest."""
    links = canonical.get("links", [])
    owners = list(_owners(canonical))
    # The options of queues and impairments before the event. An event lists all options. A
    # comparison with the options before the event shows which options change.
    options: dict[tuple[int, int | None], dict[str, Any]] = {}
    for number, link in enumerate(links):
        options[number, None] = link.get("queue", {}).get("options", {})
        for place, impairment in enumerate(link.get("impairments", [])):
            options[number, place] = impairment.get("options", {})
    found = []
    for event in canonical.get("events", []):
        parts = [_part(change, links, owners, options) for change in event["changes"]]
        at = event["at"] / 1e9
        changes = "; ".join(part for part in parts if part)
        found.append({"at_s": at, "sentence": f"At {at:g} s: {changes or 'nothing changes'}."})
    return found


def sentences(found: list[dict[str, Any]]) -> list[str]:
    """Return a sentence about each of the first events, and a sentence with the number of further
    events."""
    told = [event["sentence"] for event in found[:MAX_SENTENCES]]
    more = len(found) - len(told)
    return [*told, f"And {more} more event{'s' if more > 1 else ''}."] if more else told


def _owners(canonical: dict[str, Any]) -> Iterator[str]:
    """Yield the name of each flow, then of each source. An event refers to a flow or source by its
    position in this order."""
    for kind in ("flows", "traffic"):
        for group in canonical.get(kind, []):
            count = group.get("count", 1)
            for number in range(1, count + 1):
                yield f"{group['name']}/{number}" if count > 1 else group["name"]


def _part(
    change: dict[str, Any],
    links: list[dict[str, Any]],
    owners: list[str],
    options: dict[tuple[int, int | None], dict[str, Any]],
) -> str:
    for turn in ("start", "stop"):
        if turn in change:
            return f"{owners[change[turn]]} {turn}s"
    number = change["link"]
    name = links[number]["name"]
    if "rate" in change:
        return f"the rate of {name} becomes {change['rate'] / 1e6:g} Mbit/s"
    if "delay" in change:
        return f"the delay of {name} becomes {change['delay'] / 1e6:g} ms"
    if "loss" in change:
        return f"{name} loses {100 * change['loss']:g} % of its packets"
    place = change.get("impairment")
    new = change["queue"] if place is None else change["options"]
    old = options.get((number, place), {})
    options[number, place] = new
    if place is None:
        what, kind, algorithm = "the queue", "aqm", links[number]["queue"]["name"]
    else:
        algorithm = links[number]["impairments"][place]["kind"]
        what, kind = f"the impairment {algorithm}", "impairments"
    # The registry of queues does not contain queues of plugins.
    differing = list(_differing(new, old, entry(kind, algorithm).get("options", ())))
    return f"{what} of {name} gets {', '.join(differing)}" if differing else ""


def _differing(
    new: dict[str, Any], old: dict[str, Any], known: Sequence[dict[str, Any]], table: str = ""
) -> Iterator[str]:
    """Yield each option of `new` that differs from `old`. `table` is the path of a table of
    options, such as `ecn.` of wred."""
    options = {option["name"]: option for option in known}
    for key, value in new.items():
        option = options.get(key, {})
        before = old.get(key)
        if option.get("type") == "table":
            yield from _differing(value, before or {}, option["options"], f"{table}{key}.")
            continue
        if isinstance(before, dict) and isinstance(value, int):
            # An event does not store the unit of this option, because an event cannot change the
            # unit.
            value = dict.fromkeys(before, value)
        if before != value:
            yield f"{table}{key} = {_shown(value, option.get('type', ''))}"


def _shown(value: Any, kind: str) -> str:
    """Return a value of the canonical scenario as text. `kind` is the type of its option."""
    if isinstance(value, dict) and len(value) == 1:
        ((unit, number),) = value.items()
        return _shown(number, "time") if unit == "ns" else f"{number} {unit}"
    if isinstance(value, int) and kind == "time":
        return f"{value / 1e6:g} ms"
    if isinstance(value, int) and kind == "rate":
        return f"{value / 1e6:g} Mbit/s"
    if isinstance(value, int) and kind == "size":
        return f"{value} bytes"
    return str(value).lower() if isinstance(value, bool) else str(value)
