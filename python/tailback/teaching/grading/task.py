"""Reads a task: a scenario, the keys that submissions may set, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import names
from tailback.base.located import Located
from tailback.errors import InputErrors
from tailback.teaching.grading.reading import Misread, PlacedDocument, read

NAME = "task.toml"
"""The name of the task file in a folder."""

TIMES, LEAST_CPU_S = 10.0, 5.0
"""The limit of CPU time of a submission, unless the task sets `max_cpu_s`. This limit is 10 times
the CPU time of the task's own scenario, but at least 5 s."""

MEMORY = 1 << 30
"""The memory limit for a run of a submission, in bytes."""

CLOSED = ("with", "programs", "assert", "sweep", "record", "trace", "files", "root", "kernel")
"""Keys that a task cannot allow and that a submission cannot set. These keys name files, run code,
or determine what is graded or stored."""

_KEYS = ("scenario", "opens", "seeds", "max_cpu_s")


@dataclass(frozen=True)
class Task:
    """A valid task."""

    file: Path
    scenario: Path
    tables: Mapping[str, Any]
    """The tables of the scenario file."""
    opens: Sequence[str]
    """Paths of the scenario's keys that a submission may set."""
    seeds: int | None
    """Number of seeds of every submission. None means the number of seeds in the scenario."""
    max_cpu_s: float | None
    """The limit for the total CPU time of all runs of a submission, in seconds. None means the
    limit that `TIMES` defines."""

    def most_cpu_s(self, own_s: float) -> float:
        """Return the limit (in seconds) for the CPU time of a submission.

        `own_s` is the estimated CPU time of the task's own scenario.
        """
        return max(LEAST_CPU_S, TIMES * own_s) if self.max_cpu_s is None else self.max_cpu_s


def closed(path: str) -> str | None:
    """Return the first part of `path` that is forbidden in submissions, or None."""
    return next((part for part in path.replace("[", ".").split(".") if part in CLOSED), None)


def load(path: Path) -> Task:
    """Read a task from a file, or from a folder with `task.toml`. Raise `InputErrors` with all
    errors.
    """
    file = path / NAME if path.is_dir() else path
    try:
        document = read(file)
    except Misread as error:
        raise InputErrors(error.problem) from None
    wrong: list[Located] = []
    for key in document.tables:
        if key not in _KEYS:
            near = names.nearest(key, _KEYS)
            valid = ", ".join(_KEYS)
            wrong.append(
                document.problem(
                    (key,),
                    f'unknown key "{key}" in a task',
                    f'write "{near}", or another of {valid}' if near else f"use one of {valid}",
                )
            )
    scenario = _text(document, wrong)
    opens = _opens(document, wrong)
    seeds = _number(document, "seeds", wrong)
    max_cpu_s = _number(document, "max_cpu_s", wrong)
    if wrong:
        raise InputErrors(*wrong)
    return Task(
        file,
        file.parent / scenario,
        _tables(file.parent / scenario),
        opens,
        None if seeds is None else int(seeds),
        max_cpu_s,
    )


def _tables(scenario: Path) -> Mapping[str, Any]:
    """Parse the scenario. Return an empty table if the file is not TOML, because the validator
    reports this error."""
    try:
        return read(scenario).tables
    except Misread:
        return {}


def _text(document: PlacedDocument, wrong: list[Located]) -> str:
    found = document.tables.get("scenario")
    if not isinstance(found, str) or not found:
        wrong.append(
            document.problem(
                ("scenario",),
                "a task needs the name of its scenario",
                'add scenario = "scenario.toml"',
            )
        )
        return ""
    return found


def _opens(document: PlacedDocument, wrong: list[Located]) -> list[str]:
    found: Any = document.tables.get("opens")
    if not (isinstance(found, list) and found and all(isinstance(one, str) for one in found)):
        wrong.append(
            document.problem(
                ("opens",),
                "a task needs the keys that a submission may set",
                'add opens = ["bottleneck.queue.target"]',
            )
        )
        return []
    for path in found:
        if (word := closed(path)) is not None:
            wrong.append(
                document.problem(
                    ("opens",),
                    f'a task cannot open "{path}": "{word}" names files, runs code or decides what '
                    "is graded",
                    f'remove "{path}"',
                )
            )
    return list(found)


def _number(document: PlacedDocument, key: str, wrong: list[Located]) -> float | None:
    found: Any = document.tables.get(key)
    if found is None:
        return None
    whole = key == "seeds"
    right = isinstance(found, int if whole else (int, float)) and not isinstance(found, bool)
    if not right or not 0 < found < 1e9:
        kind = "a whole number of at least 1" if whole else "a number of seconds above 0"
        wrong.append(document.problem((key,), f"wrong value for {key}", f"use {kind}"))
        return None
    return float(found)
