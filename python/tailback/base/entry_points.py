"""Finds entry points of installed packages, like `importlib.metadata.entry_points`.

Importing `importlib.metadata` takes about a third of the run time of a short command, because it
imports parsers of e-mail and of archives. This module reads the metadata files of packages without
these parsers. If a package may be installed in another form, such as a zip archive, this module
calls `importlib.metadata` instead.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?")


class EntryPoint(NamedTuple):
    """An entry point of an installed package."""

    name: str
    value: str

    def load(self) -> Any:
        """Import and return the object to which the entry point refers."""
        match = _VALUE.fullmatch(self.value)
        if match is None:
            raise ValueError(f"{self.value} is not the name of a module and an attribute")
        module, attribute = match.groups()
        return reduce(getattr, filter(None, (attribute or "").split(".")), import_module(module))


def of_group(group: str) -> list[EntryPoint]:
    """Return the entry points of a group. If the import path contains a distribution
    twice, use the first."""
    if not only_folders():
        from importlib import metadata

        return [EntryPoint(one.name, one.value) for one in metadata.entry_points(group=group)]
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for folder in sys.path:
        for info in _infos(folder or "."):
            name = _distribution(info)
            if name not in seen:
                seen.add(name)
                found += _declared(os.path.join(folder or ".", info, "entry_points.txt"), group)
    return found


def only_folders() -> bool:
    """Return whether every package of the import path is in an ordinary folder."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return finders == [PathFinder] and not any(
        os.path.isfile(entry) or entry.endswith(".egg") for entry in sys.path
    )


def _infos(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [name for name in names if name.lower().endswith((".dist-info", ".egg-info"))]


def _distribution(info: str) -> str:
    """Return the normalised name of a distribution from its folder, `NAME-VERSION.dist-info`."""
    name = os.path.splitext(info)[0].partition("-")[0]
    return re.sub(r"[-_.]+", "_", name).lower()


def _declared(path: str, group: str) -> Iterator[EntryPoint]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return
    if group not in text:
        return
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == group and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip())
