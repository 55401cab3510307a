"""Reads a submission, which is an untrusted file with values for keys that the task allows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import foreign, names, toml
from tailback.base.located import Located
from tailback.base.numbers import bytes_text
from tailback.errors import InputError, ScenarioError
from tailback.running import costs, engines, scenarios
from tailback.teaching.grading import task as tasks
from tailback.teaching.grading.reading import Misread, PlacedDocument, read
from tailback.teaching.grading.task import Task

ENDING = ".toml"

MAX_SUBMISSIONS = 10_000
"""The largest number of submissions in a folder."""

Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Submission:
    """A submitted file, with the resulting scenario or with all errors."""

    name: str
    file: Path
    scenario: _native.Scenario | None
    problems: Sequence[Located] = ()


def find(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the submissions in a folder sorted by name, and its other files."""
    if not folder.is_dir():
        if not folder.exists():
            raise InputError(f"{foreign.line(folder)}: no such folder; name a folder that exists")
        return [folder], []
    visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    found = [path for path in visible if path.name.endswith(ENDING)]
    if not found:
        raise InputError(
            f"{foreign.line(folder)}: no submission is here; expected files NAME{ENDING}"
        )
    if len(found) > MAX_SUBMISSIONS:
        raise InputError(
            f"{foreign.line(folder)}: {len(found)} submissions, at most {MAX_SUBMISSIONS} are "
            "graded at once; split the folder"
        )
    return found, [path for path in visible if not path.name.endswith(ENDING)]


def load(task: Task, path: Path, seeds: int | None, most_cpu_s: float) -> Submission:
    """Read a submission, and check its values and the cost of its runs. Run nothing."""
    name = path.name.removesuffix(ENDING)
    try:
        if path.is_symlink():
            raise Misread(
                Located(str(path), 1, 1, "a link to another file", "submit the file itself")
            )
        document = read(path)
    except Misread as error:
        return Submission(name, path, None, [error.problem])
    values, problems = _values(task, document)
    if problems:
        return Submission(name, path, None, problems)
    if not values:
        said = document.problem((), "sets none of the keys that the task opens", _use(task))
        return Submission(name, path, None, [said])
    scenario, problems = _scenario(task, document, values, seeds, most_cpu_s)
    return Submission(name, path, scenario, problems)


def _values(
    task: Task, document: PlacedDocument
) -> tuple[dict[str, tuple[Path_, str]], list[Located]]:
    """Return the path and the value of each key of the scenario that the file sets, and all errors.

    This path is the key's path in the submitted file. The value is TOML text.
    """
    found: dict[str, tuple[Path_, str]] = {}
    problems: list[Located] = []
    for path, value in _leaves(document.tables, (), task.opens, task.tables):
        key = ".".join(path)
        if not _is_open(key, task.opens):
            said = f'the task does not open "{foreign.line(key)}"'
            problems.append(document.problem(path, said, _use(task, key)))
            continue
        word = tasks.closed(key) or _closed_in(value)
        if word is not None:
            problems.append(
                document.problem(
                    path, f'a submission cannot set "{word}"', f'remove "{word}" from this value'
                )
            )
            continue
        try:
            found[key] = path, toml.value(value)
        except InputError as error:
            problems.append(document.problem(path, str(error)))
    return found, problems


def _use(task: Task, key: str = "") -> str:
    """Return advice for an error message: the keys that a submission may set."""
    near = names.nearest(key, task.opens)
    if near is None or len(task.opens) == 1:
        return f"use {'one of ' if len(task.opens) > 1 else ''}{', '.join(task.opens)}"
    return f'write "{near}", or another of {", ".join(task.opens)}'


CHOOSING = ("aqm", "name", "kind")
"""Keys that choose an algorithm. A submitted table with such a key replaces the scenario's whole
table, because the options of the scenario's algorithm may not fit another algorithm."""


def _leaves(
    table: Mapping[str, Any], path: Path_, opens: Sequence[str], own: Any
) -> Iterator[tuple[Path_, Any]]:
    """Yield the submitted values with their paths.

    If a submitted table extends a table of the task's scenario (`own`), yield its keys one by one.
    Otherwise yield the table as one value.
    """
    for key, value in table.items():
        inner = (*path, key)
        joined = ".".join(inner)
        beside = own.get(key) if isinstance(own, Mapping) else None
        if isinstance(value, Mapping) and value:
            around = any(one.startswith(f"{joined}.") for one in opens) and joined not in opens
            merged = isinstance(beside, Mapping) and not any(word in value for word in CHOOSING)
            if around or (merged and _is_open(joined, opens)):
                yield from _leaves(value, inner, opens, beside)
                continue
        yield inner, value


def _is_open(key: str, opens: Sequence[str]) -> bool:
    return any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in opens)


def _closed_in(value: Any) -> str | None:
    """Return the first forbidden key inside a value."""
    match value:
        case Mapping():
            for key, inner in value.items():
                if found := tasks.closed(key) or _closed_in(inner):
                    return found
        case list():
            return next((found for one in value if (found := _closed_in(one))), None)
    return None


def _scenario(
    task: Task,
    document: PlacedDocument,
    values: Mapping[str, tuple[Path_, str]],
    seeds: int | None,
    most_cpu_s: float,
) -> tuple[_native.Scenario | None, list[Located]]:
    runner = engines.get("sim")
    chosen = seeds if seeds is not None else task.seeds
    overrides = [(key, text) for key, (_, text) in values.items()]
    first = next((path for path, _ in values.values()), ())
    try:
        with warnings.catch_warnings():
            # Suppress warnings about unusual settings, which submissions may have.
            warnings.simplefilter("ignore")
            scenario = scenarios.load(task.scenario, overrides, chosen, runner)
    except ScenarioError as error:
        by_option = {f"{key}={text}": path for key, (path, text) in values.items()}
        return None, [
            document.problem(
                _deepest(document, by_option.get(one.option or "", first), one.message),
                one.message,
                one.help,
            )
            for one in error.diagnostics
        ]
    except InputError as error:
        return None, [document.problem(first, str(error))]
    cost = cost_of(scenario)
    if cost.cpu_s > most_cpu_s:
        most = costs.duration_text(most_cpu_s)
        return None, [
            document.problem(
                first,
                f"its runs take about {costs.duration_text(cost.cpu_s)} of CPU time, and the task "
                f"allows {most}",
                "choose values that send fewer packets",
            )
        ]
    if cost.memory > tasks.MEMORY:
        return None, [
            document.problem(
                first,
                f"a run takes about {bytes_text(cost.memory)} of memory, and a submission may take "
                f"{bytes_text(tasks.MEMORY)}",
                "choose smaller values",
            )
        ]
    return scenario, []


def _deepest(document: PlacedDocument, path: Path_, message: str) -> Path_:
    """Find the keys inside a value that the message names, and return the longest path among them.
    If the message names no key, return the value's own path.
    """
    inside = [
        key
        for key in document.keys
        if key[: len(path)] == path and len(key) > len(path) and f'"{key[-1]}"' in message
    ]
    return max(inside, key=len, default=path)


def cost_of(scenario: _native.Scenario) -> costs.Cost:
    """Return the estimated cost of a scenario's runs."""
    runner = engines.get("sim")
    return costs.total((point.packets, runner, runner.memory(point)) for point in scenario.points)
