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
"""The packages of the suites, in this folder. Each has the functions `evaluate` and `sections`."""


class Suite(Protocol):
    """The functions that the package of a suite has."""

    def evaluate(self, request: Request) -> Evaluation:
        """Run the requested sections for one subject.

        Raises `InputError` for a subject that does not exist. The message suggests the nearest
        name.
        """

    def sections(self) -> Sequence[tuple[str, str]]:
        """Return the id and title of every section, in the order of the source."""


def get(name: str) -> Suite:
    return cast("Suite", import_module(f"tailback.evaluate.{name}"))


def evaluate(suite: str, request: Request) -> Evaluation:
    """Evaluate a subject by a suite.

    Raises `InputError` for an unknown section or subject before anything runs.
    """
    chosen = get(suite)
    known = [section for section, _ in chosen.sections()]
    parts = {part: [section for section in known if is_in(section, part)] for part in request.parts}
    wrong = [part for part, sections in parts.items() if not sections]
    if wrong:
        raise InputErrors(*(f"--part: {unknown('section', part, known)}" for part in wrong))
    wanted = {section for sections in parts.values() for section in sections}
    ordered = tuple(section for section in known if section in wanted)
    return chosen.evaluate(replace(request, parts=ordered))


def is_in(section: str, part: str) -> bool:
    """Return whether the option `--part` selects a section: `--part 5.2` selects 5.2, 5.2.1 and
    5.2-silence."""
    return section == part or section.startswith((f"{part}.", f"{part}-"))
