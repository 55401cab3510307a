"""Prepares a scenario's programs before the kernel engine boots a guest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import InputError
from tailback.kernel import confine
from tailback.kernel.kit import COMMAND
from tailback.kernel.programs import built, check, roots
from tailback.kernel.programs.check import Image, Program
from tailback.kernel.programs.places import FOLDER, Places, key
from tailback.kernel.programs.roots import Root
from tailback.kernel.steps import Steps

if TYPE_CHECKING:
    from tailback._native import Point
    from tailback.kernel.kit import Kit


@dataclass(frozen=True)
class Checked:
    """Errors of a scenario's programs, and the text that the programs add to the engine's
    version."""

    problems: list[check.Problem]
    inputs: list[str]
    """Inputs that affect results, other than the scenario, such as packages."""


@dataclass(frozen=True)
class Programs:
    """Prepares each package root and program of the sweep points once."""

    kit: Kit
    _roots: dict[str, Root] = field(default_factory=dict)

    def check(self, points: Iterable[Point]) -> Checked:
        """Check the programs of these sweep points.

        Return the errors, and the text that the programs add to the engine's version.

        Raises `InputError` if this machine or this guest kernel cannot run programs.
        """
        asked: dict[str, Program] = {}
        not_built: list[check.Problem] = []
        for point in points:
            if said := _not_built(point):
                not_built += said
                continue
            for program in of(point):
                asked.setdefault(repr(program), program)
        if not_built:
            return Checked(list(dict.fromkeys(not_built)), [])
        if not asked:
            return Checked([], [])
        if not (self.kit.root / FOLDER).is_dir():
            raise InputError(
                f"the guest kernel in {self.kit.path} is from an earlier tailback, which could not "
                f"run programs; run: {COMMAND}"
            )
        confine.check_programs(self.kit)
        problems: list[check.Problem] = []
        inputs: set[str] = set()
        for program in asked.values():
            try:
                root = self.root(program)
            except InputError as error:
                path = f"{program.path}.packages"
                problems += [check.Problem(path, text) for text in str(error).splitlines()]
            else:
                problems += check.problems(program, root, _archive_names)
                inputs.add(f"root {root.identity}")
            for file in program.files:
                if built.key(file).startswith(built.BUILT):
                    inputs.add(f"{file.name} {built.identity(file)}")
        return Checked(list(dict.fromkeys(problems)), sorted(inputs))

    def places(self, point: Point) -> Places | None:
        """Return the files that a guest needs for a sweep point's programs, or None without
        programs."""
        programs = of(point)
        if not programs:
            return None
        found = {key(one): self.root(one) for one in programs}
        for root in found.values():
            roots.verify(root)
        return Places.of(programs, found, point.programs[0]["date"])

    def root(self, program: Program) -> Root:
        """Return the package root in which a program runs."""
        asked = key(program)
        if asked not in self._roots:
            with Steps() as steps:
                self._roots[asked] = roots.get(program.packages, steps)
        return self._roots[asked]


def _file(path: str) -> Path:
    """Return the path on this machine of a file named by a scenario."""
    own = path.startswith(built.BUILT)
    return built.find(path.removeprefix(built.BUILT)) if own else Path(path)


def _not_built(point: Point) -> list[check.Problem]:
    """Return an error for each of tailback's programs that is not built."""
    problems = []
    for number, facts in enumerate(point.programs):
        for path in facts["files"]:
            try:
                _file(path)
            except InputError as error:
                problems.append(check.Problem(f"programs[{number}].kind", str(error)))
    return problems


def of(point: Point) -> list[Program]:
    """Return the programs of a point of a sweep."""
    return [_entry(number, facts) for number, facts in enumerate(point.programs)]


def _entry(number: int, facts: Mapping[str, Any]) -> Program:
    return Program(
        name=facts["name"],
        runs={side: tuple(words) for side, words in facts["run"].items() if words},
        packages=tuple(facts["packages"]),
        files=tuple(_file(path) for path in facts["files"]),
        env=dict(facts["env"]),
        images={
            side: Image(Path(one["path"]), one["cwd"], dict(one["env"]))
            for side, one in facts["roots"].items()
        },
        path=f"programs[{number}]",
    )


@cache
def _archive_names() -> frozenset[str]:
    return frozenset(roots.archive_names())
