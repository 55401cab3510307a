"""The tables at the end of `run` and `reproduce`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tailback.metrics import estimate
from tailback.numbers import short, with_spread

if TYPE_CHECKING:
    from tailback.experiments import Experiment, ReproduceResult
    from tailback.results import Results, Run

MAX_ROWS = 60

Value = Callable[[Mapping[str, Any]], float | None]

FLOW: tuple[tuple[str, Value], ...] = (
    ("Mbit/s", lambda f: f["throughput_mbit"]),
    ("RTT ms", lambda f: f["rtt_ms"]["mean"]),
    ("p99", lambda f: f["rtt_ms"]["p99"]),
    ("retrans", lambda f: f["retransmits"]),
    ("drops", lambda f: f["drops"]),
    ("marks", lambda f: f["marks"]),
)
QUEUE: tuple[tuple[str, Value], ...] = (
    ("queue ms", lambda q: q["delay_ms"]["mean"]),
    ("p99", lambda q: q["delay_ms"]["p99"]),
    ("util.", lambda q: q["utilisation"]),
)


def show(results: Results) -> None:
    """One row for each point and flow, seeds together; the first link beside its first flow."""
    groups = results.groups()
    seeds = max((len(group) for group in groups), default=0)
    columns = list(dict.fromkeys(path for run in results.points for path in run.params))
    with_completion = any(
        flow["completion_s"] is not None for run in results.points for flow in run.summary["flows"]
    )
    shown = FLOW + ((("done s", lambda f: f["completion_s"]),) if with_completion else ())

    table = Table(title=results.title or None, title_justify="left", box=None, pad_edge=False)
    for name in [*columns, "flow", "cc"]:
        table.add_column(name)
    for name, _ in (*shown, *QUEUE):
        table.add_column(name, justify="right")
    if any(len(run.summary["flows"]) > 1 for run in results.points):
        table.add_column("Jain", justify="right")

    rows = 0
    hidden = 0
    for group in groups:
        for i, flow in enumerate(group[0].summary["flows"]):
            rows += 1
            if rows > MAX_ROWS:
                hidden += 1
                continue
            first = i == 0
            cells = [group[0].labels.get(c, "") if first else "" for c in columns]
            cells += [flow["name"], flow["cc"]]
            part = partial(_flow, index=i)
            cells += [_over_seeds(group, value, part) for _, value in shown]
            if first:
                cells += [_over_seeds(group, value, lambda s: s["queue"]) for _, value in QUEUE]
                cells.append(_over_seeds(group, lambda s: s["jain"], lambda s: s))
            table.add_row(*cells[: len(table.columns)])
    console = _console()
    console.print(table)
    if seeds > 1:
        console.print(f"mean over {seeds} seeds ± half the 95 % interval (Student's t)")
    if hidden:
        console.print(f"{hidden} more rows; --json has them all")


def show_reproduction(experiment: Experiment, result: ReproduceResult) -> None:
    """How far off each quantity is, and where the report is."""
    table = Table(title=experiment.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("quantity")
    for name in ("cells", "median error", "90 % below", "median rel.", "90 % below"):
        table.add_column(name, justify="right")
    for row in result.summary:
        table.add_row(
            row["quantity"],
            str(row["cells"]),
            short(row["median_abs_error"]),
            short(row["p90_abs_error"]),
            _percent(row["median_rel_error"]),
            _percent(row["p90_rel_error"]),
        )
    console = _console()
    console.print(table)
    console.print(f"report: {result.report_dir}", soft_wrap=True, highlight=False)


def _flow(summary: Mapping[str, Any], index: int) -> Any:
    return summary["flows"][index]


def _over_seeds(
    group: Sequence[Run], value: Value, part: Callable[[Mapping[str, Any]], Any]
) -> str:
    parts = [part(run.summary) for run in group]
    return with_spread(estimate(value(p) if p is not None else None for p in parts))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2g} %"


def _console() -> Console:
    # Into a pipe or a file a table must not be cut to 80 columns.
    return Console(highlight=False) if sys.stdout.isatty() else Console(width=240, highlight=False)
