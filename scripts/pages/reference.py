"""docs/reference/reference.md: keys of scenarios, entries of the registries, metrics and series."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailback import metrics
from tailback._native import json_schema, registry_json
from tailback.cli.tables.listing import type_of

SECTIONS = (
    ("cc", "Congestion controls", 'In a scenario: `cc = "NAME"` or `cc = { name = "NAME", ... }`.'),
    ("aqm", "Queues", 'In a scenario: `queue = { aqm = "NAME", ... }`.'),
    ("traffic", "Traffic", 'In a scenario: `[[traffic]]` with `kind = "NAME"`.'),
    ("programs", "Programs", 'In a scenario: `[[programs]]` with `kind = "NAME"`.'),
)

HEAD = """\
# Reference

Made by `make pages` from the schema of scenarios
([JSON Schema](scenario.schema.json), for editors) and the registries of the
engine; `tailback list --options` prints the latter. Times, rates and sizes are
written as for tc: `20ms`, `100Mbit`, `1000p` (packets), `64kb` (1 kb = 1024
bytes), `0.5bdp` (bottleneck rate x path RTT). An option that is left out has
the default shown; where none is shown its meaning says what happens.
"""


ENTRY = ("programs", "items", "anyOf", -1, "properties")

# Section of a scenario, its place in the schema, and what the tables below it
# say already.
SCENARIO = (
    ("At the top", (), ()),
    ("[bottleneck] or [links.NAME]", ("bottleneck",), ()),
    ("[bottleneck.slots] or [links.NAME.slots]", ("bottleneck", "properties", "slots"), ()),
    ("[path]", ("path",), ()),
    ("[[flows]]", ("flows", "items"), ()),
    ("[tcp]", ("tcp",), ()),
    ("[[traffic]]", ("traffic", "items", "anyOf", 0), ("kind", "rate", "ecn", "packet_size")),
    ("[[programs]]", ("programs", "items", "anyOf", -1), ()),
    ("[programs.sender] or [programs.receiver]", (*ENTRY, "sender"), ()),
    ("[programs.results.NAME]", (*ENTRY, "results", "additionalProperties"), ()),
    ("[record]", ("record",), ()),
    ("[sweep]", ("sweep",), ()),
    ("[[assert]]", ("assert", "items"), ()),
)


def page() -> str:
    """The page."""
    registry = json.loads(registry_json())
    return "\n".join([HEAD, *_scenario(), *_sections(registry), *_metrics(), *_series(registry)])


def _scenario() -> Iterator[str]:
    schema = json.loads(json_schema())
    yield "## Scenario files\n"
    for title, place, elsewhere in SCENARIO:
        node = schema
        for i, step in enumerate(place):
            node = node["properties"][step] if i == 0 else node[step]
        # A list is described where it stands, not in its items.
        inside = "properties" in place[1:] or not place
        text = node["description"]
        if place and not inside:
            text = schema["properties"][place[0]]["description"]
        if place == ("bottleneck",):
            text = f"{text} {schema['properties']['links']['description']}"
        title = title.replace(" or ", "` or `")
        yield f"### `{title}`\n\n{text}\n" if place else f"### {title}\n"
        yield "| key | type | default | meaning |"
        yield "|---|---|---|---|"
        for name, value in node["properties"].items():
            # What has a section of its own is not a key of this one.
            if name in elsewhere or (not place and name in SECTION_NAMES):
                continue
            default = f"`{_toml(value['default'])}`" if "default" in value else ""
            if name in node.get("required", ()):
                default = "required"
            cells = (f"`{name}`", _type(value), default, value.get("description", ""))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""


SECTION_NAMES = {"links", *(place[0] for _, place, _ in SCENARIO if place)}


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | str) else str(value)


def _type(value: dict[str, Any]) -> str:
    """What a value of the schema is, in a word or its range."""
    match value:
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
"""More words than these have a table of their own."""


def _sections(registry: dict[str, Any]) -> Iterator[str]:
    for kind, title, usage in SECTIONS:
        yield f"## {title}\n\n{usage}\n"
        for entry in registry[kind]:
            yield f"### {entry['name']}\n\n{entry['doc']}\n"
            kernel = f"`{entry['kernel']}`" if entry["kernel"] else "has nothing like it"
            linux = f" Linux: {kernel}." if entry["kernel_kind"] != "agent" else ""
            yield f"Follows {entry['follows']}.{linux}\n"
            rows = list(_options(entry["options"]))
            if rows:
                yield "| option | type | default | meaning | tc |"
                yield "|---|---|---|---|---|"
                yield from rows
                yield ""


def _options(options: list[dict[str, Any]], prefix: str = "") -> Iterator[str]:
    for option in options:
        name = f"{prefix}{option['name']}"
        default = f"`{option['default']}`" if option["default"] is not None else ""
        tc = f"`{option['tc']}`" if option["tc"] else ""
        cells = (f"`{name}`", type_of(option), default, option["doc"], tc)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield from _options(option.get("options", []), f"{name}.")


def _metrics() -> Iterator[str]:
    table = json.loads(json_schema())["properties"]["assert"]["items"]["properties"]
    taken = set(table["metric"]["enum"])
    others = sorted({f"`{m.path}`" for m in metrics.METRICS if m.path not in taken})
    but = f" but {' and '.join(others)}" if others else ""
    yield (
        "## Metrics\n\nComputed from what a run recorded. Frames, tables and `--metric` have the "
        "first name;\nthe JSON has the second, `--metric` takes it too, and "
        f"`[[assert]]` takes all{but}.\n"
    )
    yield f"Over the seeds of a point all are pooled alike: {metrics.RULE}.\n"
    yield "| metric | of a | unit | in JSON | meaning | within a run | a run without it |"
    yield "|---|---|---|---|---|---|---|"
    for metric in metrics.METRICS:
        yield (
            f"| `{metric.name}` | {metric.on} | {metric.unit} | `{metric.path}` | {metric.doc} | "
            f"{metrics.WEIGHTS[metric.weight]} | {metric.missing} |"
        )
    yield ""


def _series(registry: dict[str, Any]) -> Iterator[str]:
    yield "## Series\n"
    yield "Sampled over time, into `series.parquet`, beside the gauges of algorithms.\n"
    yield "| quantity | of a | unit | meaning | recorded |"
    yield "|---|---|---|---|---|"
    for quantity in registry["series"]:
        cells = (quantity[key] for key in ("on", "unit", "doc", "when"))
        yield f"| `{quantity['name']}` | {' | '.join(cells)} |"
    yield ""
