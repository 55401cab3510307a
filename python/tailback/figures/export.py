"""Figures as files: Vega-Lite's JSON, SVG, PNG, PDF, and the JavaScript that draws them offline."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from tailback import store
from tailback.figures.theme import MAX_ROWS, theme
from tailback.foreign import shown

_VL = ".".join(alt.VEGALITE_VERSION.split(".")[:2])


def spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite specification, house style included.

    Raises `altair.MaxRowsError` if a dataset has more than `MAX_ROWS` rows.
    """
    with alt.data_transformers.enable("default", max_rows=MAX_ROWS):
        made: dict[str, Any] = chart.to_dict()
    # Whatever theme the caller's notebook has enabled, a report's figures are in the house style.
    made["config"] = theme()["config"]
    shown_: dict[str, Any] = cleaned(made)
    return shown_


def cleaned(part: Any) -> Any:
    """The same with every text such that it can be drawn, and titles plain text on one line.

    XML has no control characters: what draws ends the process if it meets one. Vega-Lite puts
    titles into expressions, for tooltips, and escapes no backslash and no line break there: a title
    could end the text it stands in.
    """
    if isinstance(part, str):
        return part if part.isprintable() else shown(part)
    if isinstance(part, list):
        return [cleaned(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    made = {cleaned(key): cleaned(inner) for key, inner in part.items()}
    match part.get("title"):
        case str(title):
            made["title"] = _one_line(title)
        case list(lines):
            made["title"] = [_one_line(line) for line in lines if isinstance(line, str)]
    return made


def _one_line(text: str) -> str:
    return " ".join(shown(text).split()).replace("\\", "\N{SET MINUS}")


def svg(made: dict[str, Any]) -> str:
    """The figure as SVG."""
    return vl_convert.vegalite_to_svg(json.dumps(made), vl_version=_VL)


def png(made: dict[str, Any], scale: float = 2.0) -> bytes:
    """The figure as PNG."""
    return vl_convert.vegalite_to_png(json.dumps(made), vl_version=_VL, scale=scale)


def pdf(made: dict[str, Any]) -> bytes:
    """The figure as PDF."""
    return vl_convert.vegalite_to_pdf(json.dumps(made), vl_version=_VL)


@cache
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed in one script that downloads nothing; defines `vegaEmbed`.

    Making it takes seconds, so it is kept in the user's cache folder where that can be written.
    """
    kept = _cache_folder() / f"vega-embed-{version('vl-convert-python')}-vl{_VL}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:
        pass
    # Inside <script> the parser ends at the first "</script", wherever it stands.
    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VL)
    bundle = str(made).replace("</script", "<\\/script")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with store.replacing(kept) as part:
            part.write_text(bundle, encoding="utf-8")
    except OSError:
        pass
    return bundle


def _cache_folder() -> Path:
    """Where a program may keep what it can make again (XDG)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "tailback"
