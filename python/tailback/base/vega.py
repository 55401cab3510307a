"""Untrusted texts in a specification of Vega-Lite, made safe to draw.

It is a module of its own, so that drawing a figure does not load everything that draws figures.
"""

from __future__ import annotations

from typing import Any

from tailback.base.foreign import shown


def cleaned(part: Any) -> Any:
    """The same with every text such that it can be drawn, and titles plain text on one line.

    XML has no control characters: what draws ends the process if it meets one. Vega-Lite puts
    titles into expressions, for tooltips, and escapes no backslash and no line break there: a title
    could end its own text.
    """
    if isinstance(part, str):
        return part if part.isprintable() else shown(part)
    if isinstance(part, list):
        return [cleaned(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    entries = {cleaned(key): cleaned(inner) for key, inner in part.items()}
    match part.get("title"):
        case str(title):
            entries["title"] = _one_line(title)
        case list(lines):
            entries["title"] = [_one_line(line) for line in lines if isinstance(line, str)]
    return entries


def _one_line(text: str) -> str:
    return " ".join(shown(text).split()).replace("\\", "\N{SET MINUS}")
