"""Reads and writes the manifests of a guest kernel and of its modules, kit.json and module.json,
which are untrusted.

Every value is checked before use. Parts of a path must be plain names, and hashes must have the
form of a hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.errors import InputError

MAX_BYTES = 4 << 20
"""The largest size of a manifest in bytes. A guest kernel with a thousand files needs 150 kB."""

Check = Callable[[Any, str], Iterator[str]]
"""A function that yields a phrase for each error of a value. The function's second argument is the
place of the value."""

NAME = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
HASH = r"[0-9a-f]{64}"


def read(path: Path, shape: Mapping[str, Check]) -> dict[str, Any]:
    """Read a manifest, and apply to each value the check that `shape` has for its key. For an
    invalid manifest, raise an `InputError` that lists every error."""
    data = foreign.read_json(path, limit=MAX_BYTES)
    wrong = list(table(shape)(data, ""))
    if wrong:
        lines = "".join(f"\n  {foreign.shown(one)}" for one in wrong[:10])
        raise InputError(
            f"{foreign.shown(path)} is not a manifest:{lines}\n  run: tailback kernel build"
        )
    facts: dict[str, Any] = data
    return facts


def write(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a manifest atomically, so that an error leaves the old file unchanged."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def text(pattern: str = r"[^\x00-\x1f\x7f]{0,4096}", *, what: str = "a line of text") -> Check:
    """Return a check that a value is text and that the whole text matches this pattern."""

    def check(value: Any, place: str) -> Iterator[str]:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            yield f"{place}: expected {what}"

    return check


def optional(inner: Check) -> Check:
    """Return a check that a value is null or passes another check."""

    def check(value: Any, place: str) -> Iterator[str]:
        if value is not None:
            yield from inner(value, place)

    return check


def each(key: Check, value: Check) -> Check:
    """Return a check that a value is a table whose keys and values pass these checks."""

    def check(table: Any, place: str) -> Iterator[str]:
        if not isinstance(table, dict):
            yield f"{place}: expected a table"
            return
        for name, entry in table.items():
            yield from key(name, f"{place}, a key")
            yield from value(entry, f"{place}.{name}")

    return check


def every(inner: Check) -> Check:
    """Return a check that a value is a list whose items all pass a check."""

    def check(entries: Any, place: str) -> Iterator[str]:
        if not isinstance(entries, list):
            yield f"{place}: expected a list"
            return
        for index, entry in enumerate(entries):
            yield from inner(entry, f"{place}[{index}]")

    return check


def whole(value: Any, place: str) -> Iterator[str]:
    if type(value) is not int:
        yield f"{place}: expected a whole number"


def table(shape: Mapping[str, Check]) -> Check:
    """Return a check that a value is a table with at least these keys. Each value in the table must
    pass the check of its key."""

    def check(table: Any, place: str) -> Iterator[str]:
        if not isinstance(table, dict):
            yield f"{place or 'the file'}: expected a table"
            return
        for name, inner in shape.items():
            where = f"{place}.{name}" if place else name
            if name not in table:
                yield f"{where}: missing"
            else:
                yield from inner(table[name], where)

    return check


LINE = text()
PLAIN = text(NAME, what="a name of letters, digits, dots, dashes and underscores")
SHA256 = text(HASH, what="64 hexadecimal digits")
OBJECT = text(rf"{NAME}\.ko", what="the name of a .ko file")
INSIDE = text(
    r"(?!/)(?!(.*/)?\.\.?(/|$))[^\x00-\x1f\x7f]{1,1024}", what="a path inside the guest kernel"
)
ENTRY = text(rf"{HASH}|/|-> [^\x00-\x1f\x7f]{{1,1024}}", what="a hash, a link or a folder")
MODULES = each(PLAIN, table({"file": OBJECT, "sha256": SHA256, "depends": every(PLAIN)}))
KINDS = each(PLAIN, optional(OBJECT))

KIT: Mapping[str, Check] = {
    "format": whole,
    "hash": SHA256,
    "recipe": SHA256,
    "files": each(INSIDE, ENTRY),
    "programs": each(PLAIN, table({"source": SHA256, "sha256": SHA256})),
    "kernel": text(r"[A-Za-z0-9._+~-]{1,64}", what="the version of a kernel"),
    "package": optional(each(PLAIN, LINE)),
    "source": LINE,
    "source_tree": LINE,
    "config_hash": SHA256,
    "compiler": LINE,
    "iproute2": LINE,
    "packages": each(LINE, LINE),
    "qdisc": KINDS,
    "cc": KINDS,
    "modules": MODULES,
}
"""The schema of kit.json. See the code that writes the fields for their meaning."""

MODULE: Mapping[str, Check] = {
    "name": PLAIN,
    "hash": SHA256,
    "from": LINE,
    "qdisc": KINDS,
    "cc": KINDS,
    "modules": MODULES,
}
"""The schema of module.json."""
