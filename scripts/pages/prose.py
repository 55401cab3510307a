"""Checks that every number in the prose of a page has its source on the page.

The source is a table, or a `console` block with the command that printed the number. Inline code is
a setting or an output, not a claim. Numbers that name something (RFC 9331, Linux 7.3, Figure 5, a
year) are names. Every other number is reported with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = (
    *("RFC", "RFCs", "Linux", "Debian", "Python", "Rust", "Altair", "Figure", "Figures", "Table"),
    *(
        "Tables",
        "Section",
        "Sections",
        "section",
        "Appendix",
        "Algorithm",
        "draft",
        "drafts",
        "version",
    ),
    *("status", "arXiv", "Landlock", "revision", "seed", "option", "kernel", "kernels", "PEP"),
)
"""Words whose number is a name: `RFC 9331`, `exit status 2`."""

_NUMBER = re.compile(r"(?<![\w.,/%:+-])[+\u2212-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/+-]|[.,:]\d)")
_NAMED = re.compile(
    rf"\b(?:{'|'.join(NAMES)}) (?:\d[\w.]*(?:, | and | or | to |/))*[<>=]* ?\d[\w.]*"
    r"|\u00a7 ?\d[\d.]*|\b(?:19|20)\d\d\b(?!\.\d)|\b95 % (?:intervals?|of cases)"
)
_FACT = re.compile(r"(?:- \*\*[^*]+\*\*|\*[^*]+\*): ")
"""What a page or a table rests on, as reports write it: `*runs*: 40, 5 seeds per point`."""
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\]\([^)]*\)|https?://\S+|<[^>]+>")


@dataclass(frozen=True)
class Loose:
    """A number in prose without a source on its page."""

    page: str
    line: int
    number: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.number} stands in no table: {self.text.strip()}"


def loose(page: str, text: str) -> list[Loose]:
    """Return every number of a page's prose that neither its tables nor its commands print."""
    lines = list(_lines(text))
    known = {value for kind, _, line in lines if kind == "table" for value in _values(line)}
    return [
        Loose(page, number, word, line)
        for kind, number, line in lines
        if kind == "prose"
        for word in _words(line)
        if _value(word) not in known
    ]


def _lines(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield lines by kind: a table's or a command's output, or prose; skip code and headings."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = line.strip(" `") if fence is None else None
        elif fence == "console":
            yield "table", number, line
        elif fence is not None or line.startswith(("    ", "#")):
            continue
        elif line.lstrip().startswith("|") or _FACT.match(line):
            yield "table", number, line
        else:
            yield "prose", number, line


def _words(line: str) -> list[str]:
    """The numbers of a line of prose that name nothing and are no code."""
    for pattern in (_CODE, _LINK, _NAMED):
        line = pattern.sub(" ", line)
    line = re.sub(r"^\s*(?:\*\*)?\d+\. ", "", line)
    return _NUMBER.findall(line)


def _values(line: str) -> Iterator[float]:
    """Every number of a table's row, code included."""
    for word in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?", line):
        yield _value(word)


def _value(word: str) -> float:
    """Its size: a sign may be a word in prose."""
    return abs(float(word.replace(",", "").replace("\u2212", "-")))


def check(root: Path) -> list[Loose]:
    """Loose numbers of the README and of every page of docs."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [
        found
        for page in pages
        for found in loose(str(page.relative_to(root)), page.read_text(encoding="utf-8"))
    ]
