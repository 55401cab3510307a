"""docs/evidence/trust.md: what each experiment and each judge says, from the goals.csv that the
commands of the other pages wrote. No adjective in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tailback.report import Facts, Report, Section, Table, Text, Value, to_markdown
from tailback.report.tables import left, right, words
from tailback_studies import experiments
from tailback_studies.reproduction.entries import KINDS
from tailback_studies.reproduction.judges import FILE, Judge, from_csv
from tailback_studies.reproduction.shown import blind_columns, size

VALIDATION = ("validation", "The simulator against Linux")
"""What is judged beside the experiments: its folder in docs, and what it is."""


@dataclass(frozen=True)
class Judged:
    """A page and what its judges say."""

    name: str
    title: str
    command: str
    revision: str
    cost: str
    judges: list[Judge]

    @classmethod
    def read(cls, docs: Path, name: str, title: str) -> Judged | None:
        """What is stored of it; None if nothing is."""
        file, page = docs / name / FILE, docs / f"{name}.md"
        if not file.exists() or not page.exists():
            return None
        text = page.read_text(encoding="utf-8")
        facts = dict(
            re.findall(r"^- \*\*(command|revision|processor time)\*\*: (.*)$", text, re.MULTILINE)
        )
        return cls(
            name,
            title,
            facts.get("command", ""),
            facts.get("revision", ""),
            facts.get("processor time", ""),
            from_csv(file.read_text(encoding="utf-8")),
        )


def page(docs: Path) -> str:
    """The page."""
    known = [(name, experiments.get(name).title) for name in experiments.NAMES]
    found = [j for name, title in (*known, VALIDATION) if (j := Judged.read(docs, name, title))]
    judged = [one for one in found if one.judges]
    sections = [
        Section("judges", "What is judged", [Text(_HOW), _judges(judged)]),
        Section("noise", "The sources' own noise", [Text(_NOISE), _noise(judged)]),
        Section("not-run", "Not reproduced", [_not_run(docs)]),
        Section("made", "What made it", [_made(found)]),
    ]
    lead = (
        "Every published experiment that is run again here, and the simulator beside Linux: how "
        "many cells are judged, how many of them nobody had seen when the set-up stood, and how "
        "far off they are. `make pages` writes this page from the files `goals.csv` of the others."
    )
    return to_markdown(Report("", "How far it can be trusted", lead, [], sections))


_HOW = """
A judge is a group of cells of one kind. *Within* counts cells within the limit; *or chance* adds
misses within what one more run of the simulator would give in 95 % of cases, where there are five
seeds. *Blind* are cells that were kept out, or not known, until the set-up was fixed. A dash: there
is no such number.
"""

_NOISE = """
Some sources have an experiment twice: rows that are the same by symmetry, or modes that make no
difference to their flows; the twins of the validation are the kernel's first seeds and its last.
How far such twins are apart is how far off a model without any error would be.
"""


def _judges(judged: list[Judged]) -> Table:
    rows: list[list[Value]] = [
        [
            f"[{one.name}]({one.name}.md)",
            judge.judge,
            judge.limit,
            KINDS[judge.error],
            judge.cells,
            judge.within,
            judge.within_or_chance,
            size(judge.median, judge.error, ".3g"),
            size(judge.p90, judge.error, ".3g"),
            *blind_columns(judge),
            "yes" if judge.holds else "no",
        ]
        for one in judged
        for judge in one.judges
    ]
    columns = [
        *words("page"),
        *left("judge", "limit", "error"),
        *right("cells", "within", "or chance", "median", "90 % below"),
        *right("blind cells", "median", "90 % below"),
        *left("holds"),
    ]
    return Table("judges", "Judges", columns, rows)


def _noise(judged: list[Judged]) -> Table:
    rows: list[list[Value]] = [
        [
            one.name,
            judge.judge,
            judge.noise_cells,
            size(judge.noise_median, judge.error, ".3g"),
            size(judge.noise_p90, judge.error, ".3g"),
            size(judge.median, judge.error, ".3g"),
            size(judge.p90, judge.error, ".3g"),
        ]
        for one in judged
        for judge in one.judges
        if judge.noise_cells
    ]
    columns = [
        *left("experiment", "judge"),
        *right("twins", "apart, median", "90 % below", "error here, median", "90 % below"),
    ]
    return Table("noise", "Twins", columns, rows)


def _not_run(docs: Path) -> Table:
    rows: list[list[Value]] = [
        [name, what, count, why]
        for name in experiments.NAMES
        for what, count, why in experiments.get(name).not_run
    ]
    for name in experiments.NAMES:
        if not (docs / f"{name}.md").exists():
            rows.append([name, "its page", None, "no full run has been made of it"])
    page = (docs / f"{VALIDATION[0]}.md").read_text(encoding="utf-8")
    planned = re.search(r"\*\*What was run.*?\n\| all \| (\d+) \| (\d+) \|", page, re.DOTALL)
    if planned and (left_out := int(planned[1]) - int(planned[2])):
        why = "not measured yet; the command goes on where it was"
        rows.append([VALIDATION[0], "cells of the grid", left_out, why])
    return Table(
        "not-run", "Left out", [*left("experiment", "what"), *right("rows"), *left("why")], rows
    )


def _made(found: list[Judged]) -> Table:
    rows: list[list[Value]] = [
        [one.title, f"`{one.command}`", one.revision, one.cost] for one in found
    ]
    columns = [*left("source"), *words("command"), *left("revision"), *right("processor time")]
    return Table("made", "Commands and revisions", columns, rows, "", Facts())
