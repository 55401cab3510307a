"""Escapes untrusted text in a Vega-Lite specification.

The process that draws a figure imports this module, but none of the modules that build figures.
"""

from __future__ import annotations

from typing import Any

from tailback.base.foreign import shown


def cleaned(part: Any) -> Any:
    """Return the specification with control characters escaped, and titles as plain text on one
    line.

    XML does not allow control characters, so the drawing process would end with an error. Vega-Lite
    puts titles into expressions for tooltips. Vega-Lite does not escape backslashes and line breaks
    in titles, so a title could end the string literal and inject code."""
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
