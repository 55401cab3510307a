"""Prints the results of `reproduce`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from tailback.base.numbers import short
from tailback.cli.tables.layout import new_console, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from tailback_studies.reproduction.experiment import Experiment, ReproduceResult


def show(experiment: Experiment, result: ReproduceResult) -> None:
    """Print the errors by quantity, and the path of the report."""
    console = new_console()
    if not result.summary:
        console.print(f"{experiment.title}\nno published numbers to compare with")
        console.print(f"report: {result.report_dir}", soft_wrap=True)
        return
    table = Table(title=experiment.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("quantity")
    for name in ("values", "median error", "90th percentile", "median rel.", "90th percentile"):
        table.add_column(name, justify="right")
    expected = [row for row in result.summary if "expected" in row]
    goals = any("goal" in row or "within" in row for row in result.summary)
    if goals:
        table.add_column("goal", justify="right")
        table.add_column("")
    for row in result.summary:
        if row in expected:
            continue
        table.add_row(
            row["quantity"],
            str(row["cells"]),
            short(row["median_abs_error"]),
            short(row["p90_abs_error"]),
            _percent(row["median_rel_error"]),
            _percent(row["p90_rel_error"]),
            *(_goal(row) if goals else ()),
        )
    if len(expected) < len(result.summary):
        print_table(table)
    if expected:
        _show_expectations(expected)
    if result.goals:
        _show_goals(console, result.goals)
    console.print(f"report: {result.report_dir}", soft_wrap=True)


def _show_expectations(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print each prediction of the theory or the publication. Also print the measurement, and
    whether it agrees with the prediction.
    """
    table = Table(title="Expectations", title_justify="left", box=None, pad_edge=False)
    for name in ("", "expected", "measured"):
        table.add_column(name)
    table.add_column("values", justify="right")
    table.add_column("")
    for row in rows:
        held = f"{row['held']}/{row['cells']}"
        verdict = "holds" if row["holds"] else "does not"
        table.add_row(row["title"], row["expected"], row["measured"], held, verdict)
    print_table(table)


def _show_goals(console: Console, goals: Sequence[Mapping[str, Any]]) -> None:
    missed = [goal for goal in goals if not goal["holds"]]
    met = f"{len(goals) - len(missed)} of {len(goals)} goals met"
    console.print(f"{met} (goals.csv)" if not missed else f"{met} (goals.csv); missed:")
    for goal in missed:
        console.print(f"  {goal['goal']}: {goal['limit']}, {goal['cells']} values", soft_wrap=True)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{short(100 * value, 2)} %"


def _goal(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the goal for the errors of a group of values, and whether the goal is met."""
    verdict = "holds" if row.get("holds") else "missed"
    if "within" in row:
        return f"{row['within']} of {row['cells']} {_limit(row.get('goal'))}".rstrip(), verdict
    goal = row.get("goal")
    if goal is None:
        return "", ""
    errors, wanted = (
        " / ".join(short(n) if goal["error"] == "absolute" else _percent(n) for n in pair)
        for pair in (
            (row["median_goal_error"], row["p90_goal_error"]),
            (goal["median"], goal["p90"]),
        )
    )
    reached = errors if goal["error"] == "capacity" else ""
    over = " of capacity" if reached else ""
    return f"{reached}{over and ' for '}{wanted}{over}", verdict


def _limit(goal: Mapping[str, Any] | None) -> str:
    if goal is None:
        return ""
    limit = goal["limit"]
    return f"within {_percent(limit) if goal['error'] == 'relative' else short(limit)}"
