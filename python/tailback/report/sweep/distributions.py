"""Draws distributions at all points of a sweep: queue delay by link and by class, and completion
time of requests by size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tailback.figures import faceted
from tailback.figures.cdf import cumulative
from tailback.metrics import estimate, group_of
from tailback.metrics.requests import BINS
from tailback.report.model import Block, Facts, ReportFigure
from tailback.report.sweep.axes import MOST_COLOURS, Roles, SweepAxis, most_coloured
from tailback.report.text import plain
from tailback.store.frames import each_merged
from tailback.store.results import Run

MOST_LINKS = 4
"""The largest number of links with panels."""
MOST_PANELS = 64
"""The largest number of panels of one figure."""
MOST_ROWS = 5400
"""The largest number of rows of data in one figure. If a figure has many curves, each curve has
fewer steps."""
STEPS = (14, 160)
"""The smallest and the largest number of steps of a curve."""
WIDE = 40.0
"""If the 99th percentiles of delays differ by more than this factor, the axis is logarithmic."""
FLOOR_MS = 0.01
"""The smallest delay on a logarithmic axis, in ms. Smaller delays are drawn at this value."""

Curve = tuple[str, str, pl.DataFrame]
"""A curve: name of its panel, name of its series, and its steps."""


@dataclass(frozen=True)
class _Outline:
    """A curve whose histograms have not been read yet. A large sweep has many more curves than a
    figure shows, so only the histograms of shown curves are read."""

    panel: str
    series: str
    group: Sequence[Run]
    """The runs of the sweep point."""
    quantity: str
    link: str


def figures(
    groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis], facts: Facts
) -> list[Block]:
    """Draw the distributions of delays and of completion times."""
    candidates = [
        _delays(groups, axes, facts),
        _classes(groups, axes, facts),
        _requests(groups, axes, facts),
    ]
    return [figure for figure in candidates if figure is not None]


def _delays(
    groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis], facts: Facts
) -> ReportFigure | None:
    links = list(groups[0][0].summary["queues"]) if groups else []
    if len(groups) == 1:
        # If the sweep has only one point, show the links by colour.
        role = Roles(None, None, ())
        names = links[:MOST_COLOURS]
        curves = [
            _Outline("", name, groups[0], "delay_ns", name)
            for name in names
            if _has_delays(groups[0], name)
        ]
        of = "every link"
        series_title = "link"
    else:
        role = most_coloured(axes)
        shown = links[:MOST_LINKS]
        curves = [
            _Outline(
                ", ".join(filter(None, (link if len(links) > 1 else "", role.panel(group[0])))),
                role.colour.level(group[0]) if role.colour else "",
                group,
                "delay_ns",
                link,
            )
            for link in shown
            for group in groups
            if _has_delays(group, link)
        ]
        of = "a link" if len(links) > 1 else "the link"
        of += f", the first {len(shown)} of {len(links)}" if len(links) > len(shown) else ""
        series_title = role.colour.label if role.colour else ""
        names = list(role.colour.levels) if role.colour else [""]
    says = f"Share of the packets through {plain(of)} that waited no longer, seeds together."
    return _cdf("delay", "Queue delay", curves, role, names, series_title, says, facts)


def _classes(
    groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis], facts: Facts
) -> ReportFigure | None:
    classes = groups[0][0].summary.get("classes", ()) if groups else ()
    links = {part["name"]: part["link"] for part in classes}
    names = list(links)
    if not names:
        return None
    if len(names) == 1 and axes:
        role = most_coloured(axes)
        series = list(role.colour.levels) if role.colour else [""]
        series_title = role.colour.label if role.colour else ""
    else:
        role = Roles(None, None, tuple(axes))
        series, series_title = names[:MOST_COLOURS], "class"
    curves = [
        _Outline(
            role.panel(run := group[0]),
            role.colour.level(run) if role.colour else name,
            group,
            f"delay_ns.{name}",
            links[name],
        )
        for group in groups
        for name in names[:MOST_COLOURS]
        if _class_has_delays(group, name)
    ]
    of = f"class {plain(names[0])}" if len(names) == 1 else "a class"
    says = f"Share of the packets of {of} that waited no longer at its link, seeds together."
    return _cdf(
        "class-delay", "Queue delay by class", curves, role, series, series_title, says, facts
    )


def _has_delays(group: Sequence[Run], link: str) -> bool:
    """Return whether the histogram of a link's delays is not empty. If the histogram is not empty,
    the summary contains a mean delay."""
    queues = (run.summary["queues"].get(link) for run in group)
    return any(queue and queue["delay_ms"]["mean"] is not None for queue in queues)


def _class_has_delays(group: Sequence[Run], name: str) -> bool:
    """Return whether the histogram of a class's delays is not empty."""
    return any(
        part["name"] == name and part["delay_ms"]["mean"] is not None
        for run in group
        for part in run.summary.get("classes") or ()
    )


def _curves(outlines: Sequence[_Outline]) -> list[Curve]:
    """Read the histograms of curves, and leave out curves without packets."""
    by_source: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(outlines):
        by_source.setdefault((one.quantity, one.link), []).append(place)
    found: dict[int, pl.DataFrame | None] = {}
    for (quantity, link), places in by_source.items():
        groups = [outlines[place].group for place in places]
        found.update(zip(places, _merged(groups, quantity, link), strict=True))
    return [
        (one.panel, one.series, curve)
        for place, one in enumerate(outlines)
        if (curve := found[place]) is not None
    ]


def _merged(
    groups: Sequence[Sequence[Run]], quantity: str, link: str | None
) -> list[pl.DataFrame | None]:
    """Return the histogram of each group, summed over its runs, or None where it is empty."""
    stored = [[run.stored for run in group] for group in groups]
    found = each_merged(stored, quantity, link=link)
    return [None if frame.is_empty() else frame for frame in found]


