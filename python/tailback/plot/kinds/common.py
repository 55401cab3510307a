"""Defines elements that several kinds of plots share, such as axes, colours, dashes and symbols."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from tailback.plot import style
from tailback.plot.dimensions import Dimension
from tailback.plot.look import Limits, Rule
from tailback.plot.plan import ROLES, PlotPanel, PlotPlan, Rows, Scale
from tailback.plot.quantities import PlotQuantity
from tailback.plot.values import Roles

MOST_ROWS = 4500
"""The largest number of data rows in a figure. Altair itself draws at most 5,000 rows."""
LOG_SPAN = 100.0
"""An axis is logarithmic if the ratio of its largest to its smallest value exceeds this number,
unless the user sets the scale."""
DEEP = 2000.0
"""The largest ratio of the ends of a logarithmic axis. Values below the axis are drawn at its lower
end.
"""
ROOM = 0.05
"""Margin beyond the largest and the smallest value, as a share of the axis."""


def by_role(roles: Roles) -> dict[str, str]:
    """Return the values of a data row by role."""
    return dict(zip(ROLES, roles, strict=True))


def data(rows: Rows, panel: PlotPanel) -> alt.Data:
    """Convert rows to chart data, rounded to visible digits. A rough draft only serves to measure
    the figure's size. For a rough draft, keep one row for each panel and series.
    """
    if panel.rough:
        one = {tuple(row.get(role) for role in ROLES[1:]): row for row in rows}
        rows = list(one.values())
    return alt.InlineData(values=[{key: _rounded(v) for key, v in row.items()} for row in rows])


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def chosen(rows: Rows, scale: Scale, names: Sequence[str], *, log: bool = True) -> Scale:
    """Choose a scale for the values in these columns: "linear", "log" or "free".

    Values that span a large range get a logarithmic axis, if `log` is true. "free" gives each panel
    its own axis range, and is chosen if values differ much only between panels.
    """
    if scale != "auto":
        return scale
    panels: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        own = panels.setdefault((row["column"], row["row"]), [])
        own += [row[name] for name in names if row[name] is not None]
    whole = [value for own in panels.values() for value in own]
    if not is_log(whole, scale):
        return "linear"
    if len(panels) > 1 and not any(map(_spans_much, panels.values())):
        return "free"
    return "log" if log else "linear"


def free(**axes: Scale) -> tuple[str, ...]:
    """Return the axes whose range differs between panels."""
    return tuple(axis for axis, scale in axes.items() if scale == "free")


def _spans_much(found: Sequence[float]) -> bool:
    return is_log(found, "auto", LOG_SPAN / 5)


def is_log(values: Iterable[float], scale: Scale, span: float = LOG_SPAN) -> bool:
    """Return whether an axis for these values is logarithmic."""
    if scale != "auto":
        return scale == "log"
    found = list(values)
    above = [value for value in found if value > 0]
    return len(above) > 1 and min(found) >= 0 and max(above) / min(above) > span


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` ticks of a logarithmic axis. The ticks are at 1, 2 and 5 of every
    decade if these fit. Otherwise the ticks are at powers of ten: all, or every second, third or
    fourth.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    kept: list[float] = []
    for steps, every in (((1, 2, 5), 1), ((1,), 1), ((1,), 2), ((1,), 3), ((1,), 4)):
        candidates = (float(f"{n}e{e}") for e in decades if e % every == 0 for n in steps)
        kept = [tick for tick in candidates if low * 0.999 <= tick <= high * 1.001]
        if len(kept) <= most:
            break
    return kept


def number(largest: float) -> str:
    """Return a d3 number format without exponents for an axis that ends at `largest`."""
    return "~s" if largest >= 1e6 else ",.6~r"


def reach(mean: float | None, interval: tuple[float, float] | None) -> dict[str, float | None]:
    """Return a mean and the ends of its interval as columns of a data row. If the mean is not
    negative, the interval is cut at 0."""
    if interval is None or mean is None:
        return {"y": mean, "low": None, "high": None}
    low, high = interval
    return {"y": mean, "low": max(0.0, low) if mean >= 0 else low, "high": high}


def value_axis(
    values: Sequence[float],
    scale: Scale,
    panel: float,
    letter: float,
    *,
    zero: bool | None = None,
    limits: Limits = (None, None),
    centre: float | None = None,
) -> tuple[alt.Scale, alt.Axis, tuple[float, float]]:
    """Return scale, axis and range for values of a quantity.

    `zero` decides whether the axis begins at 0. By default, the axis begins at 0 unless most of it
    would be empty. `panel` is the length of the axis in pixels. `letter` is the size of the
    letters. If `scale` is "free", Vega chooses the range of each panel. `limits` are ends of the
    range that the user has set. For a ratio, the axis is logarithmic with `centre` in the middle,
    so that 0.5 and 2 are equally far from 1.
    """
    log = is_log(values, scale)
    if centre is not None and scale in ("auto", "linear") and min(values, default=0.0) > 0:
        return _ratio_axis(values, centre, panel, letter, limits)
    found = [value for value in values if value > 0] if log else list(values)
    count = max(3, min(6, int(panel / (4.5 * letter))))
    if not found and limits == (None, None):
        return alt.Scale(zero=True), alt.Axis(tickCount=count), (0.0, 1.0)
    low, high = min(found, default=0.0), max(found, default=1.0)
    if log:
        # Beginning at zero could leave most of the axis empty.
        low, high = _within(limits, max(low, high / DEEP) / 1.15, high * 1.15)
        marks = ticks(low, high, max(2, int(panel / (2.8 * letter))))
        axis = alt.Axis(values=marks, format=number(high), labelOverlap="greedy")
        return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True), axis, (low, high)
    if zero is None:
        zero = low >= 0 and low < 0.6 * high
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if scale == "free" and limits == (None, None):
        return (
            alt.Scale(zero=zero, nice=True),
            alt.Axis(tickCount=count, format=number(max(abs(low), abs(high)))),
            (low, high),
        )
    room = ROOM * (high - low or abs(high) or 1.0)
    low, high = (
        (low if zero and low == 0 else low - room),
        (high if zero and high == 0 else high + room),
    )
    low, high = _within(limits, low, high)
    axis = alt.Axis(tickCount=count, format=number(max(abs(low), abs(high))))
    return alt.Scale(domain=[low, high], nice=False, zero=False), axis, (low, high)


def _within(limits: Limits, low: float, high: float) -> tuple[float, float]:
    """Replace the ends of a range by the ends that the user has set."""
    low = low if limits[0] is None else limits[0]
    high = high if limits[1] is None else limits[1]
    return low, high if high > low else low + (abs(low) or 1.0)


def _ratio_axis(
    values: Sequence[float], centre: float, panel: float, letter: float, limits: Limits
) -> tuple[alt.Scale, alt.Axis, tuple[float, float]]:
    reach = max(max(values) / centre, centre / min(values), 1.02) ** 1.08
    low, high = _within(limits, centre / reach, centre * reach)
    most = max(3, int(panel / (2.8 * letter)))
    if reach > 3:
        marks = [*ticks(low, high, most), centre]
    else:
        # Ticks are symmetric for ratios close to 1: the lower half has the inverses of the upper
        # half.
        step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if reach - 1 <= 2.5 * s), 1.0)
        steps = [1 + step * n for n in range(1, int((reach - 1) / step + 1e-9) + 1)]
        marks = [1.0, *steps, *(float(f"{1 / one:.3g}") for one in steps)]
        marks = [centre * mark for mark in marks]
    axis = alt.Axis(values=sorted(set(marks)), format=",.3~r", labelOverlap="greedy")
    return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True), axis, (low, high)


RATIOS = ("throughput_ratio", "throughput_gain")
"""Metrics for which the value 1 means no difference."""


def centre(quantity: PlotQuantity) -> float | None:
    """Return the value at which a ratio shows no difference, or None if the quantity is not a
    ratio."""
    named = quantity.metric is not None and quantity.metric.path in RATIOS
    return 1.0 if named else None


def from_zero(quantity: PlotQuantity) -> bool | None:
    """Return True for a rate, so that its axis begins at 0, and None for other quantities.

    Readers compare the rates of flows as shares of a link. If the axis did not begin at 0, a small
    difference would look like a large one.
    """
    return True if quantity.unit == "Mbit/s" else None


def rules(plan: PlotPlan, panel: PlotPanel, *, x: alt.X | None, y: alt.Y | None) -> list[Any]:
    """Draw reference lines, labelled with their values. `x` and `y` are None for axes without
    numbers."""
    layers: list[Any] = []
    if y is not None and centre(plan.y) is not None and not plan.kind.up:
        layers += _rule(panel, Rule("y", 1.0, ""), y, "y")
    for rule in plan.look.rules:
        channel = x if rule.axis == "x" else y
        if channel is not None:
            layers += _rule(panel, rule, channel, rule.axis)
    return layers


def _rule(panel: PlotPanel, rule: Rule, channel: Any, axis: str) -> list[Any]:
    at = channel.copy(deep=False)
    at["shorthand"] = "at:Q"
    here = alt.Chart(alt.InlineData(values=[{"at": rule.value, "text": rule.text}]))
    dashed = here.mark_rule(
        color=style.INK,
        strokeDash=[4 * panel.weight, 3 * panel.weight],
        strokeWidth=0.8 * panel.weight,
        clip=True,
    ).encode(**{axis: at})
    if not rule.text:
        return [dashed]
    said: dict[str, Any] = {
        "align": "right" if axis == "y" else "left",
        "baseline": "bottom",
        "dx": -2 if axis == "y" else 3,
        "dy": -2,
        "fontSize": 0.9 * panel.letter,
        "color": style.INK,
    }
    outline = here.mark_text(stroke="white", strokeWidth=2.5, **said)
    end = {"x": alt.value(panel.width)} if axis == "y" else {"y": alt.value(panel.height)}
    text = {axis: at, "text": "text:N", **end}
    return [dashed, outline.encode(**text), here.mark_text(**said).encode(**text)]


def name_log(plan: PlotPlan, **scales: alt.Scale) -> None:
    """Record in the plan which axes are logarithmic, so that the titles of these axes can say
    so."""
    plan.log.update(axis for axis, scale in scales.items() if scale["type"] == "log")


_GAPS = {"paddingInner": 0.2, "paddingOuter": 0.15}


def key_axis(
    plan: PlotPlan, panel: PlotPanel, *, numeric: bool, up: Scale = "auto", gaps: bool = True
) -> tuple[alt.X, bool]:
    """Return the x axis for a swept key, and whether the axis has a numeric scale.

    `up` is the type of the vertical axis. `gaps` leaves space between names on the axis.
    """
    key = plan.x
    assert isinstance(key, Dimension)
    # If each panel has its own y axis labels, draw no line for the x axis, because Vega would draw
    # it away from the panel.
    line = up != "free"
    if not numeric or key.numbers is None:
        texts = [key.short(text) for text in key.texts]
        return alt.X(
            "x:N",
            title=panel.across(plan.across or ""),
            sort=texts,
            scale=alt.Scale(domain=texts, **(_GAPS if gaps else {"padding": 0})),
            axis=alt.Axis(grid=False, ticks=False, domain=line and gaps, **_angle(texts, panel)),
        ), False
    numbers = sorted(set(key.numbers))
    log = is_log(numbers, plan.x_scale, LOG_SPAN - 0.001)
    shown = [*numbers, *plan.look.at("x")]
    low, high = min(shown), max(shown)
    if log and low > 0:
        # Leave the same space between the values and the frame on both sides.
        room = (high / low) ** 0.06 if high > low else 2.0
        ends = _within(plan.look.x, low / room, high * room)
        scale = alt.Scale(type="log", domain=list(ends), nice=False)
    else:
        gap = 0.06 * (high - low) if high > low else 0.5 * abs(high) or 1.0
        ends = _within(plan.look.x, low - gap, high + gap)
        scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    name_log(plan, x=scale)
    title = panel.across(plan.across or "")
    few = len(numbers) <= max(3, int(panel.width / (3 * panel.letter)))
    plain: dict[str, Any] = {
        "format": number(high),
        "labelOverlap": "greedy",
        "grid": False,
        "domain": line,
    }
    if not few and log and low > 0:
        # Vega would label ticks between the decades, such as 0.0004 and 0.002.
        plain["values"] = ticks(*ends, max(2, int(panel.width / (4.5 * panel.letter))))
    axis = alt.Axis(**({**plain, "values": numbers} if few else plain))
    return alt.X("x:Q", title=title, scale=scale, axis=axis), True


def x_value(plan: PlotPlan, text: str, *, numeric: bool) -> float | str:
    """Return the position on the x axis for a value of the swept key."""
    found = plan.x
    assert isinstance(found, Dimension)
    if not found.name:
        return ""
    return found.number(text) if numeric and found.numbers is not None else found.short(text)


def _angle(texts: Sequence[str], panel: PlotPanel) -> dict[str, Any]:
    """Return the angle of the names on an axis.

    The names are slanted if they do not fit horizontally.
    """
    room = panel.width / max(1, len(texts))
    longest = max((len(text) for text in texts), default=0) * style.LETTER * panel.letter
    if longest <= room:
        return {"labelAngle": 0, "labelOverlap": False}
    return {
        "labelAngle": -40,
        "labelAlign": "right",
        "labelBaseline": "middle",
        "labelOverlap": False,
        "labelLimit": 90,
    }


def colour(plan: PlotPlan, **more: Any) -> dict[str, Any]:
    """Return the encoding of series by colour. Return nothing if there is only one series."""
    found = plan.series
    if found is None:
        return {}
    return {"color": alt.Color("series:N", scale=_colours(found), **_shared(found), **more)}


def fill(plan: PlotPlan) -> dict[str, Any]:
    """Return the encoding of series by fill colour, for areas with a black outline."""
    found = plan.series
    if found is None:
        return {}
    return {"fill": alt.Fill("series:N", scale=_colours(found), **_shared(found))}


def dash(plan: PlotPlan, *, legend: bool = True) -> dict[str, Any]:
    """Return the encoding of series by dashes. Dashes distinguish lines in grey print."""
    series = plan.series
    if series is None:
        return {}
    count = len(series.texts)
    # A numeric series has colours from dark to light, which differ enough without dashes.
    dashes = style.cycled(style.DASHES[:1] if series.numbers else style.DASHES, count)
    scale = alt.Scale(domain=list(series.texts), range=dashes)
    more = _shared(series) if legend else {"legend": None}
    return {"strokeDash": alt.StrokeDash("series:N", scale=scale, **more)}


def shape(plan: PlotPlan) -> dict[str, Any]:
    """Return the encoding of series by symbol."""
    series = plan.series
    if series is None:
        return {}
    shapes = style.cycled(style.SHAPES, len(series.texts))
    scale = alt.Scale(domain=list(series.texts), range=shapes)
    return {"shape": alt.Shape("series:N", scale=scale, **_shared(series))}


def beside(plan: PlotPlan) -> dict[str, Any]:
    """Return the encoding that draws series side by side. Return nothing if colours show the same
    values as the x axis.
    """
    found = plan.series
    if found is None or repeats(plan):
        return {}
    texts = list(found.texts)
    return {"xOffset": alt.XOffset("series:N", sort=texts, scale=alt.Scale(domain=texts))}


def repeats(plan: PlotPlan) -> bool:
    """Return whether colours show the same dimension as the x axis."""
    return plan.series is not None and plan.series == plan.roles.get("x")


def _colours(found: Dimension) -> alt.Scale:
    texts = list(found.texts)
    many = style.colours(len(texts), ordered=found.numbers is not None)
    return alt.Scale(domain=texts, range=many)


def _shared(found: Dimension) -> dict[str, Any]:
    legend = alt.Legend() if len(found.texts) > 1 else None
    return {"title": found.title, "sort": list(found.texts), "legend": legend}


def tooltips(plan: PlotPlan, *more: alt.Tooltip) -> list[alt.Tooltip]:
    """Return the tooltip entries for a figure in a web page."""
    tips = [
        alt.Tooltip(f"{role}:N", title=dimension.title)
        for role, dimension in plan.roles.items()
        if role != "x" and dimension.name
    ]
    return [*tips, *more]


def of_value(title: str, name: str = "y", number: str = ".4~g") -> alt.Tooltip:
    """Return the tooltip entry of a number."""
    return alt.Tooltip(f"{name}:Q", title=title, format=number)


def first_colour(plan: PlotPlan) -> dict[str, Any]:
    """Return the first colour of the palette as a property of marks. Return nothing if series have
    their own colours."""
    return {} if plan.series is not None else {"color": style.COLOURS[0]}
