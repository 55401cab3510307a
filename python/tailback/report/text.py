"""Words and numbers as the writers need them."""

from __future__ import annotations

import html
import re

from tailback.report.model import Column, Mark, Value

MISSING = "\u2014"
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


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
