"""Draws metrics over the keys of a sweep, one figure for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.figures import faceted
from tailback.metrics import Estimate, find, group_of, harm, parts, pooling
from tailback.metrics.base import Metric
from tailback.metrics.parts import Kind
from tailback.metrics.pooling import Reading
from tailback.report.model import Block, Facts, ReportFigure
from tailback.report.sweep.axes import MOST_COLOURS, Roles, SweepAxis, roles
from tailback.report.text import plain
from tailback.store.results import Run

MOST_PANELS = 24
"""The largest number of panels of one figure."""
SPREAD = 8.0
"""If the largest value of a key is more than this many times the smallest value, its axis is
logarithmic."""
WORTH = 0.02
"""Utilisation gets a figure if it changes by at least this much over all sweep points."""
SAME = 0.01
"""Another quantity gets a figure if it changes by at least this much, as a share of its largest
value."""
CUT = "Bars are cut if they are longer than the range of all values."

WORDS = {
    "flow": "flow",
    "link": "link",
    "class": "class",
    "traffic": "source",
    "program": "program",
    "run": "run",
}


@dataclass(frozen=True)
class SweepQuantity:
    """A metric to draw, and the kind of part that it describes."""

    metric: Metric
    of: Kind
    title: str
    """The title of the metric as text, with the unit."""
    share: bool = False


def _quantity(name: str, of: Kind, title: str, *, share: bool = False) -> SweepQuantity:
    return SweepQuantity(find(name, parts.on(of)), of, title, share)


QUANTITIES = (
    _quantity("rpm", "traffic", "responsiveness, round trips per minute"),
    _quantity("page_load_p50_ms", "traffic", "page load time, median, ms"),
    _quantity("rtt_p99_ms", "traffic", "RTT of a source, 99th percentile, ms"),
    _quantity("frame_delay_p99_ms", "traffic", "delay of frames, 99th percentile, ms"),
    _quantity("late_share", "traffic", "share of frames that are late", share=True),
    _quantity("utilisation", "link", "utilisation of the link", share=True),
    _quantity("delay_p99_ms", "link", "queue delay, 99th percentile, ms"),
    _quantity("delay_mean_ms", "link", "queue delay, mean, ms"),
    _quantity("delay_p99_ms", "class", "queue delay of a class, 99th percentile, ms"),
    _quantity("throughput_mbit", "flow", "throughput of a flow, Mbit/s"),
    _quantity("jain", "run", "Jain's index of throughputs"),
    _quantity("completion_s", "flow", "completion time, s"),
    _quantity("requests_completion_s", "traffic", "completion time of requests, mean, s"),
    _quantity("throughput_mbit", "traffic", "throughput of a source, Mbit/s"),
    _quantity("throughput_mbit", "program", "throughput of a program, Mbit/s"),
    _quantity("rtt_p99_ms", "program", "RTT of a program, 99th percentile, ms"),
    _quantity("completion_s", "program", "completion time of a program, s"),
    _quantity("drops", "link", "packets dropped"),
    _quantity("marks", "link", "packets marked"),
)


#: Harm metrics to draw if the sweep has runs without a competitor.
_HARMS: tuple[tuple[str, Kind, str], ...] = (
    ("throughput", "flow", "throughput of a flow"),
    ("requests", "traffic", "completion time of requests"),
    ("frame_p99", "traffic", "99th percentile of the delay of frames"),
    ("one_way_p99", "traffic", "99th percentile of the one-way delay"),
)


def _harms(groups: Sequence[Sequence[Run]]) -> list[SweepQuantity]:
    """Return the harm metrics of `_HARMS` for each competitor that some run leaves out."""
    names = harm.competitors(run.without for group in groups for run in group)
    out = []
    for number, name in enumerate(names):
        for quantity, of, words in _HARMS:
            metric = harm.by(find(f"harm.{quantity}", parts.on(of)), name)
            # The figure's file is named after the metric's path, so each competitor needs its own
            # path.
            if number:
                metric = replace(metric, path=f"{metric.path}_{number + 1}")
            out.append(SweepQuantity(metric, of, f"harm by {name} to the {words}"))
    return out


def named(summary: Mapping[str, Any], of: Kind) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the flows, links or other parts of this kind, with their names. Flows from one table
    have the same name."""
    if of == "run":
        return [("", summary)]
    name = group_of if of in parts.LIKE_FLOWS or of == "class" else str
    return [(name(part["name"]), part) for part in parts.of(summary, of)]


