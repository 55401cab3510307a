"""The suites of `tailback evaluate`. Each suite is a package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from tailback.base.names import unknown
from tailback.errors import InputErrors
from tailback.evaluate.model import Evaluation, Request

SUITES = ("cc", "queue", "bbr")
"""The packages of the suites, in this folder. Each package has the functions `evaluate` and
`sections`."""


class Suite(Protocol):
    """The functions that the package of a suite has."""

    def evaluate(self, request: Request) -> Evaluation:
        """Run the requested sections for one subject.

        Raises `InputError` for a subject that does not exist. The error message suggests the
        nearest name.
        """

    def sections(self) -> Sequence[tuple[str, str]]:
        """Return the id and title of every section, in the order of the source."""


def get(name: str) -> Suite:
    return cast("Suite", import_module(f"tailback.evaluate.{name}"))


def evaluate(suite: str, request: Request) -> Evaluation:
    """Evaluate a subject with a suite.

    Raises `InputError` for an unknown section or subject before anything runs.
    """
    chosen = get(suite)
    known = [section for section, _ in chosen.sections()]
    return chosen.evaluate(replace(request, parts=selected(known, request.parts)))


def selected(known: Sequence[str], parts: Sequence[str]) -> tuple[str, ...]:
    """Return the known sections that `--part` selects, in the order of `known`.

    Raises `InputError` for each name in `parts` that selects no section.
    """
    wrong = [part for part in parts if not any(_is_in(section, part) for section in known)]
    if wrong:
        raise InputErrors(*(f"--part: {unknown('section', part, known)}" for part in wrong))
    return tuple(section for section in known if any(_is_in(section, part) for part in parts))


def _is_in(section: str, part: str) -> bool:
    """Return whether the option `--part` selects a section: `--part 5.2` selects 5.2, 5.2.1 and
    5.2-silence."""
    return section == part or section.startswith((f"{part}.", f"{part}-"))
