"""Defines the request for a figure, the plan made from it, and the interface of a kind of plot."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tailback.metrics import On
from tailback.plot.dimensions import Dimension
from tailback.plot.look import FigureLook, ResolvedLook
from tailback.plot.quantities import PlotQuantity
from tailback.plot.style import LETTER

if TYPE_CHECKING:
    from tailback.store.results import Run

Scale = Literal["auto", "linear", "log", "free"]
"""The scale of an axis. With `free`, every panel has its own ends."""

Rows = list[dict[str, Any]]
"""Data of a figure. The columns have the names of roles: x, y, series, column, row."""

ROLES = ("x", "series", "column", "row")


@dataclass(frozen=True)
class PlotRequest:
    """The options that a user gave for a figure.

    `resolve` chooses all other options to suit the sweep.
    """

    x: str | None = None
    y: str | None = None
    color: str | None = None
    facet: Sequence[str] = ()
    """At most two keys, for columns and rows of panels."""
    kind: str | None = None
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without: str | None = None
    """For a figure of harm, the name of the competitor."""
    x_scale: Scale = "auto"
    y_scale: Scale = "auto"
    look: FigureLook = field(default_factory=FigureLook)

    @property
    def nothing(self) -> bool:
        """Whether the user chose neither the data nor the kind of plot."""
        return not (self.x or self.y or self.color or self.facet or self.kind or self.without)


@dataclass(frozen=True)
class Member:
    """A run to draw, with its swept values as text."""

    run: Run
    texts: Mapping[str, str]


@dataclass(frozen=True)
class PlotPlan:
    """What to draw: the kind of plot, the quantities, the runs, and the role of each dimension."""

    kind: Kind
    y: PlotQuantity
    x: Dimension | PlotQuantity | None
    """The horizontal axis. None if the horizontal axis shows time, or the values of `y`
    themselves."""
    members: Sequence[Member]
    roles: Mapping[str, Dimension]
    """The dimension for each role: series, column or row, and x if x is a dimension."""
    parts: Mapping[On, Mapping[str, frozenset[str]]]
    """The parts to draw. For each scope of a quantity, the mapping contains the allowed values of
    each dimension."""
    own_link: bool = False
    """For a quantity of links, whether each flow gets the value of the first link on its route."""
    down: Dimension | None = None
    """For a heat map, the dimension of its rows."""
    x_scale: Scale = "auto"
    y_scale: Scale = "auto"
    look: ResolvedLook = field(default_factory=ResolvedLook)
    notes: Sequence[str] = ()
    """Notes about choices that the user did not make."""
    missing: list[str] = field(default_factory=list)
    """Messages about values that are missing or do not cover all runs. The list of messages is
    complete only after drawing."""
    log: set[str] = field(default_factory=set)
    """Which axes, x or y, are logarithmic. The logarithmic axes are known only after drawing."""

    @property
    def series(self) -> Dimension | None:
        """The dimension that colours show."""
        return self.roles.get("series")

    @property
    def across(self) -> str | None:
        """The title of the horizontal axis."""
        if self.kind.over_time:
            return "time (s)"
        return self._titled("x", (self.y if self.x is None else self.x).label)

    @property
    def up(self) -> str | None:
        """The title of the vertical axis."""
        if self.kind.up:
            return self.kind.up
        return self._titled("y", (self.y if self.down is None else self.down).label)

    def _titled(self, axis: str, label: str) -> str | None:
        """Return the title of an axis. If the scale is logarithmic, the title says so."""
        return f"{label}, log scale" if label and axis in self.log else label or None

    @property
    def faceted(self) -> bool:
        """Whether the figure has several panels."""
        return "column" in self.roles or "row" in self.roles

    def command(self) -> str:
        """Return the options of the `tailback plot` command that gives the same figure."""
        named = [f"--kind {self.kind.name}"]
        if self.x is not None and self.x.name:
            named.append(f"--x {self.x.name}")
        if self.down is not None:
            named += [f"--y {self.down.name}", f"--color {self.y.name}"]
        else:
            named.append(f"--y {self.y.name}")
        if self.series is not None:
            named.append(f"--color {self.series.name}")
        facets = (self.roles[role] for role in ("column", "row") if role in self.roles)
        named += [f"--facet {facet.name}" for facet in facets]
        drawn = (self.y, self.x if isinstance(self.x, PlotQuantity) else None)
        by = dict.fromkeys(one.competitor for one in drawn if one is not None and one.competitor)
        return " ".join([*named, *(f"--without {name}" for name in by)])


@dataclass(frozen=True)
class PlotPanel:
    """The size of one panel and of its letters, in pixels."""

    width: float
    height: float
    letter: float
    own_x: bool = True
    own_y: bool = True
    """Whether the panel shows the title of its vertical axis. Panels in a row share one title."""
    weight: float = 1.0
    """Width of lines, as a multiple of the width on paper."""
    rough: bool = False
    """Whether the panel is drawn only to measure its size, so that its content does not matter."""

    def across(self, title: str) -> list[str] | None:
        """Return the lines of the horizontal axis's title, or None if the panel does not show
        it."""
        return self.lines(title, self.width) if self.own_x and title else None

    def up(self, title: str) -> list[str] | None:
        """Return the lines of the vertical axis's title, or None if the panel does not show it."""
        return self.lines(title, self.height) if self.own_y and title else None

    def lines(self, title: str, room: float) -> list[str]:
        """Break a title into lines that fit a length in pixels."""
        # A title may be slightly longer than its axis. The letters of a title are one point larger
        # than the letters of labels.
        most = max(8, int(1.2 * room / (LETTER * self.letter)))
        return textwrap.wrap(title, most, break_long_words=False) or [title]


@dataclass(frozen=True)
class PlannedDrawing:
    """The numbers of a figure, and how to draw them in a panel of any size."""

    layers: Callable[[PlotPanel], Any]
    free: tuple[str, ...] = ()
    """Which axes, x or y, have their own ends in each panel."""


@dataclass(frozen=True)
class Kind:
    """The interface of a kind of plot. To add a kind, write a module, and add a line to `kinds`."""

    name: str
    doc: str
    """A sentence for the help about what this kind draws."""
    draw: Callable[[PlotPlan], PlannedDrawing]
    default: str
    """The name of the quantity to draw by default."""
    x: Literal["key", "name", "quantity", "none"] = "none"
    """What the horizontal axis shows. "key" means a key, preferably with numbers. "name" means a
    key, preferably with names. "quantity" means a quantity. "none" means that the user cannot
    choose the horizontal axis.
    """
    over_time: bool = False
    up: str = ""
    """The title of the vertical axis, if it does not show the quantity itself."""
    lines: bool = False
    """Whether this kind draws only lines."""
    coloured: bool = True
    """Whether series have colours. In a heat map, colours show the values instead."""
    facts: str = ""
    """How values are pooled, as text for readers of the figure."""
