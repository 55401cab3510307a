"""`tailback plot`: draws a figure of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import terminal
from tailback.base.progress import is_quiet
from tailback.cli.boundary import OK
from tailback.cli.completing import plot_kinds, plot_quantities, sweep_ids, swept_keys
from tailback.cli.help import Command
from tailback.cli.options import quiet_option, with_option
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.store.results import Results


def _scale_option(axis: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    return click.option(
        f"--{axis}-scale",
        default="auto",
        show_default=True,
        metavar="SCALE",
        help=(
            f"Scale of the {axis} axis: linear, log, free (a separate scale for each panel) or "
            "auto (chosen from the values)."
        ),
    )


@click.command(
    cls=Command,
    examples=(
        ("plot", "draw the latest sweep"),
        (
            "plot --x path.rtt --y delay_ms.p99 --color bottleneck.queue.aqm --out delay.svg",
            "draw a metric over a swept key",
        ),
        (
            "plot --kind time --y delay_ms --from 2s --to 8s --rule y=5ms --style slides",
            "draw the queue delay over time, for a slide",
        ),
    ),
)
@click.argument(
    "results",
    metavar="[RESULTS]",
    type=click.Path(path_type=Path),
    default=Path("latest"),
    shell_complete=sweep_ids,
)
@click.option(
    "--x",
    metavar="KEY",
    shell_complete=swept_keys,
    help="Key to draw on the x axis, e.g. path.rtt [default: chosen for the sweep].",
)
@click.option(
    "--y",
    metavar="QUANTITY",
    shell_complete=plot_quantities,
    help="Quantity to draw: a metric (delay_ms.p99), the distribution over all packets "
    "(delay_ms) or a series over time (cwnd) [default: chosen for the sweep].",
)
@click.option(
    "--color",
    metavar="KEY",
    shell_complete=swept_keys,
    help="Draw the values of this key in different colours, e.g. bottleneck.queue.aqm. Instead of "
    "a key, you can write `flow`, `link`, `class` or `seed` [default: chosen from the swept keys].",
)
@click.option(
    "--facet",
    "facets",
    multiple=True,
    metavar="KEY",
    shell_complete=swept_keys,
    help="Draw panels side by side, one for each value of this key. A second --facet arranges the "
    "panels in rows, one row for each value of the second key.",
)
@click.option(
    "--kind",
    metavar="KIND",
    shell_complete=plot_kinds,
    help="Kind of figure: line, box, cdf, ccdf, time, scatter, heat or bar [default: chosen for "
    "the sweep].",
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="KEY=VALUE[,VALUE...]",
    help="Draw only the results with these values of a key (path.rtt=20ms), or only these flows, "
    "links or classes (flow=NAME). Can be repeated.",
)
@click.option(
    "--without",
    metavar="NAME",
    help=(
        "Draw the harm that this flow or source of traffic does to the other flows. The metric is "
        "harm_throughput, unless --y names another metric of harm. The sweep must come from "
        "`tailback run --without NAME`."
    ),
)
@_scale_option("x")
@_scale_option("y")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write: .pdf, .svg, .png, .html or .vl.json [default: ID.pdf, where ID is the id "
    "of the sweep].",
)
@click.option(
    "--width",
    metavar="LENGTH",
    help="Width of the whole figure [default: 85mm; 178mm for figures with panels].",
)
@click.option(
    "--height",
    metavar="LENGTH",
    help="Height of the whole figure [default: a height that suits the width].",
)
@click.option(
    "--font-size",
    type=float,
    metavar="POINTS",
    help="Font size of titles, in points. Other text is one point smaller [default: 8; 24 with "
    "--style slides].",
)
@click.option(
    "--style",
    "style_name",
    default="paper",
    show_default=True,
    metavar="STYLE",
    help="Style of the figure: paper or slides. With slides, figures have thick lines, large "
    "letters and an aspect ratio of 16:9.",
)
@click.option(
    "--title", default="", metavar="TEXT", help="Title above the figure [default: no title]."
)
@click.option(
    "--from", "begin", metavar="TIME", help="Start of the time axis, e.g. 2s [default: 0s]."
)
@click.option("--to", "end", metavar="TIME", help="End of the time axis [default: end of the run].")
@click.option(
    "--x-limits",
    metavar="LOW:HIGH",
    help="Smallest and largest value of the x axis, e.g. 0:100ms. You can leave out LOW or HIGH.",
)
@click.option(
    "--y-limits",
    metavar="LOW:HIGH",
    help="Smallest and largest value of the y axis, e.g. 0:20ms. You can leave out LOW or HIGH.",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="AXIS=VALUE",
    help="Draw a straight line at this value of the x axis or y axis, e.g. y=5ms. Can be repeated.",
)
@click.option(
    "--law",
    "laws",
    multiple=True,
    metavar="LAW",
    help="In a figure whose x axis is the probability of packet loss, draw the curve that a "
    "formula predicts: rfc9438 (CUBIC) or reno. Can be repeated.",
)
@click.option(
    "--events",
    metavar="KIND[,KIND...]",
    help="In a figure whose x axis is time, mark these events with ticks: drops, marks, "
    "slow-start-exit, or all (all three kinds).",
)
@with_option
@quiet_option
def plot(
    results: Path,
    x: str | None,
    y: str | None,
    color: str | None,
    facets: tuple[str, ...],
    kind: str | None,
    conditions: tuple[str, ...],
    without: str | None,
    x_scale: str,
    y_scale: str,
    out: Path | None,
    width: str | None,
    height: str | None,
    font_size: float | None,
    style_name: str,
    title: str,
    begin: str | None,
    end: str | None,
    x_limits: str | None,
    y_limits: str | None,
    rules: tuple[str, ...],
    laws: tuple[str, ...],
    events: str | None,
) -> int:
    """Draw a figure of a sweep: a metric against the swept keys, or a series over time.

    RESULTS is the folder or id of a sweep, or the folder of a run. RESULTS can also be a folder
    that `tailback run --out` wrote; then tailback draws the latest sweep in this folder. Without
    RESULTS, tailback draws the latest sweep in the folder results. The command chooses a value for
    every option that you leave out, and prints its choices on stderr. Figures combine the results
    of all seeds, and show 95 % confidence intervals.

    docs/how-to/plot.md shows every kind of figure.
    """
    from tailback.plot import PlotRequest, figure, output
    from tailback.plot.look import FigureLook
    from tailback.store import archive, layout

    if out is not None:
        output.writer(out)
    sweep = _found(results)
    target = out if out is not None else Path(f"{sweep.id}.pdf")
    where: dict[str, tuple[str, ...]] = {}
    for condition in conditions:
        key, equals, values = condition.partition("=")
        if not equals or not key or not values:
            raise InputError(f"--where {condition}: expected KEY=VALUE, e.g. path.rtt=20ms")
        where[key] = (*where.get(key, ()), *_listed(values))
    asked = PlotRequest(
        x=x,
        y=y,
        color=color,
        facet=facets,
        kind=kind,
        where=where,
        without=without,
        x_scale=x_scale,  # type: ignore[arg-type]
        y_scale=y_scale,  # type: ignore[arg-type]
        look=FigureLook(
            begin=begin,
            end=end,
            rules=rules,
            laws=laws,
            x_limits=x_limits,
            y_limits=y_limits,
            title=title,
            events=tuple(word for word in (events or "").split(",") if word),
        ),
    )
    drawing = figure(
        sweep, asked, width=width, height=height, font_size=font_size, style_name=style_name
    )
    drawing.save(target, sweep.title)
    terminal.out(target)
    if not is_quiet():
        newest = f"; latest is {sweep.id}" if str(results) == layout.LATEST else ""
        terminal.err(f"drawn: {drawing.plan.command()}; {drawing.plan.kind.facts}{newest}")
    if str(results) == layout.LATEST and (twins := archive.namesakes(sweep.id, layout.DEFAULT)):
        have = "has" if len(twins) == 1 else "have"
        terminal.err(
            f'note: "latest" is {sweep.id}; {", ".join(twins)} {have} the same title, as all '
            "variants of one `compare` do: name the sweep to draw"
        )
    for note in drawing.plan.notes:
        terminal.err(f"{note}; --where chooses")
    for note in drawing.plan.missing:
        terminal.err(f"note: {note}")
    return OK


def _listed(values: str) -> list[str]:
    """Split comma-separated values. A value that begins with `{` is one TOML table, although it
    contains commas."""
    return [values] if values.startswith("{") else values.split(",")


def _found(name: Path) -> Results:
    from tailback.store import archive, layout
    from tailback.store.results import open_results, open_run

    if name.is_dir():
        whole = (name / "manifest.json").is_file()
        return open_run(name) if whole else open_results(name)
    try:
        return open_results(archive.find(str(name), layout.DEFAULT))
    except InputError as no_sweep:
        try:
            return open_run(layout.find_run(str(name), layout.DEFAULT))
        except InputError:
            raise no_sweep from None
