"""Combines charts horizontally with `a | b` and vertically with `a & b`, and shows them without a
network.

Altair can compose only charts without a configuration. The configuration of a figure
contains its fonts and sizes, so this module moves the configuration to the composed chart.
Altair's own pages load their scripts from the network. A notebook therefore gets an image
instead, and a saved page contains the scripts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

from tailback.plot import layout

_OWN = ("color", "fill", "shape", "strokeDash")
"""Channels that composed charts do not share, because each chart may use them for another
purpose."""


class ComposableChart:
    """Adds the operators `|` and `&` to a chart that has a configuration, and displays the
    chart."""

    def __or__(self, other: Any) -> Any:
        return _composed(alt.hconcat, self, other)

    def __and__(self, other: Any) -> Any:
        return _composed(alt.vconcat, self, other)

    def to_dict(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the specification without Altair's theme, because the theme would change lines and
        symbols.
        """
        with alt.theme.enable("none"):
            made: dict[str, Any] = super().to_dict(*arguments, **options)  # type: ignore[misc]
        return made

    def save(self, fp: Any, format: str | None = None, **options: Any) -> None:  # noqa: A002
        """Save the chart as Altair does, but include all scripts in an HTML page."""
        if format == "html" or (format is None and str(fp).endswith(".html")):
            options = {"inline": True, **options}
        super().save(fp, format, **options)  # type: ignore[misc]

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """Return an image. If the user has enabled one of Altair's renderers, use this renderer
        instead.
        """
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)  # type: ignore[misc]
        return {"image/svg+xml": layout.drawn(self), "text/plain": type(self).__name__}


def composable(chart: Any) -> Any:
    """Return the chart as a `ComposableChart`, which has the operators."""
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
