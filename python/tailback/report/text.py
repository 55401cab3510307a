"""Formats texts and numbers in reports.

There are two kinds of text. Trusted text comes from tailback itself, and may contain `code`,
**bold** and [links](url). Data, such as names and labels from files, is printed literally. Use
`plain` or `code` to put data into trusted text.
"""

from __future__ import annotations

import html
import re

from tailback.base.foreign import shown
from tailback.report.model import Column, Mark, Value

MISSING = "\u2014"

_SPECIAL = r"[\\`*\[\]<]"
_ESCAPED = re.compile(rf"\\({_SPECIAL})")
_TOKEN = re.compile(
    rf"\\(?P<escaped>{_SPECIAL})"
    r"|`(?P<code>[^`]+)`"
    r"|\*\*(?P<bold>(?:\\.|[^*`\\])+)\*\*"
    r"|\[(?P<words>(?:\\.|[^\]`\\])+)\]\((?P<to>[^)\s]+)\)"
)
_KEPT = r"\.\./\.\./runs/[0-9a-f]{20}/programs/[\w./@+~=-]+\.(?:txt|log|csv|json|s?qlog)$"
_LINK = re.compile(rf"(https?://|#|{_KEPT})")
"""Matches the allowed targets of links. A browser does not execute code from these targets. A local
file is allowed only if a program of a run wrote it and a browser shows it as text.
"""


def plain(text: object) -> str:
    """Escape data for use in trusted text or Markdown.

    The result is one line without characters that Markdown would interpret.
    """
    return re.sub(_SPECIAL, r"\\\g<0>", _one_line(text))


def code(text: object) -> str:
    """Return data as `code` in trusted text."""
    return f"`{_one_line(text).replace('`', chr(39))}`"


def shown_lines(text: str) -> str:
    """Return lines of data with control characters escaped."""
    return "\n".join(shown(line) for line in text.rstrip().split("\n"))


def _one_line(text: object) -> str:
    return shown(" ".join(str(text).split()))


def pieces(text: str) -> list[list[str]]:
    """Split a paragraph of trusted text into pieces. Each piece has a kind (text, code, bold,
    link), its text, and the target of a link.
    """
    out: list[list[str]] = []
    at = 0

    def letters(found: str) -> None:
        if out and out[-1][0] == "text":
            out[-1][1] += found
        elif found:
            out.append(["text", found])

    for match in _TOKEN.finditer(text):
        letters(text[at : match.start()])
        at = match.end()
        if match["escaped"]:
            letters(match["escaped"])
        elif match["code"]:
            out.append(["code", match["code"]])
        elif match["bold"]:
            out.append(["bold", _ESCAPED.sub(r"\1", match["bold"])])
        elif _LINK.match(match["to"]):
            out.append(["link", _ESCAPED.sub(r"\1", match["words"]), match["to"]])
        else:
            letters(_ESCAPED.sub(r"\1", match["words"]))
    letters(text[at:])
    return out


_HTML = {
    "text": "{0}",
    "code": "<code>{0}</code>",
    "bold": "<strong>{0}</strong>",
    "link": '<a href="{1}">{0}</a>',
}


def inline_html(text: str) -> str:
    """Return a paragraph of trusted text as escaped HTML."""
    return "".join(_HTML[kind].format(*map(html.escape, rest)) for kind, *rest in pieces(text))


def paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs, each on one line."""
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text.strip()) if p.strip()]


def show(value: Value, column: Column) -> str:
    """Format a value as its column requires."""
    if value is None:
        return MISSING
    if isinstance(value, Mark):
        return value.text
    if isinstance(value, str):
        return value
    if column.format:
        return format(value, column.format)
    return str(value)


def is_words(value: Value, column: Column) -> bool:
    """Return whether a cell contains trusted text."""
    return column.words and isinstance(value, str)
