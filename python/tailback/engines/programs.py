"""What the programs of a scenario take, seen to before the kernel engine boots anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import InputError
from tailback.kernel import confine
from tailback.kernel.programs import check, roots
from tailback.kernel.programs.check import Program
from tailback.kernel.programs.places import Places, key
from tailback.kernel.programs.roots import Root
from tailback.kernel.steps import Steps

if TYPE_CHECKING:
    from tailback._native import Point
    from tailback.kernel.kit import Kit

MOUNTS = "programs"
"""A folder of the guest's root that older kits have not."""


@dataclass(frozen=True)
class Programs:
    """Of a kit; what was made once stays."""

    kit: Kit
    _roots: dict[str, Root] = field(default_factory=dict)

    def check(self, points: Iterable[Point]) -> list[str]:
        """Refuses what would not run, all at once; gives what is part of the engine's version."""
        asked: dict[object, Program] = {}
        for point in points:
            for number, one in enumerate(of(point)):
                asked.setdefault((number, repr(one)), one)
        if not asked:
            return []
        if not (self.kit.root / MOUNTS).is_dir():
            raise InputError(
                f"the kernel kit in {self.kit.path} is of an earlier tailback, which ran no "
                "programs; run: tailback kernel build"
            )
        confine.check_programs(self.kit)
        pairs = [(one, self.root(one)) for one in asked.values()]
        if said := check.all_problems(pairs, roots.archive_names):
            raise InputError("\n".join(dict.fromkeys(said)))
        return sorted({f"root {root.identity}" for _, root in pairs})

    def places(self, point: Point) -> Places | None:
        """What a point's programs are given, as it was made; None if it has none."""
        programs = of(point)
        if not programs:
            return None
        found = {key(one): self.root(one) for one in programs}
        for root in found.values():
            roots.verify(root)
        return Places.of(programs, found, point.programs[0]["date"])

    def root(self, program: Program) -> Root:
        """Where it runs."""
        asked = key(program)
        if asked not in self._roots:
            with Steps() as steps:
                self._roots[asked] = roots.get(program.packages, steps)
        return self._roots[asked]


def of(point: Point) -> list[Program]:
    """The entries of a point."""
    return [_entry(number, facts) for number, facts in enumerate(getattr(point, "programs", ()))]


def _entry(number: int, facts: Mapping[str, Any]) -> Program:
    runs: Sequence[Sequence[str] | None] = list(facts["run"].values())
    return Program(
        name=facts["name"],
        runs=tuple(tuple(words) for words in runs if words),
        packages=tuple(facts["packages"]),
        files=tuple(Path(path) for path in facts["files"]),
        env=dict(facts.get("env", {})),
        place=f'programs[{number}] ("{facts["name"]}")',
    )
