"""Writes docs/evidence/trust.md (a summary on one screen) and docs/evidence/criteria.md (every
criterion) from the files that the experiments and the validation have written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pages import results
from tailback.report import Facts, Report, Section, Table, Text, Value, to_markdown
from tailback.report.tables import left, right, words
from tailback_studies import experiments
from tailback_studies.reproduction.entries import KINDS
from tailback_studies.reproduction.judges import FILE, Judge, from_csv
from tailback_studies.reproduction.shown import blind_columns, size

VALIDATION = ("validation", "The simulator against Linux")
"""The folder and title of the evidence that is not a published experiment."""

WORST = 3
"""Number of largest errors beyond a limit that the summary lists."""


@dataclass(frozen=True)
class Judged:
    """An evidence page, with the verdicts of its criteria."""

    name: str
    title: str
    heading: str
    """The heading of the page."""
    command: str
    revision: str
    cost: str
    judges: list[Judge]

    @classmethod
    def read(cls, evidence: Path, name: str, title: str) -> Judged | None:
        """Read the stored results. Return None if the experiment has no stored page or goals."""
        file, page = evidence / name / FILE, evidence / f"{name}.md"
        if not file.exists() or not page.exists():
            return None
        text = page.read_text(encoding="utf-8")
        facts = dict(
            re.findall(r"^- \*\*(command|revision|processor time)\*\*: (.*)$", text, re.MULTILINE)
        )
        return cls(
            name,
            title,
            text.partition("\n")[0].removeprefix("# "),
            facts.get("command", ""),
            facts.get("revision", ""),
            facts.get("processor time", ""),
            from_csv(file.read_text(encoding="utf-8")),
        )


def pages(evidence: Path) -> dict[Path, str]:
    """Return both pages by their paths."""
    known = [(name, experiments.get(name).title) for name in experiments.NAMES]
    found = [j for name, title in (*known, VALIDATION) if (j := Judged.read(evidence, name, title))]
    return {
        evidence / "trust.md": "\n".join(_screen(evidence, found)) + "\n",
        evidence / "criteria.md": _criteria_page(evidence, found),
    }


# --- summary -----------------------------------------------------------------------------------


def _screen(evidence: Path, found: Sequence[Judged]) -> Iterator[str]:
    judged = [page for page in found if page.judges]
    yield "# Agreement with Linux and with publications: summary\n"
    yield _verdict([judge for page in judged for judge in page.judges])
    yield (
        "\nA *comparison* is the difference between a result of the simulator and a published "
        "number or a measurement on Linux. A *criterion* limits the errors of a group of "
        "comparisons. A comparison that belongs to several groups counts once for each group. "
        "*Held-out values* are published numbers that nobody looked at until the set-up of the "
        "experiment was frozen. `make pages` writes this page from stored results. For every "
        "criterion, [a separate page](criteria.md) shows the median and the 90th percentile of the "
        "errors. The same page shows how much published numbers vary by chance. [Another "
        "page](mechanisms.md) shows how each mechanism of the simulator affects the results of all "
        "experiments.\n"
    )
    yield "| experiment | criteria met | comparisons within their limits | held out | revision |"
    yield "|---|--:|--:|--:|---|"
    for page in judged:
        counted = [judge for judge in page.judges if judge.within is not None]
        within = sum(judge.within or 0 for judge in counted)
        total = sum(judge.cells for judge in counted)
        cells = f"{within} of {total}" if counted else "\u2014"
        holding, criteria = sum(judge.holds for judge in page.judges), len(page.judges)
        holds = f"{holding} of {criteria}"
        held_out = sum(judge.blind for judge in page.judges)
        yield (
            f"| [{page.heading}]({page.name}.md) | {holds} | {cells} | {held_out} | "
            f"{page.revision} |"
        )
    yield "\n## The largest errors\n"
    yield f"These {WORST} criteria have the smallest share of comparisons within the limit:\n"
    yield "| experiment | criterion | limit | within the limit |"
    yield "|---|---|---|--:|"
    for page, miss in _failing(judged)[:WORST]:
        what = miss.title
        yield (
            f"| [{page.heading}]({page.name}.md) | {what} | {miss.limit} | "
            f"{miss.within} of {miss.cells} |"
        )
    yield (
        f"\nOf all differences between the simulator and Linux, these {WORST} exceed their limits "
        f"by the largest factors. The last column names the cause of each difference:\n"
    )
    yield "| scenario | quantity | error | limit | cause |"
    yield "|---|---|--:|--:|---|"
    for cell in _furthest(evidence):
        yield "| " + " | ".join(cell) + " |"
    yield "\n## Virtual against real time\n"
    yield from _clocks(evidence)


def _verdict(judges: Sequence[Judge]) -> str:
    holding = sum(judge.holds for judge in judges)
    counted = [judge for judge in judges if judge.within is not None]
    within, cells = sum(judge.within or 0 for judge in counted), sum(j.cells for j in counted)
    held_out = sum(judge.blind for judge in judges)
    criteria = len(judges)
    return (
        f"**The simulator meets {holding} of {criteria} criteria and fails {criteria - holding}.** "
        "A criterion limits many errors at once, for example the 90th percentile of all errors of "
        f"an experiment. Of the {cells} individual errors with a limit, {within} "
        f"({within / cells:.0%}) are within their limits. {held_out} comparisons use held-out "
        "values."
    )


def _failing(judged: Iterable[Judged]) -> list[tuple[Judged, Judge]]:
    """Return the criteria that are not met. Criteria with the smallest share of scenarios within
    the limit come first."""
    failing = [
        (page, judge)
        for page in judged
        for judge in page.judges
        if not judge.holds and judge.within is not None
    ]
    return sorted(failing, key=lambda pair: (pair[1].within or 0) / pair[1].cells)


def _furthest(evidence: Path) -> Iterator[tuple[str, ...]]:
    """Yield the validation's largest errors among those that exceed their limits."""
    for table in results.tables(evidence, VALIDATION[0], "Beyond a limit"):
        place = {name: i for i, name in enumerate(table["columns"])}
        for row in table["rows"][:WORST]:
            yield tuple(
                row[place[name]] for name in ("scenario", "what", "error", "limit", "cause")
            )


