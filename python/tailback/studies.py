"""Finds installed packages of studies. These packages add commands, experiments and lists (for
`tailback list`) to the command line.

Studies are Python code outside `tailback`, such as published experiments, sets of scenarios or a
validation. A package of studies declares an entry point in the group `tailback.studies`. The entry
point is a `Studies` object. `tailback` does not import `tailback_studies` by name, although both
are installed together. A `Studies` object refers to an object of a module by a string
`"module:attribute"`. An attribute is imported when it is first used, so that a command loads only
what it needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

from tailback.base import entry_points
from tailback.errors import InputError

GROUP = "tailback.studies"
"""The name of the group of entry points."""


@dataclass(frozen=True)
class Studies:
    """The commands, lists, experiments and sets of scenarios (by name) that a package of studies
    adds."""

    commands: Mapping[str, str] = field(default_factory=dict)
    """Commands of `tailback`: `"module:attribute"` of each `click.Command` object."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Lists of `tailback list`: `"module:attribute"` of each function that yields pairs of name and
    title."""
    experiments: Mapping[str, str] = field(default_factory=dict)
    """Experiments of `tailback reproduce`: the name of each module with a constant `EXPERIMENT`."""
    batteries: Mapping[str, str] = field(default_factory=dict)
    """Sets of scenarios of `tailback compare`: `"module:attribute"` of each function that returns a
    `Comparison`. The arguments of such a function are the name, the variants and a `RunOptions`,
    and the keywords `parts`, `presets`, `quick` and `metrics`."""


@functools.cache
def installed() -> Mapping[str, Studies]:
    """Return the installed studies by the name of their entry point.

    Raises `InputError` if an entry point is not a `Studies` or cannot be loaded, or if two packages
    define the same name.
    """
    packages: dict[str, Studies] = {}
    for entry in sorted(entry_points.of_group(GROUP), key=lambda entry: entry.name):
        try:
            studies = entry.load()
        except Exception as error:
            raise InputError(
                f"entry point {GROUP}: {entry.name} = {entry.value} cannot be loaded ({error}); "
                "repair or remove that package"
            ) from error
        if not isinstance(studies, Studies):
            raise InputError(
                f"entry point {GROUP}: {entry.name} = {entry.value} is not a "
                f"tailback.studies.Studies; repair or remove that package"
            )
        # A distribution that is twice on the import path declares its entry point twice.
        packages.setdefault(entry.name, studies)
    for kind in fields(Studies):
        owners: dict[str, str] = {}
        for package, studies in packages.items():
            for name in getattr(studies, kind.name):
                other = owners.setdefault(name, package)
                if other != package:
                    raise InputError(
                        f"entry points {GROUP}: {other} and {package} both add {name} to "
                        f"{kind.name}; remove one of them"
                    )
    return packages


def _merged(kind: Callable[[Studies], Mapping[str, str]]) -> dict[str, str]:
    return {
        name: place for studies in installed().values() for name, place in kind(studies).items()
    }


def commands() -> dict[str, str]:
    """Return `"module:attribute"` of each command that studies add."""
    return _merged(lambda studies: studies.commands)


def lists() -> dict[str, str]:
    """Return `"module:attribute"` of each list that studies add."""
    return _merged(lambda studies: studies.lists)


def experiments() -> dict[str, str]:
    """Return the module of each experiment."""
    return _merged(lambda studies: studies.experiments)


def batteries() -> dict[str, str]:
    """Return, for each set of scenarios, the `"module:function"` that runs it."""
    return _merged(lambda studies: studies.batteries)


def listed(word: str) -> Iterator[tuple[str, str]]:
    """Yield the name and title of each item of a list."""
    yield from load(lists()[word])()


def load(place: str) -> Any:
    """Import the module of a string `"module:attribute"`, and return the attribute."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
