"""Writes a page of docs/evidence. The page describes an experiment in a few hundred words. A data
file beside the page contains the complete results.

The documentation site shows the data as sortable tables.

The page and the data file are made from the long page that `reproduce --page` and `validate` write
beside their reports."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback_studies.reproduction.judges import FILE, Judge, from_csv
from tailback_studies.reproduction.shown import size

MAX_WORDS = 800
"""Largest number of words of a short page. The page with the complete results shows everything
else."""

OPENING = "Figure"
"""Title of the section with the opening figure of a page."""

CLAIMS = "Conclusions"
"""Title of the section with the conclusions of the publication. A short page shows this section
before the criteria."""

OVERVIEW = "Errors by queue and competitor"
"""Title of a section. A short page shows the first table of this section after the criteria."""

SIDE_BY_SIDE = "Side by side"
"""Title of the section with the measurements of both engines. A short page includes this
section."""

RESERVED = 29
"""Number of words that are reserved for the last section."""

RESULTS = "-all.results.json"
"""End of the name of the file with the complete results."""

MAX_FACT_WORDS = 20
"""Largest number of words of a fact on the short page. Only the page with the complete results
shows longer facts."""

WORST = 5
"""Number of rows of a table of misses."""

WIDEST = 8
"""Largest number of columns of a table on the short page."""

LONGEST = 15
"""Largest number of rows of a table on the short page."""

FEWEST = 4
"""Smallest number of rows of a shortened table. If fewer rows fit, the table is left out."""

_FACT = re.compile(r"- \*\*([^*]+)\*\*: (.*)")
_FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
_TITLE = re.compile(r"\*\*([^*]+)\*\*")
_CELL = re.compile(r"(?<!\\)\|")
_SET_UP = re.compile(r"Set-up|What was run|How to reproduce it")

Block = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """A heading with texts, tables and figures."""

    title: str
    blocks: list[Block]


@dataclass(frozen=True)
class Whole:
    """A long page, divided into its parts."""

    title: str
    lead: list[str]
    facts: list[tuple[str, str]]
    sections: list[Section]

    @classmethod
    def parse(cls, text: str) -> Whole:
        """Read a page from its Markdown."""
        head, *rest = re.split(r"^## ", text, flags=re.M)
        title, _, body = head.partition("\n")
        parts = [part.strip() for part in body.split("\n\n") if part.strip()]
        facts = [(m[1], m[2]) for part in parts for m in _FACT.finditer(part)]
        lead = [part for part in parts if not _FACT.match(part)]
        sections = []
        for section in rest:
            heading, _, inside = section.partition("\n")
            sections.append(Section(heading.strip(), list(_blocks(inside))))
        return cls(title.removeprefix("# ").strip(), lead, facts, sections)

    @classmethod
    def stored(cls, text: str) -> Whole:
        """Read a page from the JSON that `json` returned."""
        whole = json.loads(text)
        sections = [Section(s["title"], s["blocks"]) for s in whole["sections"]]
        facts = [(name, value) for name, value in whole["facts"]]
        return cls(whole["title"], whole["lead"], facts, sections)

    def json(self) -> str:
        """Return the long page as JSON."""
        whole = {
            "title": self.title,
            "facts": self.facts,
            "lead": self.lead,
            "sections": [{"title": s.title, "blocks": s.blocks} for s in self.sections],
        }
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"

    def tables(self, pattern: str) -> Iterator[tuple[Section, Block]]:
        """Yield each table whose title or section heading matches `pattern`."""
        for section in self.sections:
            for block in section.blocks:
                if "columns" in block and re.search(pattern, f"{section.title} {block['title']}"):
                    yield section, block


def _blocks(text: str) -> Iterator[Block]:
    """Yield texts, tables and figures in their order."""
    title = ""
    for part in re.split(r"\n{2,}", text.strip()):
        lone = _TITLE.fullmatch(part.strip())
        if lone:
            title = lone[1]
        elif part.startswith("|"):
            columns, aligned, *rows = [_cells(line) for line in part.splitlines()]
            right = [mark.endswith(":") for mark in aligned]
            yield {"title": title, "columns": columns, "right": right, "rows": rows}
            title = ""
        elif figure := _FIGURE.fullmatch(part.strip()):
            yield {"title": title or figure[1], "figure": figure[2]}
            title = ""
        elif part.strip():
            yield {"text": f"**{title}**\n\n{part.strip()}" if title else part.strip()}
            title = ""


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line.strip())[1:-1]]


def page(whole: Whole, name: str, judges: Sequence[Judge]) -> str:
    """Return the short page for a long page and its criteria."""
    parts = [f"# {whole.title}", *whole.lead[:1]]
    short = (fact for fact in whole.facts if len(fact[1].split()) <= MAX_FACT_WORDS)
    parts.append("\n".join(f"- **{key}**: {value}" for key, value in short))
    for _, table in itertools.islice(whole.tables(f"^{CLAIMS} "), 1):
        parts += [f"## {CLAIMS}", *_shown(table)]
    if judges:
        parts += ["## Verdict", _counted(judges), _criteria(judges)]
    room = _Room(MAX_WORDS - RESERVED, parts)
    families = list(whole.tables(f"by kind of queue|^{OVERVIEW}"))
    for _, table in families[:1]:
        room.add("", [f"**{table['title']}**", *_shown(table)])
    room.add(f"## {OPENING}", list(_figure(whole)))
    if judges:
        room.add("## Largest errors", list(_worst(whole)))
    shown = {id(table) for _, table in families[:1]}
    # If the experiment has no criteria, the page shows its first sections as the result. Skip the
    # section of the opening figure, which the page already has.
    first = [s for s in whole.sections if s.title != OPENING][:2]
    if judges:
        first = [s for s in whole.sections if s.title == SIDE_BY_SIDE]
    set_up = [s for s in whole.sections if _SET_UP.match(s.title) and s not in first]
    for section in (*first, *set_up):
        room.add_section(section, shown)
    parts += [
        "## All results",
        f"[A separate page]({name}{RESULTS}) shows all results. The command at the top of this "
        f"page writes the same results as a report and as CSV files.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _figure(whole: Whole) -> Iterator[str]:
    """Yield the first figure, then the text after the figure, which is its caption."""
    for section in whole.sections:
        for block, after in itertools.pairwise([*section.blocks, {}]):
            if "figure" in block:
                yield f"![{block['title']}]({block['figure']})"
                if "text" in after and not after["text"].startswith("*"):
                    yield after["text"]
                return


class _Room:
    """Adds texts and tables to a page up to a number of words."""

    def __init__(self, words: int, parts: list[str]) -> None:
        self._words = words
        self._parts = parts

    def add(self, heading: str, texts: Sequence[str]) -> bool:
        """If all texts under a heading fit, add them. Return whether the texts were added."""
        new = [heading, *texts]
        fits = bool(texts) and sum(map(_count, [*self._parts, *new])) <= self._words
        if fits:
            self._parts += new
        return fits

    def add_section(self, section: Section, shown: set[int]) -> None:
        """Add the texts and tables of a section until a text or table does not fit. Shorten tables
        to the rows that fit."""
        heading = f"## {section.title}"
        for before, block in itertools.pairwise([{}, *section.blocks]):
            # Skip the caption of a figure, because the short page has no other figures.
            if "figure" in before:
                continue
            # Skip the line about a table's runs, such as seeds and duration. The page with the
            # complete results contains this line.
            if "text" in block and not block["text"].startswith("*"):
                texts = [block["text"]]
            elif "columns" in block and id(block) not in shown:
                texts = self._table(heading, block)
            else:
                continue
            if not self.add(heading, texts):
                return
            heading = ""

    def _table(self, heading: str, table: Block) -> list[str]:
        """Return a table with the rows that fit, or an empty list if too few rows fit."""
        title = f"**{table['title']}**" if table["title"] else ""
        count = len(table["rows"])
        for rows in range(min(count, LONGEST), min(count, FEWEST) - 1, -1):
            cut = f"The table shows the first {rows} of {count} rows." if rows < count else ""
            texts = [title, cut, *_shown(table, rows)]
            if sum(map(_count, [*self._parts, heading, *texts])) <= self._words:
                return texts
        return []


def _count(text: str) -> int:
    return len(text.split())


def _counted(judges: Sequence[Judge]) -> str:
    """Return a text that says how many criteria are met, how many errors are within their limits,
    and how many values were held out."""
    holding = sum(judge.holds for judge in judges)
    counted = [judge for judge in judges if judge.within is not None]
    within = sum(judge.within or 0 for judge in counted)
    cells = sum(judge.cells for judge in counted)
    held_out = sum(judge.blind for judge in judges)
    count = len(judges)
    words = [f"{holding} of {count} criteria are met."]
    if cells:
        words.append(
            f"Of the {cells} individual errors with a limit, {within} are within their limits."
        )
    words.append(
        f"{held_out} comparisons use held-out values, which nobody looked at until the set-up was "
        f"frozen. A comparison that belongs to several criteria counts once for each criterion."
        if held_out
        else "No published values were held out."
    )
    return " ".join(words)


def _criteria(judges: Sequence[Judge]) -> str:
    lines = [
        "| criterion | limit of the error | comparisons | within the limit | median error | 90th "
        "percentile | held out | met |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for judge in judges:
        cells = (
            judge.title,
            judge.limit,
            str(judge.cells),
            "\u2014" if judge.within is None else str(judge.within),
            size(judge.median, judge.error, ".3g") or "\u2014",
            size(judge.p90, judge.error, ".3g") or "\u2014",
            str(judge.blind),
            "yes" if judge.holds else "**no**",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _worst(whole: Whole) -> Iterator[str]:
    """Yield the largest of the errors that exceed a limit."""
    for section, table in whole.tables(r"^(Errors beyond|Beyond a limit)"):
        if not table["rows"]:
            continue
        count = len(table["rows"])
        yield (
            f"The report (section \u201c{section.title}\u201d) lists {count} errors. "
            f"The table below shows the {WORST} largest errors."
            if count > WORST
            else "The table shows all errors that exceed their limits:"
        )
        yield from _shown(table, WORST)
        return


def _shown(table: Block, rows: int | None = None) -> Iterator[str]:
    """Yield a table in Markdown.

    Leave out empty columns, and columns for which there is no space.
    """
    body = table["rows"][:rows]
    filled = [
        i for i in range(len(table["columns"])) if any(row[i] not in ("", "\u2014") for row in body)
    ]
    kept = filled if len(filled) <= WIDEST + 2 else [*filled[: WIDEST - 1], filled[-1]]
    lines = [_row([table["columns"][i] for i in kept])]
    lines.append("|" + "|".join("--:" if table["right"][i] else "---" for i in kept) + "|")
    lines += [_row([row[i] for i in kept]) for row in body]
    yield "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write(text: str, name: str, judges: Sequence[Judge], folder: Path) -> Path:
    """Write the short page, and the file with the complete results."""
    whole = Whole.parse(text)
    (folder / f"{name}{RESULTS}").write_text(whole.json(), encoding="utf-8")
    target = folder / f"{name}.md"
    target.write_text(page(whole, name, judges), encoding="utf-8")
    return target


def pages(folder: Path) -> dict[Path, str]:
    """Return the short page of each results file in a folder, by path."""
    texts = {}
    for file in sorted(folder.glob(f"*{RESULTS}")):
        name = file.name.removesuffix(RESULTS)
        goals = folder / name / FILE
        judges = from_csv(goals.read_text(encoding="utf-8")) if goals.exists() else []
        whole = Whole.stored(file.read_text(encoding="utf-8"))
        texts[folder / f"{name}.md"] = page(whole, name, judges)
    return texts
