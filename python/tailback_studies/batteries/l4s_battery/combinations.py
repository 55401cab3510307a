"""Draws the rates and windows of flows for each combination of flows, divided by the fair share."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.figures.spread import Drawn, Item, Look, spread
from tailback.report import Facts, ReportFigure
from tailback_studies.batteries.l4s_battery.drawing import CLASSES, RANKED, several
from tailback_studies.batteries.l4s_battery.gather import BatteryPoint, Gathered
from tailback_studies.batteries.l4s_battery.measures import (
    normalised_rate,
    normalised_window,
    scaled,
)

EQUAL_SPLITS = tuple(f"{n}-{n}" for n in range(1, 11))


SPLITS = tuple(f"{n}-{10 - n}" for n in range(11))


def combinations(gathered: Gathered, facts: Facts) -> list[ReportFigure]:
    """Draw the normalised rate and window of flows for each combination of flows (section A.4 of
    the report)."""
    points = gathered.of("flows")
    out: list[ReportFigure] = []
    for name, combos, what in (
        ("a4-equal", EQUAL_SPLITS, "equally many flows in both classes"),
        ("a4-splits", SPLITS, "ten flows"),
    ):
        chosen = [p for p in points if f"{p.at.l_flows}-{p.at.c_flows}" in combos]

        def draw(
            columns: Sequence[str],
            chosen: Sequence[BatteryPoint] = chosen,
            combos: Sequence[str] = combos,
        ) -> Drawn | None:
            items = [
                Item(row, column, _combination(p), series, stat, _normal_flag(gathered, p, *key))
                for p in chosen
                for column in columns
                for row, series, stat in normalised(p, column)
                for key in [(column, series, row)]
            ]
            if not items:
                return None
            known = {item.x for item in items}
            return spread(
                items,
                Look("", "flows L-C", rule=1.0, height=140),
                rows=list(_NORMALISED),
                columns=columns,
                xs=[combo for combo in combos if combo in known],
                colours=CLASSES,
            )

        out += several(
            gathered,
            draw,
            name,
            f"Normalised rate and window per flow, 40 Mbit/s, 10 ms: {what}",
            "The figure shows the rate of each flow in each second, divided by the fair share "
            "(link rate / number of flows). The figure also shows each flow's window, divided by "
            f"the window that the flow would have if all windows were equal. {RANKED}",
            facts,
        )
    return out


_NORMALISED = {"normalised rate": "rate_mbit.mean", "normalised window": "window_bytes.mean"}


def _combination(point: BatteryPoint) -> str:
    return f"{point.at.l_flows}-{point.at.c_flows}"


def _normal_flag(
    gathered: Gathered, point: BatteryPoint, variant: str, series: str, row: str
) -> bool:
    return gathered.flagged(point, variant, series, _NORMALISED[row])


def normalised(point: BatteryPoint, variant: str) -> list[tuple[str, str, dict[str, float]]]:
    """Return the statistics of the normalised rate and of the normalised window of each class. Each
    item contains the label of the row, the class, and the statistics."""
    view = point.views[variant]
    total = sum(group.flows for group in view.groups.values())
    out = []
    for name in view.groups:
        stats = view.classes[name]
        # Percentiles can be normalised after they are computed, because normalising multiplies
        # every value by the same constant.
        rate = normalised_rate(1.0, point.at.link, total)
        window = normalised_window(1.0, point.at.link, view.groups.values())
        for row, quantity, factor in (
            ("normalised rate", "rate_mbit", rate),
            ("normalised window", "window_bytes", window),
        ):
            stat = scaled(stats.get(quantity, {}), factor)
            if "mean" in stat:
                out.append((row, name, stat))
    return out