def figures(
    groups: Sequence[Sequence[Run]], axes: Sequence[SweepAxis], facts: Facts
) -> list[Block]:
    """Return a figure for each metric that changes over the sweep.

    If the only key has names as values, one figure shows all metrics side by side.
    """
    quantities = (*QUANTITIES, *_harms(groups))
    every = list(zip(quantities, _every_value(groups, quantities), strict=True))
    worth = [one for one in every if _varies(*one)] or [one for one in every if one[1]][:1]
    several = any(len(run.summary["queues"]) > 1 for run, *_ in groups[:1])
    if several or worth[0][0].metric.path != "utilisation":
        # Draw utilisation last, because it says little about links that are nearly idle.
        worth.sort(key=lambda one: one[0].metric.path == "utilisation")
    role = roles(axes)
    if role.x is None or role.x.numbers is not None or len(axes) > 1:
        return [_figure(values, quantity, axes, facts) for quantity, values in worth]
    drawn = [_figure(values, quantity, axes, facts, width=300) for quantity, values in worth]
    caption = pooled_text(values for _, values in worth)
    chart = faceted.beside([figure.chart for figure in drawn], 2)
    return [ReportFigure("names", f"Against {role.x.label}", chart, caption, facts)]


def pooled_text(values: Iterable[Sequence[Value]], several: str = "") -> str:
    """Describe the bars of a figure: means over seeds with intervals, or single values."""
    if max((value.n for own in values for _, _, value in own), default=1) < 2:
        return f"One seed{several}." if several else "One seed."
    return f"Mean over seeds{several}; bars are 95 % intervals. {CUT}"


def _varies(quantity: SweepQuantity, values: Sequence[Value]) -> bool:
    """Return whether the metric of any flow or link differs between sweep points."""
    means: dict[str, list[float]] = {}
    for _, name, value in values:
        if value.mean is not None:
            means.setdefault(name, []).append(value.mean)
    least = WORTH if quantity.share else SAME
    return any(max(own) - min(own) > least * max(map(abs, own)) for own in means.values())


Value = tuple[Run, str, Estimate]


NamedParts = list[tuple[str, Mapping[str, Any]]]
"""The parts of a run, as `named` returns them."""


def _every_value(
    groups: Sequence[Sequence[Run]], quantities: Sequence[SweepQuantity]
) -> list[list[Value]]:
    """Return the estimates of each quantity. The parts of each kind are looked up only once."""
    found: list[list[Value]] = [[] for _ in quantities]
    for kind in dict.fromkeys(quantity.of for quantity in quantities):
        parts_of = [[named(run.summary, kind) for run in group] for group in groups]
        if not any(map(any, parts_of)):
            continue
        for place, quantity in enumerate(quantities):
            if quantity.of == kind:
                found[place] = _values(groups, parts_of, quantity)
    return found


def _values(
    groups: Sequence[Sequence[Run]],
    parts_of: Sequence[Sequence[NamedParts]],
    quantity: SweepQuantity,
) -> list[Value]:
    """Estimate the metric over seeds, for each sweep point and name.

    `parts_of` has the parts of each run of each sweep point. Parts of a run with the same name are
    averaged first.
    """
    out: list[Value] = []
    for group, runs in zip(groups, parts_of, strict=True):
        by_name: dict[str, list[Reading]] = {}
        for named_parts in runs:
            own: dict[str, list[Reading]] = {}
            for name, part in named_parts:
                own.setdefault(name, []).append(pooling.read(quantity.metric, part))
            for name, readings in own.items():
                by_name.setdefault(name, []).append(pooling.together(readings))
        out += [
            (group[0], name, pooling.over_runs(quantity.metric, readings))
            for name, readings in by_name.items()
        ]
    return out


