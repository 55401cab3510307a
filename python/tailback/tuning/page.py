"""Writes the report of a search."""

from __future__ import annotations

from pathlib import Path

from tailback.base.numbers import short
from tailback.metrics.estimates import with_spread
from tailback.report import Report, ReportFigure, Section, Table, Text
from tailback.report import write as write_report
from tailback.report.model import Block, Column, Facts, Value
from tailback.report.tables import csv_text, left, right
from tailback.report.text import plain
from tailback.tuning import charts
from tailback.tuning.plan import SAMPLERS
from tailback.tuning.result import FEWEST, Point, Tuned, text

CANDIDATES = "candidates.csv"


def heading(tuning: Tuned, point: Point) -> str:
    """Return the comment at the beginning of a point's scenario."""
    goals = ", ".join(
        f"{g.text} {short(point.tried.measured.value(g.text))}" for g in tuning.plan.goals
    )
    return (
        f"Point {point.number} of the front that tailback tune found, "
        f"sampler {tuning.plan.sampler}, seed {tuning.plan.sampler_seed}:\n{goals} in the search."
    )


def write(tuning: Tuned) -> Path:
    """Write the report of a search, with figures and scenarios."""
    return write_report(_report(tuning), tuning.folder)


def rows(tuning: Tuned) -> tuple[list[str], list[list[Value]]]:
    """Return the front as a table: headings and rows."""
    plan = tuning.plan
    heads = ["point", *(parameter.path for parameter in plan.vary)]
    for goal in plan.goals:
        heads += [f"{goal.title}, search", "unseen", "against defaults"]
    cells: list[list[Value]] = []
    for point in tuning.front:
        row: list[Value] = [point.number, *(str(word) for word in point.values.values())]
        for goal in plan.goals:
            found, differs = point.checked(goal), point.difference(goal)
            row += [
                short(point.tried.measured.value(goal.text)),
                with_spread(found) if found is not None else None,
                f"{text(differs)}{_SIGN[point.answer(goal)]}" if differs else None,
            ]
        cells.append(row)
    from tailback.metrics import estimate

    defaults: list[Value] = ["defaults", *("" for _ in plan.vary)]
    for goal in plan.goals:
        unseen = estimate(tuning.defaults_unseen.by_seed[goal.text])
        defaults += [short(tuning.defaults.value(goal.text)), with_spread(unseen), None]
    return heads, [*cells, defaults]


_SIGN = {"better": " better", "worse": " worse", "same": "", "open": " open"}


def _report(tuning: Tuned) -> Report:
    plan = tuning.plan
    facts = Facts(
        runs=len({one for tried in tuning.tried for one in tried.measured.run_ids}),
        seeds=plan.seeds,
        engine=f"{plan.runner.name} {plan.defaults.engine_version}",
    )
    heads, cells = rows(tuning)
    compared = "".join(f" {line[0].upper()}{line[1:]}." for line in tuning.left_out())
    columns = [*left(*heads[: 1 + len(plan.vary)]), *right(*heads[1 + len(plan.vary) :])]
    blocks: list[Block] = [
        Text(plain("; ".join(_sentences(tuning)) + ".")),
        ReportFigure(
            "front",
            "Candidates and front",
            charts.fronts(tuning),
            "Small dots are all candidates, with the seeds of the search; the dashed line is "
            "their front. Large dots with 95 % intervals are the front and the defaults, with "
            f"{tuning.unseen_text}, which the search did not use. A number that would cover "
            "another number is left out.",
            facts,
        ),
        Table(
            "front",
            "The front",
            columns,
            cells,
            f"The columns `unseen` have the mean over {tuning.unseen_text}, and half of its 95 % "
            "interval. The differences from the defaults are computed seed by seed. The answer is "
            "better or worse if the 95 % interval of the difference excludes 0. If all seeds have "
            f"the same difference, at least {FEWEST} seeds are needed. Otherwise the answer is "
            f"open.{compared}",
        ),
        ReportFigure(
            "values", "The effect of each value", charts.values(tuning), "In the search.", facts
        ),
    ]
    table = Table("asked", "Options of the search", _columns(), _asked(tuning))
    return Report(
        name=plan.id,
        title=f"Tuning: {plan.defaults.title or plan.id}",
        lead=plain(f"{len(tuning.tried)} candidates, {len(tuning.front)} on the front."),
        meta=[
            ("engine", f"{plan.runner.name} {plan.defaults.engine_version}"),
            ("seeds", f"{plan.seeds} in the search, {plan.unseen} unseen at its end"),
        ],
        sections=[
            Section("found", "What was found", blocks),
            Section("asked", "Options of the search", [table]),
        ],
        files={**tuning.files, CANDIDATES: _candidates(tuning)},
        first="front",
    )


def _columns() -> list[Column]:
    return left("what", "here")


def _sentences(tuning: Tuned) -> list[str]:
    head, *rest = tuning.verdict()
    first = f"{head} {rest[0]}" if rest else head
    return [first[0].upper() + first[1:], *rest[1:]]


def _asked(tuning: Tuned) -> list[list[Value]]:
    plan = tuning.plan
    rows: list[list[Value]] = [
        ["sampler", f"{plan.sampler}: {SAMPLERS[plan.sampler]}; seed {plan.sampler_seed}"],
        ["candidates", f"{plan.candidates}, {plan.batch} at once, {plan.runs} runs each"],
    ]
    for parameter in plan.vary:
        scale = ", logarithmic" if getattr(parameter, "log", False) else ""
        rows.append([f"vary {parameter.path}", f"{parameter.text}{scale}"])
    rows += [[goal.direction, goal.text] for goal in plan.goals]
    rows += [["subject to", bound.text] for bound in plan.bounds]
    for path, words in plan.sweep.items():
        rows.append([f"at {path}", ", ".join(map(str, words))])
    rows += [["over the points", plan.across]]
    rows += [[f"set {path}", word] for path, word in plan.sets]
    faults = dict.fromkeys(
        candidate.measured.fault for candidate in tuning.tried if candidate.measured.fault
    )
    rows += [["could not be measured", text] for text in faults]
    return rows


def _candidates(tuning: Tuned) -> str:
    plan = tuning.plan
    names = [goal.text for goal in plan.goals] + [b.quantity.text for b in plan.bounds]
    names = list(dict.fromkeys(names))
    head: list[object] = [
        "number",
        *(parameter.path for parameter in plan.vary),
        *names,
        "holds",
        "front",
        "fault",
    ]
    table: list[list[object]] = [head]
    for candidate in tuning.tried:
        known = not candidate.measured.fault
        table.append(
            [
                candidate.number,
                *candidate.values.values(),
                *(candidate.measured.value(name) if known else None for name in names),
                "yes" if candidate.holds else "no",
                "yes" if candidate.front else "no",
                candidate.measured.fault,
            ]
        )
    return csv_text(table)