def _clocks(evidence: Path) -> Iterator[str]:
    """Yield a row about the differences between runs in real time and in virtual time."""
    page = (evidence / "virtual-time.md").read_text(encoding="utf-8")
    cells: dict[str, dict[str, list[float]]] = {}
    for row in re.findall(r"^\| (.*?) \| (virtual|real) \| (.*) \|$", page, flags=re.M):
        numbers = [cell.split()[0] for cell in row[2].split(" | ")]
        if len(numbers) == 4:
            cells.setdefault(row[0], {})[row[1]] = [float(number) for number in numbers]
    pairs = [clocks for clocks in cells.values() if len(clocks) == 2]
    yield (
        "| quantity | scenarios | value in real time / in virtual time: smallest | median | "
        "largest |"
    )
    yield "|---|--:|--:|--:|--:|"
    for i, quantity in enumerate(("throughput", "mean queue delay")):
        ratios = sorted(clocks["real"][i] / clocks["virtual"][i] for clocks in pairs)
        middle = ratios[len(ratios) // 2]
        yield f"| {quantity} | {len(ratios)} | {ratios[0]:.2f} | {middle:.2f} | {ratios[-1]:.2f} |"
    yield (
        "\n[A separate page](virtual-time.md) compares runs of the same kernel and the same "
        "scenarios in virtual and in real time. In real time, the results also depend on delays "
        "of the machine that runs the guest."
    )


# --- all criteria ------------------------------------------------------------------------------


def _criteria_page(evidence: Path, found: Sequence[Judged]) -> str:
    judged = [page for page in found if page.judges]
    sections = [
        Section("criteria", "Criteria", [Text(_HOW), _criteria(judged)]),
        Section("noise", "Noise of the published numbers", [Text(_NOISE), _noise(judged)]),
        Section("not-run", "Not reproduced", [_not_run(evidence)]),
        Section("made", "Commands and revisions", [_made(found)]),
    ]
    lead = (
        "This page lists all criteria for reproduced experiments and for the comparison of the "
        "simulator with Linux. For each criterion, the first table shows the errors that the "
        "criterion limits. `make pages` writes this page from the file `goals.csv` of each "
        "experiment."
    )
    return to_markdown(Report("", "Every criterion", lead, [], sections))


_HOW = """ A criterion limits the errors of a group of comparisons with published numbers or with
Linux. The column *error* shows whether the errors are absolute, or to which value the errors
are relative. The column *within* counts the comparisons whose errors are within the limit. The
column *within or chance* also counts comparisons that may exceed the limit by chance. Chance can
explain an error if the published value lies within the 95 % prediction interval for one more run
of the simulator. tailback computes this prediction interval only if there are at least five seeds.
The column *held out* counts comparisons with published values that nobody looked at until the
set-up of the experiment was frozen. The next two columns show the median and the
90th percentile of the errors of these held-out comparisons. A dash marks a number that does not
apply to the criterion.
"""

_NOISE = """ Some publications contain results of two experiments that are effectively the same. For
example, two experiments may differ only in the order of the flows, or in a mode of the queue that
does not affect these flows. This page calls the results of two such experiments *twins*. For the
comparison with Linux, twins are two means of the kernel's results: one over the first half of the
seeds, and one over the second half. Even a perfect model would have errors about as large as the
differences between twins.
"""


def _criteria(judged: list[Judged]) -> Table:
    rows: list[list[Value]] = [
        [
            f"[{page.name}]({page.name}.md)",
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
        for page in judged
        for judge in page.judges
    ]
    columns = [
        *words("page"),
        *left("criterion", "limit", "error"),
        *right("comparisons", "within", "within or chance", "median", "90th percentile"),
        *right("held out", "median of held-out", "90th percentile of held-out"),
        *left("met"),
    ]
    return Table("criteria", "Criteria", columns, rows)


def _noise(judged: list[Judged]) -> Table:
    rows: list[list[Value]] = [
        [
            page.name,
            judge.judge,
            judge.noise_cells,
            size(judge.noise_median, judge.error, ".3g"),
            size(judge.noise_p90, judge.error, ".3g"),
            size(judge.median, judge.error, ".3g"),
            size(judge.p90, judge.error, ".3g"),
        ]
        for page in judged
        for judge in page.judges
        if judge.noise_cells
    ]
    columns = [
        *left("source", "criterion"),
        *right("pairs of twins", "difference of twins, median", "90th percentile"),
        *right("error of the simulator, median", "90th percentile"),
    ]
    return Table("noise", "Twins", columns, rows)


def _not_run(evidence: Path) -> Table:
    rows: list[list[Value]] = [
        [name, what, count, why]
        for name in experiments.NAMES
        for what, count, why in experiments.get(name).not_run
    ]
    for name in experiments.NAMES:
        if not (evidence / f"{name}.md").exists():
            rows.append([name, "the whole page", None, "its runs are not complete yet"])
    planned = _planned(evidence)
    if planned and (left_out := planned[0] - planned[1]):
        why = "not measured yet"
        rows.append([VALIDATION[0], "scenarios", left_out, why])
    return Table(
        "not-run", "Left out", [*left("source", "what"), *right("rows"), *left("why")], rows
    )


def _planned(evidence: Path) -> tuple[int, int] | None:
    """Return the number of planned scenarios of the validation, and the number of measured
    scenarios."""
    for table in results.tables(evidence, VALIDATION[0], "What was run"):
        for name, planned, ran, *_ in table["rows"]:
            if name == "all":
                return int(planned), int(ran)
    return None


def _made(found: Sequence[Judged]) -> Table:
    rows: list[list[Value]] = [
        [page.title, f"`{page.command}`", page.revision, page.cost] for page in found
    ]
    columns = [*left("source"), *words("command"), *left("revision"), *right("processor time")]
    return Table("made", "Commands and revisions", columns, rows, "", Facts())