def _figure(
    values: Sequence[Value],
    quantity: SweepQuantity,
    axes: Sequence[SweepAxis],
    facts: Facts,
    width: int = 0,
) -> ReportFigure:
    role = roles(axes)
    drawn = (name for _, name, value in values if value.mean is not None)
    names = list(dict.fromkeys(drawn))
    # If colours distinguish flows or links, panels show the axis that colours would otherwise show.
    by_name = len(names) > 1
    series: list[str]
    if by_name:
        series, series_title = names[:MOST_COLOURS], WORDS[quantity.of]
        moved = (role.colour,) if role.colour else ()
        role = Roles(role.x, None, (*moved, *role.panels))
    else:
        series = list(role.colour.levels) if role.colour else [""]
        series_title = role.colour.label if role.colour else ""
    panels = list(dict.fromkeys(role.panel(run) for run, _, _ in values)) or [""]
    kept = set(panels[:MOST_PANELS])
    rows = []
    for run, name, value in values:
        panel = role.panel(run)
        if value.mean is None or panel not in kept or (by_name and name not in series):
            continue
        low, high = value.ci95 or (None, None)
        row: dict[str, Any] = {"panel": panel, "y": value.mean, "low": low, "high": high}
        row["series"] = name if by_name else role.colour.level(run) if role.colour else ""
        if role.x is None:
            row["name"] = "all"
        elif role.x.numbers is None:
            row["name"] = role.x.level(run)
        else:
            row["x"] = role.x.number(run)
        rows.append({k: _digits(v) for k, v in row.items() if v is not None})
    ordered = not by_name and role.colour is not None and role.colour.numbers is not None
    of = faceted.Panels(
        panels[:MOST_PANELS],
        ", ".join(axis.label for axis in role.panels),
        series,
        series_title,
        ordered and len(series) <= 5,
        role.in_a_row(),
    )
    value_axis = _value_axis(quantity, rows)
    if role.x is not None and role.x.numbers is not None:
        numbers = role.x.numbers
        log = min(numbers) > 0 and max(numbers) / min(numbers) >= SPREAD
        x_axis = faceted.FacetAxis(role.x.title, sorted(numbers), log)
        chart = faceted.over_numbers(rows, x_axis, value_axis, of)
    else:
        levels = role.x.levels if role.x else ("all",)
        chart = faceted.over_names(rows, levels, value_axis, of, width=width)
    cut = f" The first {MOST_PANELS} of {len(panels)} panels." if len(panels) > MOST_PANELS else ""
    unfinished = sum(value.at_least is not None for _, _, value in values)
    if unfinished:
        cut += f" {unfinished} of {len(values)} means are not drawn: transfers had not finished."
    partial = sum(value.mean is not None and not value.whole for _, _, value in values)
    if partial:
        cut += f" {partial} of {len(values)} means are not of all seeds: cells.csv has n."
    if by_name and len(names) > len(series):
        cut += f" The first {len(series)} of {len(names)}."
    several = ", mean of those of one name" if quantity.of in ("flow", "traffic", "program") else ""
    against = f" against {role.x.label}" if role.x else ""
    name = quantity.title.partition(", Mbit/s")[0].removesuffix(", ms").removesuffix(", s")
    return ReportFigure(
        f"{quantity.of}-{quantity.metric.name.replace('_', '-')}",
        f"{name[0].upper()}{name[1:]}{against}",
        chart,
        f"{plain(quantity.metric.doc)} {pooled_text([values], several)}{cut}",
        facts,
    )


def _value_axis(quantity: SweepQuantity, rows: Sequence[dict[str, Any]]) -> faceted.FacetAxis:
    values = [row["y"] for row in rows]
    positive = min(values, default=0) > 0
    log = not quantity.share and positive and max(values) / min(values) >= 10 * SPREAD
    if log:
        return faceted.log_axis(quantity.title, values)
    form = ".3~%" if quantity.share else ""
    most = max(1.0, *values) if quantity.share or quantity.metric.path == "jain" else None
    ends = faceted.around(rows, zero=most is None, most=most)
    return faceted.FacetAxis(quantity.title, format=form, domain=ends)


def _digits(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
