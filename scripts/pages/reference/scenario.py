"""Writes docs/reference/scenario.md: the keys of scenario files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tailback._native import json_schema, registry_json

ENTRY = ("programs", "items", "anyOf", -1, "properties")

# The sections of a scenario: heading, place in the schema, and the tables inside it that other
# sections describe.
SCENARIO = (
    ("At the top", (), ()),
    ("[bottleneck] or [links.NAME]", ("bottleneck",), ()),
    ("[bottleneck.slots] or [links.NAME.slots]", ("bottleneck", "properties", "slots"), ()),
    (
        "[[bottleneck.impairments]] or [[links.NAME.impairments]]",
        ("bottleneck", "properties", "impairments", "items", "anyOf", 0),
        ("kind", "probability"),
    ),
    ("[path]", ("path",), ()),
    ("[[flows]]", ("flows", "items"), ()),
    ("[flows.chunks]", ("flows", "items", "properties", "chunks"), ()),
    ("[tcp]", ("tcp",), ()),
    ("[[traffic]]", ("traffic", "items", "anyOf", 0), ("kind", "rate", "ecn", "packet_size")),
    ("[[programs]]", ("programs", "items", "anyOf", -1), ()),
    ("[programs.sender] or [programs.receiver]", (*ENTRY, "sender"), ()),
    ("[programs.results.NAME]", (*ENTRY, "results", "additionalProperties"), ()),
    ("[[events]]", ("events", "items"), ()),
    ("[record]", ("record",), ()),
    ("[sweep]", ("sweep",), ()),
    ("[[assert]]", ("assert", "items"), ()),
)


HEAD = """\
# Scenario files

`make pages` writes this page from the [JSON Schema](scenario.schema.json) of scenarios, which
editors can also read. Write times, rates and sizes as for tc: `20ms`, `100Mbit`, `1000p` (packets),
`64kb` (1 kb = 1024 bytes), `0.5bdp` (bottleneck rate x path RTT). The tables on this page list the
keys and their defaults. If a table has no default for a key, the description of the key says what
happens if you do not set the key.

Other pages list the options of [congestion controls](congestion-controls/index.md),
[queues](queues/index.md), [traffic](traffic/index.md), [impairments](impairments/index.md) and
[programs](programs/index.md).
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_scenario()])


def _scenario() -> Iterator[str]:
    schema = json.loads(json_schema())
    for title, place, elsewhere in SCENARIO:
        node = schema
        for i, step in enumerate(place):
            node = node["properties"][step] if i == 0 else node[step]
        # A list is described at its own key, so the description is not repeated for its items.
        inside = "properties" in place[1:] or not place
        text = node["description"]
        if "impairments" in place:
            text = schema["properties"]["bottleneck"]["properties"]["impairments"]["description"]
            text += " `kind` selects the impairment; write its options in the same table."
        if place and not inside:
            text = schema["properties"][place[0]]["description"]
        if place == ("bottleneck",):
            text = f"{text} {schema['properties']['links']['description']}"
        title = title.replace(" or ", "` or `")
        yield f"## `{title}`\n\n{text}\n" if place else f"## {title}\n"
        yield "| key | type | default | meaning |"
        yield "|---|---|---|---|"
        for name, value in node["properties"].items():
            # Leave out a key that has its own section.
            if name in elsewhere or (not place and name in SECTION_NAMES):
                continue
            kind = _type(value)
            default = f"`{_toml(value['default'])}`" if "default" in value else ""
            if kind.startswith("bool"):
                default = default.replace('"', "")
            if name in node.get("required", ()):
                default = "required"
            cells = (f"`{name}`", kind, default, value.get("description", ""))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
        if not place:
            yield from _hosts()


HOSTS = """\
### Kinds of hosts

The key `hosts` selects the kind of all hosts. A wait begins with the first packet that a host
holds. The waits of the sender's host and of the receiver's host are independent random times. Each
flow or source has a pair of hosts, which other flows and sources may share. Flows and sources with
the same names in the key `hosts` share their hosts. Flows and sources without names share their
hosts if they have the same round-trip time, the same route, and the same settings of the host's
TCP. Packets wait only before they leave a host. Links and routers do not hold packets.

A host of the kind `vm-shared` pauses. Pauses begin at random times, even if the host has no
packets. Packets that would leave during a pause leave together at the end of the pause, in order
within each flow. The two hosts of a pair pause independently of each other. With `host_jitter`,
each flow has its own random jitter, but all flows of one entry in `[[flows]]` pause together.
"""


def _hosts() -> Iterator[str]:
    yield HOSTS
    yield "| kind | packets | wait | pauses | source of the numbers |"
    yield "|---|---|---|---|---|"
    for kind in json.loads(registry_json())["hosts"]:
        wait = kind["wait_us"]
        shown = "0" if wait is None else f"{wait[0]} to {wait[1]} us, uniformly distributed"
        yield f"| `{kind['name']}` | {kind['doc']} | {shown} | {_pauses(kind)} | {kind['source']} |"
    yield ""


def _pauses(kind: Mapping[str, Any]) -> str:
    pauses = kind["pauses"]
    if pauses is None:
        return "none"
    least, most, gap = (pauses[key] / 1000 for key in ("least_us", "most_us", "gap_us"))
    return (
        f"{least:g} to {most:g} ms, uniformly distributed; {gap / 1000:g} s from the end of "
        "a pause to the next pause on average, exponentially distributed"
    )


SECTION_NAMES = {"links", *(place[0] for _, place, _ in SCENARIO if place)}


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | str) else str(value)


def _type(value: dict[str, Any]) -> str:
    """Describe a value of the schema by its type or its range."""
    match value:
        case {"type": "string", "anyOf": _}:
            return "text"
        case {"enum": words} if len(words) <= MOST_WORDS:
            return " | ".join(_toml(word) for word in words)
        case {"type": "integer" | "number" as kind, "minimum": low, "maximum": high}:
            return f"{'int' if kind == 'integer' else 'float'}, {low:g} to {high:g}"
        case {"type": "integer", "minimum": low}:
            return f"int, at least {low}"
        case {"type": "boolean"}:
            return "bool"
        case {"type": "number"}:
            return "float"
        case {"pattern": pattern} if "secs" in pattern:
            return "time"
        case {"anyOf": [{"pattern": pattern}, *_]} if "[dD][pP]" in pattern:
            return "size in bytes"
        case {"pattern": pattern} if "[bB][iI][tT]" in pattern:
            return "rate"
        case {"anyOf": [{"type": "boolean" | "number"} as first, {"type": _} as second]}:
            return f"{_type(first)}, or {_type(second)}"
        case {"anyOf": [{"pattern": pattern}, *_]} if "secs" in pattern:
            return "time or table"
        case {"anyOf": [{"pattern": _}, *_]}:
            return "rate or table"
        case {"anyOf": [{"enum": _}, *_]}:
            return "name or table"
        case {"type": "array", "items": {"type": "object"}}:
            return "tables"
        case {"type": "array"}:
            return "list"
        case {"type": "object"}:
            return "table"
    return "text"


MOST_WORDS = 8
"""The largest number of words of a choice that is described in its row. A longer choice gets its
own table."""
