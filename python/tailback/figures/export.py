"""Writes figures to files: Vega-Lite's JSON, SVG, PNG, PDF, and the JavaScript that draws them
offline."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt

from tailback.base.vega import cleaned
from tailback.figures.theme import MAX_ROWS, theme
from tailback.store import layout

VEGA_LITE = ".".join(alt.VEGALITE_VERSION.split(".")[:2])


def spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification, including tailback's style for figures.

    Raises `altair.MaxRowsError` if a dataset has more than `MAX_ROWS` rows.
    """
    with alt.data_transformers.enable("default", max_rows=MAX_ROWS):
        # Skip Altair's check of the whole specification, because the check takes as long as all
        # other work together. Altair and Vega also report errors of a chart when it is built
        # and drawn.
        options: dict[str, Any] = (
            {"validate": False} if isinstance(chart, alt.TopLevelMixin) else {}
        )
        made: dict[str, Any] = chart.to_dict(**options)
    # A report's figures always use tailback's style, even if the caller's notebook has enabled a
    # theme.
    made["config"] = theme()["config"]
    drawable: dict[str, Any] = cleaned(made)
    return drawable


def _drawer() -> Any:
    """Return the drawing library. A report that takes all figures from the cache does not load this
    library."""
    import vl_convert

    return vl_convert


def svg(made: dict[str, Any]) -> str:
    return svg_of(json.dumps(made))


def svg_of(text: str) -> str:
    return numbered(_drawer().vegalite_to_svg(text, vl_version=VEGA_LITE))


def numbered(drawn: str) -> str:
    """Renumber the gradients and clip paths of an SVG from 0. Vega continues the numbering of the
    figure that it drew before.
    """
    first: dict[str, int] = {}
    for kind, number in _MADE.findall(drawn):
        first[kind] = min(int(number), first.get(kind, int(number)))
    if not any(first.values()):
        return drawn
    return _NAMED.sub(lambda m: f"{m[1]}{m[2]}{int(m[3]) - first.get(m[2], 0)}{m[4]}", drawn)


_MADE = re.compile(r'<(?:linearGradient|radialGradient|clipPath) id="(gradient_|clip)(\d+)"')
_NAMED = re.compile(r'((?: id="|"url\(#))(gradient_|clip)(\d+)(\)?")')


def pdf(made: dict[str, Any]) -> bytes:
    found: bytes = _drawer().vegalite_to_pdf(json.dumps(made), vl_version=VEGA_LITE)
    return found


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, which defines `vegaEmbed` and downloads
    nothing.

    Building the script takes seconds, so it is kept in the user's cache folder if that folder is
    writable.
    """
    kept = cache_folder() / f"vega-embed-{version('vl-convert-python')}-vl{VEGA_LITE}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:
        pass
    # A <script> element ends at the first "</script", even inside a string.
    made = _drawer().javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    bundle = str(made).replace("</script", "<\\/script")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with layout.replacing(kept) as part:
            part.write_text(bundle, encoding="utf-8")
    except OSError:
        pass
    return bundle


def cache_folder() -> Path:
    """Return tailback's folder in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "tailback"
