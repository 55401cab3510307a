"""Untrusted texts in a specification of Vega-Lite, made safe to draw.

It is a module of its own, so that drawing a figure does not load the modules that build figures.
"""

from __future__ import annotations

from typing import Any

from tailback.base.foreign import shown


def cleaned(part: Any) -> Any:
    """Return the specification with every text safe to draw, and titles as plain text on one line.

    XML has no control characters: the process that draws ends if it gets one. Vega-Lite puts
    titles into expressions, for tooltips, and escapes neither a backslash nor a line break there: a
    title could end its own string.
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
