"""Reads the numbers that the scenario's key `results` names. Programs wrote these numbers to JSON
files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.errors import InputError
from tailback.programs import kept
from tailback.store import shape

MAX_BYTES = 32 << 20
"""The largest size of a file, in bytes."""

Numbers = dict[str, list[tuple[str, float | None]]]
"""For each program, pairs of name and number. A missing number is None."""

_STEP = re.compile(r"(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]")


def read(programs: Iterable[Mapping[str, Any]], root: Path) -> tuple[Numbers, list[str]]:
    """Return the numbers of all programs, from their files in `root`. Also return a message for
    each missing number."""
    numbers: Numbers = {}
    missing: list[str] = []
    for program in programs:
        count = program["count"]
        names = [f"{program['name']}/{i + 1}" for i in range(count)]
        for name in names if count > 1 else [program["name"]]:
            files: dict[str, Any] = {}
            values = numbers.setdefault(name, [])
            for asked in program["results"]:
                try:
                    value = _number(_file(files, root, name, asked["file"]), asked["path"])
                    scaled = value * asked["scale"]
                    if not shape.number(scaled):
                        raise InputError(f'"{asked["path"]}" is too large')
                    values.append((asked["name"], scaled))
                except InputError as error:
                    values.append((asked["name"], None))
                    missing.append(f"program {name}: results.{asked['name']}: {error}")
    return numbers, missing


def _file(files: dict[str, Any], root: Path, program: str, name: str) -> Any:
    """Return the parsed content of a program's file, which is read once."""
    if name not in files:
        path = kept.out(root, program, name)
        if path is None:
            raise InputError(f"no file {foreign.line(name)} in its output folder")
        data = foreign.read(path, limit=MAX_BYTES)
        # Name only the file, because its full path would not help the user.
        files[name] = foreign.parse_json(data, Path(name))
    return files[name]


def _number(value: Any, path: str) -> float:
    """Return the number at a path such as `end.streams[0].bits_per_second`. An index may also
    follow a dot, as in `streams.0`."""
    node = value
    at = ""
    for step in _STEP.finditer(path):
        word = step["key"] if step["index"] is None else step["index"]
        at = path[: step.end()]
        if isinstance(node, Mapping) and word in node:
            node = node[word]
        elif isinstance(node, list) and word.isdecimal() and int(word) < len(node):
            node = node[int(word)]
        else:
            raise InputError(f'no "{foreign.line(at)}" in the file')
    if isinstance(node, bool) or not shape.number(node):
        raise InputError(f'"{foreign.line(path)}" is not a number')
    return float(node)
