"""Writes docs/evidence/league.md: the verdicts of `tailback evaluate` for every congestion control
and queue.

    python scripts/league.py
    python scripts/league.py --quick --jobs 2 --out results/league

Runs that are not stored are run first. All are in one folder. It also writes the sortable tables to
which the page's cells link: the number, its interval and the command that runs the scenario.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tailback.base.numbers import short
from tailback.evaluate import suites
from tailback.evaluate.model import BAD, Evaluation, Request, SectionResult
from tailback.evaluate.text import number
from tailback.running.options import RunOptions

DOCS = Path(__file__).resolve().parent.parent / "docs/evidence"
DETAILS = "league-numbers.results.json"

SUBJECTS = {
    "cc": (
        "reno",
        "cubic",
        "cubic:slow_start=hystart++",
        "cubic:slow_start=search",
        "dctcp",
        "prague",
        "bbr",
        "bbr3",
        "bbr3:draft=06",
    ),
    "queue": ("codel", "fq_codel", "pie", "fq_pie", "cake", "dualpi2", "red"),
}

TITLES = {
    "cc": "Congestion controls by RFC 9743",
    "queue": "Queue disciplines by RFC 7928 and RFC 9332",
}

LEADS = {
    "cc": """\
*Worse* and *no worse* compare with CUBIC in the same scenario. Sections about other traffic measure
harm: the harm that the control does to CUBIC and Reno, minus the harm that a second flow of CUBIC
or Reno does to them.""",
    "queue": """\
*Worse* and *no worse* compare with a FIFO of one bandwidth-delay product. Sections that begin with
L4S are for dual queues.""",
}

MARKS = {"pass": "✓", "no worse": "✓", "undecided": "?", "not observable": "–"}
"""Signs in the matrix for verdicts without a number."""

HEAD = """\
# Every algorithm by every section

This page has the verdicts of [`tailback evaluate`](../how-to/evaluate.md) for the congestion
controls and queues of the simulator. `{command}` writes this page. It was measured on {date} with
the simulator, version `{version}`{quick}. A cell links to its number, its interval and the command
that runs the scenario. [All numbers]({details}) explains what the number of each section measures.

✓: passes, or is no worse. **fail** and **worse** have their number. ?: the seeds do not decide. –:
not observable.

A verdict is about one scenario with stated margins. Where the RFC has no margin, tailback sets it.
The verdicts are not a ranking.
"""

SURPRISES = """\
For each algorithm, the number that is farthest beyond its bound, as a multiple of the bound:
"""


def main() -> None:
    """Evaluate all subjects and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten seeds and shorter runs")
    parser.add_argument("--jobs", type=int, help="runs at the same time")
    parser.add_argument("--out", type=Path, default=Path("results/league"))
    asked = parser.parse_args()
    run = RunOptions.of(out=asked.out, jobs=asked.jobs, progress=False)
    found = {
        suite: [suites.evaluate(suite, Request(name, run, quick=asked.quick)) for name in names]
        for suite, names in SUBJECTS.items()
    }
    facts = facts_of(found, quick=asked.quick)
    (DOCS / "league.md").write_text("\n".join(page(found, facts)) + "\n", encoding="utf-8")
    text = json.dumps(details(found, facts), indent=1, ensure_ascii=False)
    (DOCS / DETAILS).write_text(text + "\n", encoding="utf-8")


def facts_of(found: dict[str, list[Evaluation]], *, quick: bool) -> dict[str, str]:
    """Return the page's facts about its runs."""
    return {
        "command": "python scripts/league.py" + (" --quick" if quick else ""),
        "date": f"{datetime.now(UTC).date():%-d %B %Y}",
        "version": found["cc"][0].version,
        "quick": ", by shorter runs with `10` seeds (`--quick`)" if quick else "",
        "details": DETAILS,
    }


def page(found: dict[str, list[Evaluation]], facts: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD.format(**facts)
    yield "## What stands out\n"
    yield SURPRISES
    for suite in SUBJECTS:
        yield from worst(found[suite])
    yield ""
    for suite, title in TITLES.items():
        yield f"## {title}\n"
        yield LEADS[suite] + "\n"
        yield from matrix(found[suite])
        yield ""


def beyond(section: SectionResult) -> float:
    """Return the factor by which a number exceeds its bound."""
    if section.verdict not in BAD or section.value is None or not section.bound:
        return 0.0
    if section.at_least:
        return section.bound / section.value if section.value else 0.0
    return section.value / section.bound


def worst(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield a line for each subject that fails or is worse, with the number that exceeds its bound
    most."""
    for one in evaluations:
        bad = one.of("fail", "worse")
        if not bad:
            yield f"- **{one.subject}**: nothing is worse or fails."
            continue
        section = max(bad, key=beyond)
        times = f"{beyond(section):.2g} times the bound" if beyond(section) else section.verdict
        yield (
            f"- **{one.subject}**: {section.verdict} in {section.id} ({section.title}): "
            f"{number(section)}, {times}; {section.note}."
        )


def matrix(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the matrix of verdicts: a row for each section, a column for each subject."""
    subjects = [one.subject for one in evaluations]
    yield "| section | " + " | ".join(heading(name) for name in subjects) + " |"
    yield "|---" * (1 + len(subjects)) + "|"
    for row in zip(*(one.sections for one in evaluations), strict=True):
        if any(section.scenario for section in row):
            cells = [cell(name, section) for name, section in zip(subjects, row, strict=True)]
            yield f"| {row[0].id} {row[0].title} | " + " | ".join(cells) + " |"
    counts = [Counter(section.verdict for section in one.sections) for one in evaluations]
    for verdict in ("fail", "worse", "undecided"):
        yield f"| *{verdict}* | " + " | ".join(f"*{count[verdict]}*" for count in counts) + " |"


def heading(subject: str) -> str:
    """Return the column heading of a subject. If it has an option, the heading is only the option's
    value."""
    name, _, option = subject.partition(":")
    return f"{name} {option.partition('=')[2]}".strip()


def cell(subject: str, section: SectionResult) -> str:
    """Return a verdict as a link to the subject's table, with its number if the verdict is bad."""
    words = MARKS.get(section.verdict, section.verdict)
    if section.verdict in BAD:
        words = f"**{words} {short(section.value, 2)}**"
    return f"[{words}]({DETAILS}#{anchor(subject)})"


def anchor(subject: str) -> str:
    """Return the anchor that MyST makes for a heading."""
    kept = "".join(letter for letter in subject.lower() if letter.isalnum() or letter in "-_ ")
    return kept.replace(" ", "-")


def details(found: dict[str, list[Evaluation]], facts: dict[str, str]) -> dict[str, Any]:
    """Return the sortable tables, one for each subject."""
    return {
        "title": "Every algorithm by every section",
        "facts": [[key, f"`{facts[key]}`"] for key in ("command", "date", "version")],
        "lead": ["Back to [the matrix](league.md)."],
        "sections": [
            {"title": one.subject, "blocks": [table(one)]}
            for evaluations in found.values()
            for one in evaluations
        ],
    }


def table(evaluation: Evaluation) -> dict[str, Any]:
    """Return the table of one subject, with every section."""
    return {
        "title": "",
        "columns": ["section", "title", "verdict", "measure", "value [95 %]", "allowed", "command"],
        "right": [False, False, False, False, True, True, False],
        "rows": [
            [
                one.id,
                one.title,
                one.verdict,
                one.measure or one.note,
                number(one),
                one.limit or "–",
                f"`{one.command}`" if one.command else "",
            ]
            for one in evaluation.sections
        ],
    }


if __name__ == "__main__":
    main()
