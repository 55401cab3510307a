"""Draws figures of a search: the front, and the effect of each varied value."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from tailback.figures.theme import CATEGORIES, MUTED, Chart
from tailback.metrics import estimate
from tailback.tuning import labels
from tailback.tuning.goals import Goal
from tailback.tuning.ranges import Choices, Range, Vary, Word
from tailback.tuning.result import Tuned

_WIDTH, _HEIGHT = 520, 300
_ROOM = 18
"""Pixels between the outermost points and the frame."""

KINDS = ("candidate", "front", "defaults")
_COLOURS = ["#9aa5b1", CATEGORIES[0], CATEGORIES[1]]
_SHAPES = ["circle", "circle", "diamond"]


def _colour(kinds: Sequence[str] = KINDS) -> alt.Color:
    scale = alt.Scale(domain=list(kinds), range=_COLOURS[: len(kinds)])
    return alt.Color("kind:N", title=None, scale=scale, legend=alt.Legend(orient="top"))


def _shape(kinds: Sequence[str] = KINDS) -> alt.Shape:
    scale = alt.Scale(domain=list(kinds), range=_SHAPES[: len(kinds)])
    return alt.Shape("kind:N", title=None, scale=scale, legend=alt.Legend(orient="top"))


def fronts(tuning: Tuned) -> Chart:
    """Draw all candidates in a panel for each pair of goals.

    With one goal, draw its value for each candidate, in the order of the candidates.
    """
    goals = tuning.plan.goals
    pairs = list(itertools.combinations(goals, 2))
    if not pairs:
        return _course(tuning, goals[0])
    # If one of the goals is maximised, put it on the vertical axis.
    panels = [
        _pair(tuning, *sorted(pair, key=lambda g: g.direction == "maximise")) for pair in pairs
    ]
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels)


def _pair(tuning: Tuned, across: Goal, up: Goal) -> Chart:
    def row(measured: Any, kind: str, label: str = "") -> dict[str, Any]:
        x, y = (estimate(measured.by_seed[goal.text]) for goal in (across, up))
        return {
            "kind": kind,
            "label": label,
            "x": x.mean,
            "y": y.mean,
            "x0": x.ci95[0] if x.ci95 else x.mean,
            "x1": x.ci95[1] if x.ci95 else x.mean,
            "y0": y.ci95[0] if y.ci95 else y.mean,
            "y1": y.ci95[1] if y.ci95 else y.mean,
        }

    tried = [
        row(one.measured, "front" if one.front else "candidate")
        for one in sorted(tuning.tried, key=lambda one: one.front)
        if not one.measured.fault
    ]
    searched = [row(point.tried.measured, "front") for point in tuning.front]
    unseen = [
        row(point.unseen, "front", str(point.number))
        for point in tuning.front
        if point.unseen is not None
    ]
    unseen.append(row(tuning.defaults_unseen, "defaults"))
    domains = {
        key: _domain([*tried, *searched], unseen, key, size)
        for key, size in (("x", _WIDTH), ("y", _HEIGHT))
    }

    def axis(goal: Goal, key: str) -> dict[str, Any]:
        better = "less" if goal.direction == "minimise" else "more"
        # The positions of labels are computed in pixels, so the chart must not rescale its axes.
        scale = alt.Scale(domain=list(domains[key]), zero=False, nice=False)
        return {"title": f"{goal.title}, {better} is better", "scale": scale}

    x, y = alt.X("x:Q", **axis(across, "x")), alt.Y("y:Q", **axis(up, "y"))
    layers = [
        alt.Chart(alt.InlineData(values=tried))
        .mark_point(filled=True, size=22, opacity=0.55)
        .encode(x=x, y=y, color=_colour(), shape=_shape())
    ]
    if len(searched) > 1:
        layers.append(
            alt.Chart(alt.InlineData(values=sorted(searched, key=lambda r: r["x"])))
            .mark_line(strokeWidth=1, opacity=0.6, color=CATEGORIES[0], strokeDash=[4, 3])
            .encode(x=x, y=y)
        )
    basis = alt.Chart(alt.InlineData(values=unseen))
    layers += [
        basis.mark_rule(strokeWidth=1.2).encode(
            x=alt.X("x0:Q", **axis(across, "x")), x2="x1:Q", y=y, color=_colour()
        ),
        basis.mark_rule(strokeWidth=1.2).encode(
            x=x, y=alt.Y("y0:Q", **axis(up, "y")), y2="y1:Q", color=_colour()
        ),
        basis.mark_point(filled=True, size=75, opacity=1).encode(
            x=x, y=y, color=_colour(), shape=_shape()
        ),
        alt.Chart(alt.InlineData(values=_labels(unseen, domains)))
        .mark_text(fontSize=labels.SIZE, color=MUTED)
        .encode(x=x, y=y, text="label:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)


def _domain(
    small: Sequence[Mapping[str, Any]],
    large: Sequence[Mapping[str, Any]],
    key: str,
    size: int,
) -> tuple[float, float]:
    """Return the range of the values, with a margin. For the points in `large`, the range includes
    their confidence intervals."""
    ends = [row[key] for row in small]
    ends += [row[end] for row in large for end in (f"{key}0", f"{key}1")]
    low, high = min(ends), max(ends)
    room = (high - low) * _ROOM / (size - 2 * _ROOM) or abs(low) / 10 or 1.0
    return low - room, high + room


def _labels(
    rows: Sequence[Mapping[str, Any]], domains: Mapping[str, tuple[float, float]]
) -> list[dict[str, Any]]:
    """Return the numbers of the points as labels, with positions."""
    (left, right), (low, high) = domains["x"], domains["y"]
    across, up = (right - left) / _WIDTH, (high - low) / _HEIGHT
    points = [(row["label"], (row["x"] - left) / across, (high - row["y"]) / up) for row in rows]
    return [
        {"label": one.text, "x": left + one.x * across, "y": high - one.y * up}
        for one in labels.place(points, _WIDTH, _HEIGHT)
        if one is not None
    ]


def _course(tuning: Tuned, goal: Goal) -> Chart:
    rows = [
        {
            "number": candidate.number,
            "value": candidate.measured.value(goal.text),
            "kind": "front" if candidate.front else "candidate",
        }
        for candidate in tuning.tried
        if not candidate.measured.fault
    ]
    level = [{"kind": "defaults", "value": tuning.defaults.value(goal.text)}]
    better = "less" if goal.direction == "minimise" else "more"
    y = alt.Y("value:Q", title=f"{goal.title}, {better} is better", scale=alt.Scale(zero=False))
    dots = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=45)
        .encode(x=alt.X("number:Q", title="candidate"), y=y, color=_colour(), shape=_shape())
    )
    line = (
        alt.Chart(alt.InlineData(values=level))
        .mark_rule(strokeDash=[4, 3])
        .encode(y=y, color=_colour())
    )
    return alt.layer(line, dots).properties(width=520, height=260)


def values(tuning: Tuned) -> Chart:
    """Plot each goal (rows) against each varied value (columns)."""
    vary = tuning.plan.vary
    width = max(140, 560 // len(vary) - 60)
    rows = []
    for goal in tuning.plan.goals:
        panels = [_one(tuning, parameter, goal, width) for parameter in vary]
        rows.append(alt.hconcat(*panels) if len(panels) > 1 else panels[0])
    return alt.vconcat(*rows) if len(rows) > 1 else rows[0]


def _one(tuning: Tuned, parameter: Vary, goal: Goal, width: int) -> Chart:
    rows = list(_rows(tuning, parameter, goal))
    name = ".".join(parameter.path.split(".")[-2:])
    if isinstance(parameter, Choices):
        x: Any = alt.X("x:N", title=name, axis=alt.Axis(labelAngle=0))
    else:
        unit = f" ({parameter.unit})" if parameter.unit else ""
        kind = "log" if parameter.log else "linear"
        scale = alt.Scale(type=kind, domain=[parameter.low, parameter.high], nice=False)  # type: ignore[arg-type]
        ticks = {"values": _ticks(parameter)} if parameter.log else {"tickCount": 5}
        x = alt.X("x:Q", title=f"{name}{unit}", scale=scale, axis=alt.Axis(**ticks))
    y = alt.Y("y:Q", title=goal.title, scale=alt.Scale(zero=False))
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=32, opacity=0.8)
        .encode(x=x, y=y, color=_colour(KINDS[:2]), shape=_shape(KINDS[:2]))
        .properties(width=width, height=170)
    )


def _ticks(parameter: Range) -> list[float]:
    """Return ticks at 1, 2 and 5 of every decade within a range."""
    found = [digit * 10.0**power for power in range(-9, 13) for digit in (1, 2, 5)]
    return [
        tick
        for tick in found
        if parameter.low <= tick * 1.0000001 and tick <= parameter.high * 1.0000001
    ]


def _rows(tuning: Tuned, parameter: Vary, goal: Goal) -> Iterator[dict[str, Any]]:
    for tried in sorted(tuning.tried, key=lambda t: t.front):
        if not tried.measured.fault:
            yield {
                "x": number(parameter, tried.values[parameter.path]),
                "y": tried.measured.value(goal.text),
                "kind": "front" if tried.front else "candidate",
            }


def number(one: Vary, word: Word) -> float | str:
    """Return a value as a chart needs it: a number for a range, otherwise text."""
    if isinstance(one, Choices):
        return str(word)
    found = re.match(r"[\d.]+", str(word))
    return float(found[0]) if found else 0.0
