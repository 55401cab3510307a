"""Writes docs/evidence/programs.md: the verdicts of `tailback evaluate cc` for QUIC stacks.

    python scripts/programs.py quinn.json quic-go.json s2n-quic.json quiche.json

The arguments are files with the output of the commands that the page lists. The files of the
programs are in scripts/programs. The kernel engine needs `tailback kernel build --program NAME` for
each program.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages import EVIDENCE
from pages.league import MARKS
from tailback.base.numbers import short
from tailback.evaluate.model import BAD, Evaluation, SectionResult
from tailback.evaluate.text import number

PAGE = EVIDENCE / "programs.md"

FEW = ("5.1.1", "5.2-silence", "6.2", "6.4", "7.1-ce", "7.4", "7.7", "7.9")
"""The sections that run with the kernel engine, because they take only minutes."""


@dataclass(frozen=True)
class Column:
    """A column of the page, which is a stack on an engine."""

    name: str
    engine: str
    parts: tuple[str, ...] = ()
    seeds: int | None = None

    @property
    def words(self) -> str:
        """The command that makes the column."""
        words = [f"tailback evaluate cc program=scripts/programs/{self.name}.toml --quick"]
        words += ["--with stacks/quinn"] if self.engine == "sim" else ["--engine kernel"]
        words += [] if self.seeds is None else [f"--seeds {self.seeds}"]
        return " ".join([*words, *(f"--part {part}" for part in self.parts), "--json"])


COLUMNS = (
    Column("quinn", "sim"),
    Column("quic-go", "kernel", FEW, 3),
    Column("s2n-quic", "kernel", FEW, 3),
    Column("quiche", "kernel", FEW, 3),
)

HEAD = """\
# QUIC stacks by RFC 9743

This page has the verdicts of [`tailback evaluate cc program=FILE`](../how-to/evaluate.md#a-program)
for QUIC stacks with their default congestion controls: NewReno in quic-go, CUBIC in the others.
`python scripts/programs.py` writes this page from the output of the commands below. It was measured
on {date}.

Each stack is compared with CUBIC over TCP on the same engine. Runs are short (`--quick`), with 10
or 20 seeds in the simulator and 3 on the kernel engine. On the kernel engine only sections that
take a few minutes were run.
"""

CAUSES = """\
Causes, as far as the sources of the stacks show them:

- **Reordering (7.7).** QUIC declares a packet lost when the third packet after it is acknowledged
  (RFC 9002 section 6.1.1). RACK, which the CUBIC flow uses, adapts to reordering.
- **Outages (5.1.1-timeout).** quic-go 0.65.0 has a function that resets the window
  (`OnRetransmissionTimeout`), but nothing calls it. quinn resets the window after persistent
  congestion (RFC 9002 section 7.6). So does s2n-quic 1.91.0 according to its source, and the cause
  of its value is not known.
- **Rising loss (5.1.1-loss).** The cause of quiche's value is not known. The bound is one packet
  per round trip, although a QUIC sender may send two packets at each probe timeout (RFC 9002
  section 6.2.4).
- **Response to CE (7.1-ce).** The scenario marks every packet. quic-go then concludes that the path
  mangles ECN, and sends no ECT, so the section is not observable. quiche does not support ECN.
- **Constrained paths (7.4).** The cause of quinn's losses is not known.
"""

AFTER = """\
✓: passes, or is no worse. ?: the seeds do not decide. –: not observable. Empty: not run. **fail**
and **worse** are followed by the value.
"""


def main() -> None:
    """Read the evaluations and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="JSON of evaluate, of all columns")
    found = evaluations(json.loads(file.read_text("utf-8")) for file in parser.parse_args().files)
    PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")


def evaluations(texts: Iterable[dict[str, Any]]) -> list[Evaluation]:
    """Return the evaluation of each column. Later files replace sections of earlier files."""
    sections: dict[tuple[str, str], dict[str, SectionResult]] = {}
    versions = {}
    for text in texts:
        key = text["subject"], text["engine"]
        versions[key] = text["version"]
        own = sections.setdefault(key, {})
        for one in text["sections"]:
            own[one["id"]] = SectionResult.from_dict(one)
    return [
        Evaluation(
            "cc", name, engine, versions[name, engine], tuple(sections[name, engine].values())
        )
        for name, engine in ((column.name, column.engine) for column in COLUMNS)
    ]


def page(found: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD.format(date=f"{datetime.now(UTC).date():%-d %B %Y}")
    yield "## What stands out\n"
    for column, one in zip(COLUMNS, found, strict=True):
        bad = sorted(one.of(*BAD), key=beyond, reverse=True)
        yield from (f"- **{heading(column)}**: {said(section)}." for section in bad)
        if not bad:
            yield f"- **{heading(column)}**: nothing is worse or fails."
    yield "\n" + CAUSES
    yield "## Verdicts\n"
    yield AFTER
    yield "| section | " + " | ".join(map(heading, COLUMNS)) + " |"
    yield "|---" * (1 + len(COLUMNS)) + "|"
    by_id = [{section.id: section for section in one.sections} for one in found]
    for section in found[0].sections:
        if section.scenario or section.verdict != "not observable":
            cells = [cell(known.get(section.id)) for known in by_id]
            yield f"| {section.id} {section.title} | " + " | ".join(cells) + " |"
    for column, one in zip(COLUMNS, found, strict=True):
        yield f"\n## {heading(column)}\n"
        yield f"`{column.words}`, version `{one.version}`\n"
        yield "| section | verdict | measure | value [95 %] | allowed | worst case |"
        yield "|---|---|---|--:|--:|---|"
        for section in one.sections:
            if section.verdict != "not observable":
                yield (
                    f"| {section.id} | {section.verdict} | {section.measure} | {number(section)} "
                    f"| {section.limit} | {section.note} |"
                )
        yield ""
        yield from lines_of_unobservable(one)


def lines_of_unobservable(evaluation: Evaluation) -> Iterator[str]:
    """Yield the reasons why sections with a scenario are not observable."""
    sections = [one for one in evaluation.of("not observable") if not one.note.startswith("Write")]
    if sections:
        yield "Not observable:\n"
        for section in sections:
            yield f"- {section.id}: {section.note}"


def heading(column: Column) -> str:
    """Return the heading of a column."""
    return f"{column.name}, {'simulator' if column.engine == 'sim' else 'Linux'}"


def beyond(section: SectionResult) -> float:
    """Return the factor by which a number exceeds its bound."""
    return (section.value or 0.0) / section.bound if section.bound else 0.0


def said(section: SectionResult) -> str:
    """Return a bad verdict with its number, in words."""
    where = f"{section.verdict} in {section.id} ({section.title})"
    return f"{where}. Measure: {section.measure}. Worst case: {section.note}"


def cell(section: SectionResult | None) -> str:
    """Return a verdict, with its number if the verdict is bad."""
    if section is None:
        return ""
    words = MARKS.get(section.verdict, section.verdict)
    return f"**{words} {short(section.value, 2)}**" if section.verdict in BAD else words


if __name__ == "__main__":
    main()
