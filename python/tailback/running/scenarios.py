"""Reads scenarios from files, texts or tables, and replaces values as a command requests."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import arguments, foreign, names, toml
from tailback.errors import (
    InputError,
    ScenarioError,
    ScenarioWarning,
)
from tailback.plugins import asked, copies
from tailback.running import engines

Source = Path | str | Mapping[str, object]
"""A scenario: a file, TOML text (a str with a line break), or a table."""

TABLE = "<table>"
"""The file name in messages about a scenario that the caller passed as a table."""


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Suppress warnings about scenarios within the `with` block if `wanted` is set."""
    with warnings.catch_warnings():
        if wanted:
            warnings.simplefilter("ignore", ScenarioWarning)
        yield


def check(
    scenario: Source,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the option has this name)
    seeds: int | None = None,
    engine: str = "sim",
    plugins: Sequence[Path | str] = (),
) -> _native.Scenario:
    """Validate a scenario for an engine and expand its sweep, without running it.

    Raises `ScenarioError` with all errors of the scenario.
    """
    return load(scenario, texts(table_of(set)), seeds, engines.get(engine), plugins=plugins)


def overrides(words: Sequence[str]) -> list[tuple[str, str]]:
    """Parse the values of `--set` into pairs for `load`."""
    pairs = []
    for text in words:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--set {text}: expected KEY=VALUE")
        pairs.append((path.strip(), value))
    return pairs


def texts(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Convert values to TOML text, as pairs for `load`."""
    return [(path, toml.value(value)) for path, value in values.items()]


def table_of(given: object) -> Mapping[str, object]:
    """Return the argument `set` of a Python function as a table of values by path, or reject it."""
    return {} if given is None else arguments.table("set", given, "of paths and values")


def load(
    scenario: Source,
    values: Sequence[tuple[str, str]],
    seeds: int | None,
    runner: engines.Engine | None = None,
    *,
    plugins: Sequence[Path | str] = (),
    asserts: Path | None = None,
) -> _native.Scenario:
    """Validate a scenario like `check`. `values` has pairs of path and value, which replace values
    of the scenario. A value is TOML text, or a word without quotes.

    Without `runner`, the scenario is validated for the simulator. Loads the plugins that the
    scenario, `plugins` and the environment variable `TAILBACK_WITH` name. `asserts` is a file with
    more `[[assert]]` tables. Issues a `ScenarioWarning` for unusual settings.
    """
    text, name, folder = _read(scenario)
    placed = _in_table(scenario) if isinstance(scenario, Mapping) else _in_file
    if asserts is not None:
        text, placed = _with_assertions(text, name, asserts)
    try:
        loaded = _loaded(text, name, folder, values, seeds, runner, plugins)
    except ScenarioError as error:
        raise ScenarioError([placed(one) for one in error.diagnostics]) from None
    for warning in loaded.warnings:
        warnings.warn(ScenarioWarning(placed(warning)), stacklevel=2)
    return loaded


def _loaded(
    text: bytes,
    name: str,
    folder: Path,
    values: Sequence[tuple[str, str]],
    seeds: int | None,
    runner: engines.Engine | None,
    plugins: Sequence[Path | str],
) -> _native.Scenario:
    if seeds is not None:
        # Python integers have no limit, so pass at most the largest signed 64-bit integer, which
        # the validator rejects.
        seeds = min(arguments.count("seeds", seeds), 2**63 - 1)
    chosen = runner or engines.get("sim")
    wanted = asked.by_scenario(text, name, values, folder)
    wanted += [*map(Path, plugins), *asked.by_environment()]
    native = copies.native(wanted) if wanted else _native

    def read(options: Mapping[str, Any]) -> _native.Scenario:
        loaded: _native.Scenario = native.load(
            text, name, list(values), seeds, folder=folder, **options
        )
        return loaded

    return chosen.load(read)


def _with_assertions(
    text: bytes, name: str, asserts: Path
) -> tuple[bytes, Callable[[_native.Diagnostic], _native.Diagnostic]]:
    """Append a file's `[[assert]]` tables to a scenario. The returned function converts the
    position of an error in these tables to a line of that file.
    """
    more = foreign.read(asserts)
    try:
        tables = tomllib.loads(more.decode())
    except (UnicodeDecodeError, ValueError):
        # The validator reports this error with the line of the file.
        tables = {}
    others = [key for key in tables if key != "assert"]
    if others:
        raise InputError(
            f'{foreign.line(asserts)}: the file of --assert has "{foreign.line(others[0])}"; '
            "expected only tables [[assert]]"
        )
    begun = text if text.endswith(b"\n") else text + b"\n"
    before = begun.count(b"\n")

    def placed(one: _native.Diagnostic) -> _native.Diagnostic:
        if one.file != name or one.line <= before:
            return one
        return one.at(f"{foreign.line(asserts)}:{one.line - before}:{one.column}")

    return begun + more, placed


def _in_file(diagnostic: _native.Diagnostic) -> _native.Diagnostic:
    """Return the diagnostic unchanged, because it already names the place in the file."""
    return diagnostic


def _in_table(table: Mapping[str, object]) -> Callable[[_native.Diagnostic], _native.Diagnostic]:
    """Return a function that states where in `table` the cause of a diagnostic is."""
    document = toml.Document(table)

    def placed(one: _native.Diagnostic) -> _native.Diagnostic:
        if one.file != TABLE:
            return one
        return one.at(document.path(one.line, one.column) or "the scenario")

    return placed


def _read(scenario: Source) -> tuple[bytes, str, Path]:
    """Return a scenario's text, its name for messages, and the folder against which its paths are
    resolved."""
    if isinstance(scenario, Mapping):
        return toml.dumps(scenario).encode(), TABLE, Path()
    if isinstance(scenario, str) and "\n" in scenario:
        # Restore bytes that are not valid UTF-8, so that the validator reports them.
        return scenario.encode(errors="surrogateescape"), "<text>", Path()
    path = Path(arguments.path("the scenario", scenario))
    if not str(scenario):
        raise InputError("the name of the scenario is empty; expected a file")
    if len(path.name) <= foreign.MAX_NAME and not os.path.lexists(path):
        raise InputError(f"{foreign.line(scenario)}: No such file or directory{_meant(path)}")
    # The validator's messages are UTF-8, so escape file names that are not valid UTF-8.
    return foreign.read(path), foreign.line(scenario), path.parent


def _meant(path: Path) -> str:
    """If a file with a similar name exists, return a hint that names it."""
    from tailback import examples

    if path.parent == Path() and (command := examples.command_of(path.name)) is not None:
        return f"; run: {command}"
    beside = [other.name for other in path.parent.glob("*.toml")] if path.parent.is_dir() else []
    if near := names.nearest(path.name, beside):
        return f'; did you mean "{foreign.line(path.parent / near)}"?'
    return "; name a file, or run: tailback new first > first.toml"
