"""Words and numbers as the writers need them."""

from __future__ import annotations

import html
import re

from tailback.report.model import Column, Mark, Value

MISSING = "\u2014"
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_EITHER = re.compile(r"\*\*(?P<bold>[^*]+)\*\*|\[(?P<words>[^\]]+)\]\((?P<to>[^)\s]+)\)")


def inline_html(text: str) -> str:
    """One paragraph of the report's small Markdown as HTML; everything else is escaped."""
    pieces = _CODE.split(text)
    out: list[str] = []
    for i, piece in enumerate(pieces):
        safe = html.escape(piece)
        if i % 2:
            out.append(f"<code>{safe}</code>")
        else:
            safe = _BOLD.sub(r"<strong>\1</strong>", safe)
            out.append(_LINK.sub(r'<a href="\2">\1</a>', safe))
    return "".join(out)


def pieces(text: str) -> list[list[str]]:
    """The same paragraph as runs of letters: what they are (text, code, bold, link), the letters,
    and where a link leads."""
    out: list[list[str]] = []
    for i, piece in enumerate(_CODE.split(text)):
        if i % 2:
            out.append(["code", piece])
            continue
        at = 0
        for match in _EITHER.finditer(piece):
            out.append(["text", piece[at : match.start()]])
            if match["bold"]:
                out.append(["bold", match["bold"]])
            else:
                out.append(["link", match["words"], match["to"]])
            at = match.end()
        out.append(["text", piece[at:]])
    return [run for run in out if run[1]]


def paragraphs(text: str) -> list[str]:
    """Paragraphs of a text, lines joined."""
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text.strip()) if p.strip()]


def show(value: Value, column: Column) -> str:
    """A value as text."""
    if value is None:
        return MISSING
    if isinstance(value, Mark):
        return value.text
    if isinstance(value, str):
        return value
    if column.format:
        return format(value, column.format)
    return str(value)
