"""Finds packages of studies. They add commands, lists and experiments to the command line.

A study is Python code outside of `tailback`, such as published experiments, batteries or a
validation. Its distribution declares an entry point in the group `tailback.studies`. The value of
the entry point is a `Studies`. `tailback_studies` is installed with tailback, but `tailback` does
not import it by name. Every value in a `Studies` is a place, which is text of the form
`"module:attribute"`. The attribute is imported at its first use, so that a command loads only the
modules that it needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

from tailback.errors import InputError

GROUP = "tailback.studies"
"""The name of the group of entry points."""


@dataclass(frozen=True)
class Studies:
    """The commands, lists, experiments and batteries that a package of studies adds, by name."""

    commands: Mapping[str, str] = field(default_factory=dict)
    """Commands of `tailback`: places of `click.Command` objects."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Lists of `tailback list`: places of functions that yield pairs of name and title."""
    experiments: Mapping[str, str] = field(default_factory=dict)
    """Experiments of `tailback reproduce`: names of modules with a constant `EXPERIMENT`."""
    batteries: Mapping[str, str] = field(default_factory=dict)
    """Batteries of `tailback compare`: places of functions that return a `Comparison`. Their
    arguments are the name, the variants and a `RunOptions`, and the keywords `parts`, `presets`,
    `quick` and `metrics`."""


@functools.cache
def installed() -> Mapping[str, Studies]:
    """Return the studies of this installation, by the name of their entry point.

    Raises `InputError` for an entry point that cannot be loaded or is not a `Studies`, and for a
    name that two packages define.
    """
    # Import this only here, because it takes longer than all other imports of a command, and most
    # commands need no study.
    from importlib import metadata

    packages: dict[str, Studies] = {}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
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
        # Two copies of a distribution on the import path declare the same entry point twice.
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
    """Return the places of all commands that studies add, by name."""
    return _merged(lambda studies: studies.commands)


def lists() -> dict[str, str]:
    """Return the places of all lists that studies add, by name."""
    return _merged(lambda studies: studies.lists)


def experiments() -> dict[str, str]:
    """Return the modules of all experiments, by name."""
    return _merged(lambda studies: studies.experiments)


def batteries() -> dict[str, str]:
    """Return the places of the functions that run each battery, by name."""
    return _merged(lambda studies: studies.batteries)


def listed(word: str) -> Iterator[tuple[str, str]]:
    """Yield the names and titles of a list."""
    yield from load(lists()[word])()


def load(place: str) -> Any:
    """Import and return the object at a place."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
