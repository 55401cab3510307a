"""Checks that the kernel engine's jobs for a fixed set of scenarios do not change. The set uses
every algorithm and every key.

The tests of the run crate (guarded.rs) check the results of the same set.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import guard
from tailback import _native

HERE = Path(__file__).resolve().parent


def test_what_guests_are_told_has_not_moved() -> None:
    now = guard.jobs()
    assert sum(told != "refused" for told in now.values()) >= 20
    assert guard.moved(now, guard.JOBS) == []


def _text() -> str:
    """Return the text of both files of scenarios."""
    files = (guard.SCENARIOS, guard.OF_KERNEL)
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("kind", ["cc", "aqm", "traffic", "programs"])
def test_every_entry_is_there(kind: str) -> None:
    text = _text()
    entries = {entry["name"]: entry for entry in json.loads(_native.registry_json())[kind]}
    named = set(re.findall(r'"([\w-]+)"', text))
    assert entries.keys() - named == set()


def test_every_key_is_there() -> None:
    """The set uses every key of the schema, except keys that only set a name or assert a bound."""
    schema = json.loads(
        (HERE.parent / "docs/reference/scenario.schema.json").read_text(encoding="utf-8")
    )
    keys: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            if isinstance(properties := node.get("properties"), dict):
                keys.update(properties)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(schema["properties"])
    words = set(re.findall(r"[\w.]+", _text()))
    only_names = {"metric", "flow", "link", "min", "max", "title", "assert"}
    of_the_kernel = {"kernel", "module", "args", "captures"}
    assert keys - words - only_names - of_the_kernel == set()
