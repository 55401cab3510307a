"""Defines the content of a bundle and its layout."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from tailback.base.foreign import line
from tailback.errors import InputError
from tailback.store.results import Run
from tailback.store.run_folder import TIMING

FORMAT = 1

SCENARIO, ABOUT, CRATE = "scenario.toml", "bundle.json", "ro-crate-metadata.json"
LOCK, COMMANDS, FIGURE = "requirements.txt", "commands.sh", "figures/figure.svg"
RESULTS = "results"

LEFT_OUT = frozenset((TIMING,))
"""The file that contains a run's wall time, its CPU time and the name of the machine. This file
differs each time a run is repeated, so a bundle omits it."""

MAX_BYTES = 1 << 30
"""The size limit of a bundle's unpacked content, in bytes."""

MAX_FILES = 100_000

_READS = ("trace", "files", "root")
"""Scenario keys whose values name other files."""


@dataclass(frozen=True)
class AboutBundle:
    """The content of bundle.json: the data that `verify` needs to run a bundle again."""

    format: int
    title: str
    engine: str
    engine_version: str
    set: list[list[str]]
    """Values that replaced values of the scenario. Each entry is a pair of a path and TOML text."""
    seeds: int | None
    sweep: str
    python: str
    platform: str
    files: dict[str, str]
    """SHA-256 of every file except bundle.json and the RO-Crate metadata."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, found: Any) -> AboutBundle:
        """Check the parsed content of bundle.json, and return it. Raise `InputError` if the content
        does not have the expected form."""
        names = set(cls.__dataclass_fields__)
        if not isinstance(found, dict) or set(found) != names or found["format"] != FORMAT:
            raise InputError(
                f"{ABOUT}: written by another version of tailback; verify the bundle with the "
                "version that its requirements.txt names"
            )
        texts = ("title", "engine", "engine_version", "sweep", "python", "platform")
        files = found["files"]
        right = (
            all(isinstance(found[name], str) for name in texts)
            and isinstance(files, dict)
            and all(isinstance(one, str) for pair in files.items() for one in pair)
            and isinstance(found["set"], list)
            and all(
                isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
                for pair in found["set"]
            )
            and (found["seeds"] is None or isinstance(found["seeds"], int))
        )
        if not right:
            raise InputError(f"{ABOUT}: a value of a wrong kind; name a bundle that is complete")
        return cls(**found)


def run_ids(run: Run) -> Iterator[str]:
    """Yield the id of a run, then the ids of its repetitions without a competitor. tailback
    computes harm from these repetitions.
    """
    yield run.run_id
    yield from run.without.values()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_inside(name: str) -> bool:
    """Return whether a relative file name refers to a file inside its folder."""
    path = PurePosixPath(name)
    plain = re.fullmatch(r"[^\\\x00-\x1f\x7f:]+", name) is not None
    return plain and not path.is_absolute() and ".." not in path.parts and not os.path.isabs(name)


def outside(text: bytes, overrides: Iterator[str] | list[str]) -> str | None:
    """Return the first file outside the scenario's folder that the scenario refers to."""
    tables: list[Any] = []
    for document in (text.decode(errors="replace"), *(f"it = {value}" for value in overrides)):
        try:
            tables.append(tomllib.loads(document))
        except (ValueError, RecursionError):
            # Skip invalid TOML, which the validator reports later.
            continue
    named = (name for table in tables for name in _files(table))
    return next((name for name in named if not is_inside(name)), None)


def _files(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            for key, inner in value.items():
                if key.rpartition(".")[2] in _READS:
                    yield from _texts(inner)
                yield from _files(inner)
        case list():
            for one in value:
                yield from _files(one)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _texts(one)


def refuse_outside(text: bytes, overrides: list[str]) -> None:
    """Raise `InputError` if a scenario refers to a file outside its own folder."""
    found = outside(text, overrides)
    if found is not None:
        raise InputError(
            f"the scenario names {line(found)}, which is not in the folder of the scenario; move "
            "the file into the folder of the scenario"
        )
