"""Sets of scenarios. To compare versions of an algorithm, run a set of scenarios with each version.
Each set of scenarios is a package.

To add a set of scenarios, write a package that defines `BATTERY`, and add a line to
`tailback_studies.BATTERIES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tailback.base.names import unknown
from tailback.errors import InputError
from tailback_studies import BATTERIES

if TYPE_CHECKING:
    from tailback.report import Report
    from tailback_studies.batteries.side_by_side import BatteryComparison

NAMES = tuple(BATTERIES)

Row = Mapping[str, Any]
"""One step of an axis of a sweep: a value for each path."""


@dataclass(frozen=True)
class Part:
    """A part of a set of scenarios. The part consists of scenario files of one kind."""

    name: str
    """The name of the part on the command line."""
    title: str
    files: Sequence[Path]
    group: str = ""
    """A name on the command line that selects several parts at once."""


@dataclass(frozen=True)
class Preset:
    """A change to the set-up that applies to every variant."""

    name: str
    doc: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    """The values that the preset sets, by path. A path is ignored if the scenario file does not
    contain the flow in the path."""
    only: Sequence[str] = ()
    """Names of the parts to which the preset applies. If this list is empty, the preset applies to
    all parts."""
    by_row: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)
    """Further values that depend on an axis, keyed by the axis's path and its value."""


class Battery(Protocol):
    """The interface of a set of scenarios."""

    @property
    def name(self) -> str:
        """The set's name on the command line."""

    @property
    def title(self) -> str:
        """The heading of reports."""

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of the set of scenarios."""

    @property
    def presets(self) -> Mapping[str, Preset]:
        """The presets that users can choose, by name."""

    @property
    def kernel_preset(self) -> str:
        """The preset for all variants if any of them runs on the kernel engine."""

    @property
    def metrics(self) -> Sequence[str]:
        """The compared metrics, such as `link.utilisation` and `class.delay_ms.mean`."""

    @property
    def thresholds(self) -> Sequence[str]:
        """The thresholds that decide whether a sweep point needs more seeds, written as for
        `compare --fail-if`."""

    @property
    def quick(self) -> Mapping[str, object]:
        """Values that a quick run sets, by path."""

    @property
    def quick_on_kernel(self) -> Mapping[str, object]:
        """Values that a quick run sets, by path, if any variant runs on the kernel engine."""

    def keeps(self, file: str, row: Row, *, on_kernel: bool) -> bool:
        """Return whether a quick run includes `row`, the values of one step of a sweep's axis.

        `file` is the name of the scenario file without its ending. `on_kernel` tells whether any
        variant runs on the kernel engine.
        """

    def case(self, file: str, params: Row) -> str:
        """Return a name for a sweep point of a scenario file. Names must be unique within a
        part."""

    def report(self, made: BatteryComparison) -> Report:
        """Return the report of a comparison."""


def get(name: str) -> Battery:
    """Return the set of scenarios with this name."""
    if name not in BATTERIES:
        raise InputError(unknown("set of scenarios", name, NAMES))
    battery: Battery = import_module(BATTERIES[name]).BATTERY
    return battery


def choose(battery: Battery, words: Sequence[str]) -> list[Part]:
    """Return the parts with these names or groups, in the set's order. Without names, return all
    parts.
    """
    valid = [word for part in battery.parts for word in (part.group, part.name) if word]
    for word in words:
        if word not in valid:
            raise InputError(unknown("part", word, valid))
    return [p for p in battery.parts if not words or p.name in words or p.group in words]
