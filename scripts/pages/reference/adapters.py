"""Writes a page for each transport stack in the folder `stacks`.

The stacks are not compiled into the engine, so the engine's registry contains only the stacks'
names. The options come from the sources of the stacks' entries. A test compares these options with
a copy of the engine that contains the stacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pages import ROOT
from tailback.cli.tables.listing import type_of

SHARED = "crates/engine/src/programs/quic/mod.rs"
"""The source of options that a stack has in common with programs of the kernel engine."""

_OPTION = re.compile(
    r'name: "(?P<name>\w+)",\s*doc: "(?P<doc>[^"]*)",\s*kind: Kind::(?P<kind>.*?),\s*'
    r"default: (?P<default>\S+),\s*tc: None,",
    re.S,
)
_ITEM = re.compile(rf"Opt \{{\s*{_OPTION.pattern}\s*\}}|^    (?P<shared>[A-Z_]+),$", re.S | re.M)


@dataclass(frozen=True)
class Adapter:
    """A stack, as its sources describe it."""

    name: str
    doc: str
    folder: str
    follows: str
    about: str
    """The first paragraphs of the crate's documentation."""
    options: list[dict[str, Any]]


def read(entry: dict[str, str]) -> Adapter:
    """Read the sources of a stack. `entry` is its entry in the registry."""
    folder = ROOT / entry["folder"] / "src"
    text = (folder / "kind.rs").read_text(encoding="utf-8")
    [follows] = re.findall(r'follows: "([^"]*)"', text)
    table = text[text.index("OPTIONS: &[Opt] = &[") : text.index("/// The registry entry.")]
    head = (folder / "lib.rs").read_text(encoding="utf-8").split("\n//!\n", 1)[0]
    return Adapter(
        *(entry["name"], entry["doc"], entry["folder"], follows),
        " ".join(re.sub(r"^//! ?", "", head, flags=re.M).split()),
        [_option(item) for item in _ITEM.finditer(table)],
    )


def _option(item: re.Match[str]) -> dict[str, Any]:
    if (shared := item["shared"]) is not None:
        text = (ROOT / SHARED).read_text(encoding="utf-8")
        found = _OPTION.search(text, text.index(f"const {shared}: Opt"))
        assert found is not None
        item = found
    default = re.fullmatch(r'Some\("(.*)"\)', item["default"])
    return {
        "name": item["name"],
        "doc": item["doc"],
        "default": default and default[1],
        **_kind(item["kind"]),
    }


def _kind(source: str) -> dict[str, Any]:
    """Return the type of an option as the registry describes it."""
    name = re.match(r"\w+", source)
    assert name is not None
    match name[0]:
        case "Word":
            # If a list of words depends on the build, the source has several lists. The page shows
            # the words of all builds.
            words = dict.fromkeys(re.findall(r'"([^"]+)"', source))
            return {"type": "word", "words": list(words)}
        case "Int" | "Float" as kind:
            low, high = re.findall(r"(?:min|max): ([\d.]+(?: << \d+)?)", source)
            return {"type": kind.lower(), "min": _number(low), "max": _number(high)}
        case "Size":
            packets, size = re.findall(r"(?:packets|bytes): (true|false)", source)
            return {"type": "size", "packets": packets == "true", "bytes": size == "true"}
        case kind:
            return {"type": kind.lower()}


def _number(text: str) -> float:
    base, _, shift = text.partition(" << ")
    return float(base) * (1 << int(shift or 0))


def rows(adapter: Adapter) -> Iterator[tuple[str, ...]]:
    """Yield name, type, default and meaning of each option."""
    for option in adapter.options:
        default = "" if option["default"] is None else f"`{option['default']}`"
        yield (f"`{option['name']}`", type_of(option), default, option["doc"])
