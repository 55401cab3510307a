"""Draws figures from stored runs: any metric or recorded series over swept keys.

    chart = results.plot(x="path.rtt", y="delay_ms.p99", color="bottleneck.queue.aqm")
    chart.save("figure.svg")

`resolve` decides what to draw, and `values` computes the numbers. `kinds` has a module for each
kind of plot. `layout` sets the size of the figure, and `output` writes the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, get_args

from tailback.base.names import unknown
from tailback.errors import InputError, InputErrors
from tailback.plot import look as looks
from tailback.plot import style
from tailback.plot.look import FigureLook
from tailback.plot.plan import PlotPlan, PlotRequest, Scale

if TYPE_CHECKING:
    from pathlib import Path

    from tailback.plot.layout import LaidOut
    from tailback.store.results import Results

LEAST_FONT, MOST_FONT = 4.0, 40.0


@dataclass(frozen=True)
class Figure:
    """A drawn figure and the plan from which it was made."""

    made: LaidOut
    plan: PlotPlan

    @property
    def chart(self) -> Any:
        """The figure as an Altair chart."""
        return self.made.chart

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return self.made.svg

    def save(self, target: Path, title: str = "") -> Path:
        """Write the figure to a file, in the format of the file name's ending."""
        from tailback.plot import output

        return output.save(self.made, target, title)


def _warm_up() -> None:
    """Draw an empty figure while results are read, because the renderer starts slowly."""
    # Ignore errors here, because drawing the real figure reports them.
    with suppress(Exception):
        import vl_convert

        vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point", "encoding": {}})


def figure(
    results: Results,
    asked: PlotRequest,
    *,
    width: str | None = None,
    height: str | None = None,
    font_size: float | None = None,
    style_name: str = "paper",
) -> Figure:
    """Draw the figure that the user asked for."""
    wrong: list[str] = []
    looks.check(asked.look)
    if style_name not in style.STYLES:
        wrong.append(f"--style: {unknown('style', style_name, list(style.STYLES))}")
    chosen = style.STYLES.get(style_name, style.PAPER)
    font_size = chosen.points if font_size is None else font_size
    wide = high = None
    for option, text in (("--width", width), ("--height", height)):
        try:
            made = style.length(text, option) if text is not None else None
        except InputError as error:
            wrong += map(str, error.problems)
            continue
        wide, high = (made, high) if option == "--width" else (wide, made)
    if not LEAST_FONT <= font_size <= MOST_FONT:
        wrong.append(
            f"--font-size: {font_size:g} is out of range; expected {LEAST_FONT:g} to "
            f"{MOST_FONT:g} points"
        )
    scales = get_args(Scale)
    for option, word in (("--x-scale", asked.x_scale), ("--y-scale", asked.y_scale)):
        if word not in scales:
            wrong.append(f"{option}: {unknown('scale', word, scales)}")
    Thread(target=_warm_up, daemon=True).start()
    results.require_whole()
    # This module imports Altair, which is slow, so import it only after all checks.
    from tailback.plot.resolve import resolve
    from tailback.plot.resolve_look import resolved

    try:
        plan = resolved(asked.look, resolve(results, asked))
    except InputError as error:
        wrong += map(str, error.problems)
    if wrong:
        raise InputErrors(*wrong)
    from tailback.plot.layout import Size, laid_out

    if wide is None:
        wide = style.length(chosen.page if plan.faceted else chosen.column, "--width")
    if high is None and chosen.height is not None:
        high = style.length(chosen.height, "--height")
    size = Size(wide, high, font_size, chosen.weight)
    drawn = laid_out(plan, plan.kind.draw(plan), size)
    return Figure(drawn, plan)


def plot(
    results: Results,
    *,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    facet: str | Sequence[str] = (),
    kind: str | None = None,
    where: Mapping[str, Any] | None = None,
    without: str | None = None,
    width: str | None = None,
    height: str | None = None,
    font_size: float | None = None,
    x_scale: Scale = "auto",
    y_scale: Scale = "auto",
    style: str = "paper",
    title: str = "",
    begin: str | None = None,
    end: str | None = None,
    x_limits: str | None = None,
    y_limits: str | None = None,
    rules: str | Sequence[str] = (),
    laws: str | Sequence[str] = (),
    events: str | Sequence[str] = (),
) -> Any:
    """Return a chart of results. See `Results.plot`."""
    asked = PlotRequest(
        x=x,
        y=y,
        color=color,
        facet=(facet,) if isinstance(facet, str) else tuple(facet),
        kind=kind,
        where={key: _words(value) for key, value in (where or {}).items()},
        without=without,
        x_scale=x_scale,
        y_scale=y_scale,
        look=FigureLook(
            begin=begin,
            end=end,
            rules=(rules,) if isinstance(rules, str) else tuple(rules),
            laws=(laws,) if isinstance(laws, str) else tuple(laws),
            x_limits=x_limits,
            y_limits=y_limits,
            title=title,
            events=(events,) if isinstance(events, str) else tuple(events),
        ),
    )
    made = figure(results, asked, width=width, height=height, font_size=font_size, style_name=style)
    # Importing Altair is slow, so import it only when a figure is drawn.
    from tailback.plot.composing import composable

    return composable(made.chart)


def _words(value: Any) -> tuple[str, ...]:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    return tuple(_word(one) for one in value) if several else (_word(value),)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["Figure", "PlotRequest", "figure", "plot"]
