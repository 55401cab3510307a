"""Places charts next to and below one another, with `a | b` and `a & b`.

Altair can compose only charts without a configuration. A figure's configuration has its fonts and
sizes, so this module moves it to the composed chart.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

_OWN = ("color", "fill", "shape", "strokeDash")
"""Channels that composed charts do not share, because each chart may use them for another
purpose."""


class ComposableChart:
    """Operators `|` and `&` of charts that carry a configuration."""

    def __or__(self, other: Any) -> Any:
        return _composed(alt.hconcat, self, other)

    def __and__(self, other: Any) -> Any:
        return _composed(alt.vconcat, self, other)


def composable(chart: Any) -> Any:
    """Return the chart with the operators of `ComposableChart`."""
    if not isinstance(chart, ComposableChart):
        # Altair would treat a plain assignment as a property of the specification.
        object.__setattr__(chart, "__class__", _class(type(chart)))  # type: ignore[arg-type]
    return chart


@cache
def _class(base: type) -> type:
    return type(base.__name__, (ComposableChart, base), {"__module__": base.__module__})


def _composed(concat: Any, *charts: Any) -> Any:
    configs = [c.config for c in charts if getattr(c, "config", alt.Undefined) is not alt.Undefined]
    made = concat(*(_plain(chart) for chart in charts))
    made = made.resolve_scale(**dict.fromkeys(_OWN, "independent"))
    if configs:
        made.config = configs[0]
    return composable(made)


def _plain(chart: Any) -> Any:
    if getattr(chart, "config", alt.Undefined) is alt.Undefined:
        return chart
    plain = chart.copy(deep=False)
    plain.config = alt.Undefined
    return plain