def _cdf(
    name: str,
    title: str,
    outlines: Sequence[_Outline],
    role: Roles,
    series: Sequence[str],
    series_title: str,
    says: str,
    facts: Facts,
) -> ReportFigure | None:
    panels = list(dict.fromkeys(one.panel for one in outlines))
    kept = set(panels[:MOST_PANELS])
    drawn = _curves([one for one in outlines if one.panel in kept])
    if not drawn:
        return None
    steps = max(STEPS[0], min(STEPS[1], MOST_ROWS // len(drawn)))
    lines = [(panel, label, _steps(buckets, steps)) for panel, label, buckets in drawn]
    tails = [frame.filter(pl.col("share") >= 0.99)["value"][0] for _, _, frame in lines]
    least = max(FLOOR_MS, min(tails))
    log = max(tails) / least >= WIDE
    rows = []
    for panel, label, frame in lines:
        for value, share in frame.iter_rows():
            x = max(value, FLOOR_MS) if log else value
            row: dict[str, Any] = {"x": float(f"{x:.4g}"), "y": round(share, 4)}
            rows.append({"panel": panel, "series": label, **row})
    present = {label for _, label, _ in lines}
    axis = role.colour
    of = faceted.Panels(
        panels[:MOST_PANELS],
        ", ".join(axis.label for axis in role.panels),
        [label for label in series if label in present][:MOST_COLOURS],
        series_title,
        axis is not None and axis.numbers is not None and len(axis.levels) <= 5,
        role.in_a_row(),
    )
    longest = max(row["x"] for row in rows)
    x = faceted.FacetAxis("queue delay, ms", domain=(0.0, longest))
    if log:
        decades = [10.0**n for n in range(-2, 6) if 10.0**n <= longest]
        x = faceted.FacetAxis("queue delay, ms", decades, log=True, domain=(FLOOR_MS, longest))
    y = faceted.FacetAxis("share of packets", format="%", domain=(0.0, 1.0))
    chart = faceted.distributions(rows, x, y, of)
    cut = f" The first {MOST_PANELS} of {len(panels)} panels." if len(panels) > MOST_PANELS else ""
    floor = f" Less than {FLOOR_MS:g} ms is drawn there." if log else ""
    return ReportFigure(name, title, chart, says + floor + cut, facts)


def _steps(buckets: pl.DataFrame, steps: int) -> pl.DataFrame:
    """Reduce a distribution to about `steps` steps. Keep the last `steps // 4` steps of the
    distribution, which show the tail, and every n-th of the earlier steps.
    """
    upper = ((buckets["lower"] + buckets["width"]) / 1e6).to_list()
    lower = (buckets["lower"] / 1e6).to_list()
    whole = cumulative(lower, upper, buckets["count"].to_list())
    if whole.height <= steps:
        return whole
    tail = steps // 4
    index = pl.int_range(pl.len())
    every = max(1, -(-whole.height // (steps - tail)))
    return whole.filter((index % every == 0) | (index >= whole.height - tail))


def _requests(
    groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis], facts: Facts
) -> ReportFigure | None:
    role = most_coloured(axes)
    by_source = len(groups) == 1
    rows: list[dict[str, Any]] = []
    for group in groups:
        for name in _sources(group[0]):
            for label, upto in BINS:
                times = [_time(run, name, upto) for run in group]
                value = estimate(times, least=0)
                if not value.mean:
                    continue
                low, high = value.ci95 or (None, None)
                level = role.colour.level(group[0]) if role.colour else ""
                row: dict[str, Any] = {
                    "panel": role.panel(group[0]),
                    "series": name if by_source else level,
                    "x": upto / 1000,
                    "y": 1e3 * value.mean,
                    "size": label,
                }
                if low is not None and high is not None and low > 0:
                    row |= {"low": 1e3 * low, "high": 1e3 * high}
                rows.append(row)
            if not by_source:
                break
    if not rows:
        return None
    panels = list(dict.fromkeys(row["panel"] for row in rows))[:MOST_PANELS]
    rows = [row for row in rows if row["panel"] in panels]
    series = list(dict.fromkeys(row["series"] for row in rows))[:MOST_COLOURS]
    if not by_source and role.colour:
        series = [level for level in role.colour.levels if level in series]
    keys = role.colour.label if role.colour else ""
    of = faceted.Panels(
        panels,
        ", ".join(axis.label for axis in role.panels),
        series,
        "source" if by_source else keys,
        role.colour is not None and role.colour.numbers is not None and len(series) <= 5,
        role.in_a_row(),
    )
    ticks = [upto / 1000 for _, upto in BINS[:-1]]
    x = faceted.FacetAxis("size of a request up to, kB", ticks, log=True)
    y = faceted.log_axis("mean time to the last byte, ms", [row["y"] for row in rows])
    says = "From connect to the last byte of short connections, by their size. Bars are 95 % "
    says += "intervals over seeds."
    chart = faceted.over_numbers(rows, x, y, of)
    return ReportFigure("requests", "How long requests take", chart, says, facts)


def _sources(run: Run) -> list[str]:
    found = (part for part in run.summary["traffic"] if part.get("completions"))
    return list(dict.fromkeys(group_of(part["name"]) for part in found))


def _time(run: Run, source: str, upto: int) -> float | None:
    """Return the mean completion time of all requests of the sources with this name."""
    total = 0.0
    count = 0
    for part in run.summary["traffic"]:
        if group_of(part["name"]) != source or not part.get("completions"):
            continue
        for one in part["completions"]["bins"]:
            mean = one["completion_s"]["mean"]
            if one["upto_bytes"] == upto and mean is not None:
                total += mean * one["n"]
                count += one["n"]
    return total / count if count else None
