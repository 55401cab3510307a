"""Checks that pages with measured numbers state their source.

A number in prose needs no source if a table or `console` block of the page also contains it.
A number in inline code or in a name (RFC 9331, Linux 7.3, Figure 5, a year) needs no source either.
A page with other numbers must name the command that prints them, the date of the measurement, and
the machine or version. Every page of docs/evidence must state its command, date and machine or
version, even if all of its numbers are in tables. Pages of docs/reference contain definitions and
no measurements.
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
"""Words followed by a number that is part of a name: `RFC 9331`, `exit status 2`."""

_NUMBER = re.compile(r"(?<![\w.,/%:+-])[+\u2212-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/+-]|[.,:]\d)")
_NAMED = re.compile(
    rf"\b(?:{'|'.join(NAMES)}) (?:\d[\w.]*(?:, | and | or | to |/))*[<>=]* ?\d[\w.]*"
    r"|\u00a7 ?\d[\d.]*|\b(?:19|20)\d\d\b(?!\.\d)|\b95 % (?:intervals?|of cases)"
)
_FACT = re.compile(r"(?:- \*\*[^*]+\*\*|\*[^*]+\*): ")
"""A fact below a page's title or a table, as in reports: `*runs*: 40, 5 seeds per scenario`."""
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
        return f"{self.page}:{self.line}: {self.number} is in no table: {self.text.strip()}"


def loose(page: str, text: str) -> list[Loose]:
    """Return the numbers in a page's prose that occur in no table or console block of the page."""
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
    """Yield each line, and whether it is prose or data (table, output of a command). Skip code and
    headings."""
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
    """Return the numbers in a line of prose that are not part of names or code."""
    for pattern in (_CODE, _LINK, _NAMED):
        line = pattern.sub(" ", line)
    line = re.sub(r"^\s*(?:\*\*)?\d+\. ", "", line)
    return _NUMBER.findall(line)


def _values(line: str) -> Iterator[float]:
    """Yield every number in a row of a table, including numbers in code."""
    for word in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?", line):
        yield _value(word)


def _value(word: str) -> float:
    """Return the absolute value of a number, because prose may state its sign in words."""
    return abs(float(word.replace(",", "").replace("\u2212", "-")))


DATE = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December) 20\d\d\b|\b20\d\d-\d\d-\d\d\b|\*\*revision\*\*: \w"
    r"|\bof this version\b|\bkeeps\s+it current\b|\| revision \|"
)
"""Patterns that count as a source: a date, a revision, or a test that keeps the number current."""
COMMAND = re.compile(
    r"`(?:tailback[\w-]*|make|python|sh|cargo|\.venv/bin/\w+) [^`]+`|^\$ \w|^- \*\*command\*\*: "
    r"|^```(?:sh|console)\n(?:.*\n)*?(?:\$ )?(?:tailback|make|python|cargo) ",
    flags=re.M,
)
MACHINE = re.compile(r"\b(?:machine|processor|CPU|cores?|engine|simulator)\b")


@dataclass(frozen=True)
class Unsourced:
    """A page that has numbers without a source."""

    page: str
    line: int
    number: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        lacks = ", ".join(self.missing)
        return f"{self.page}:{self.line}: name where {self.number} comes from: {lacks}"


def unsourced(page: str, text: str) -> Unsourced | None:
    """Return the first number of a page that has no source, or None if the page names its
    source."""
    if page.startswith("docs/reference/"):
        return None
    numbers = loose(page, text)
    measures = page.startswith("docs/evidence/") and not page.endswith("/index.md")
    if not numbers and not measures:
        return None
    sources = {"the command": COMMAND, "a date or revision": DATE, "the machine or engine": MACHINE}
    missing = tuple(name for name, pattern in sources.items() if not pattern.search(text))
    if not missing:
        return None
    line, number = (numbers[0].line, numbers[0].number) if numbers else (1, "every number")
    return Unsourced(page, line, number, missing)


def check(root: Path) -> list[Unsourced]:
    """Return the pages of docs, and the README, that have numbers without a source."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    named = ((str(page.relative_to(root)), page.read_text(encoding="utf-8")) for page in pages)
    return [page for name, text in named if (page := unsourced(name, text)) is not None]
