"""Draws a figure with a column for each version. The baseline comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailback.figures.spread import Drawn, Item, Look, spread
from tailback.figures.theme import CATEGORIES
from tailback.report import Facts, ReportFigure
from tailback.report.text import plain
from tailback_studies.batteries.l4s_battery.gather import BatteryPoint, Gathered, View

L, C, GREEN, PINK, SKY, AMBER = CATEGORIES[:6]
CLASSES = {"L": L, "C": C}


OTHERS = 4
"""Largest number of versions in one figure, excluding the baseline. Further versions get another
figure."""


RANKED = (
    "Thin lines reach from the 1st to the 99th percentile, and thick lines from the 25th to the "
    "75th percentile. Points show the mean"
)


STAR = "A ∗ marks values that differ from those of the version *{base}* by more than noise"


Stat = Mapping[str, float]


Values = Callable[[View, BatteryPoint], Mapping[str, Stat]]
"""A function that returns the statistics of a version at a sweep point, by series."""


Flags = Callable[[BatteryPoint, str, str], bool]
"""A function that returns whether a series of a version differs from the baseline by more than
noise at a sweep point."""


def figure(
    gathered: Gathered,
    points: Sequence[BatteryPoint],
    look: Look,
    values: Values,
    flags: Flags,
    *,
    name: str,
    title: str,
    caption: str,
    row: Callable[[BatteryPoint], str],
    x: Callable[[BatteryPoint], str],
    xs: Sequence[str],
    colours: Mapping[str, str],
    facts: Facts,
) -> list[ReportFigure]:
    """Draw the sweep points in one figure, or in several if there are many versions.

    Return an empty list if there are no values to draw.
    """
    rows = list(dict.fromkeys(row(point) for point in points))
    known = [text for text in xs if any(x(point) == text for point in points)]

    def draw(columns: Sequence[str]) -> Drawn | None:
        items = [
            Item(row(point), column, x(point), series, stat, flags(point, column, series))
            for point in points
            for column in columns
            for series, stat in values(point.views[column], point).items()
            if "mean" in stat
        ]
        if not items:
            return None
        used = {item.series for item in items}
        shown = {series: colour for series, colour in colours.items() if series in used}
        return spread(items, look, rows=rows, columns=columns, xs=known, colours=shown)

    return several(gathered, draw, name, title, caption, facts)


def several(
    gathered: Gathered,
    draw: Callable[[Sequence[str]], Drawn | None],
    name: str,
    title: str,
    caption: str,
    facts: Facts,
) -> list[ReportFigure]:
    base, *others = [variant.name for variant in gathered.made.variants]
    sets = [others[i : i + OTHERS] for i in range(0, len(others), OTHERS)]
    out = []
    for i, chosen in enumerate(sets):
        drawn = draw([base, *chosen])
        if drawn is not None:
            which = f", {', '.join(chosen)}" if len(sets) > 1 else ""
            suffix = f"-{i + 1}" if len(sets) > 1 else ""
            star = STAR.format(base=plain(base))
            out.append(
                ReportFigure(
                    f"{name}{suffix}", f"{title}{which}", drawn, f"{caption}. {star}.", facts
                )
            )
    return out
