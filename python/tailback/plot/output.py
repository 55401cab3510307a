"""Writes figures as .pdf, .svg, .png, .html or .vl.json, by the ending of the file name."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vl_convert

from tailback.base import folders
from tailback.base.foreign import line
from tailback.errors import InputError
from tailback.plot import style
from tailback.plot.layout import LaidOut, measured, specification
from tailback.store import layout

ON_SCREEN = 1.6
"""The factor by which a page enlarges a figure if it has space, because a screen is further away
from the reader than paper.
"""
PPI = 300.0
"""Resolution of PNG files in pixels per inch, which journals require."""


Writer = Callable[[LaidOut, str], bytes]


def _svg(figure: LaidOut, _title: str) -> bytes:
    return figure.svg.encode()


def _png(figure: LaidOut, _title: str) -> bytes:
    return vl_convert.svg_to_png(figure.svg, scale=72 / style.INCH, ppi=PPI)


def _pdf(figure: LaidOut, _title: str) -> bytes:
    """Return a PDF page of the figure's size, with vector graphics and real text.

    Typst makes the page, because its output contains no date and its pages can have any size.
    """
    import typst

    wide, high = (f"{pixels / style.POINT:.3f}pt" for pixels in measured(figure.svg))
    page = (
        f"#set page(width: {wide}, height: {high}, margin: 0pt)\n"
        "#set document(date: none)\n"
        f'#image("figure.pdf", width: {wide}, height: {high})\n'
    )
    with folders.scratch(Path(tempfile.gettempdir())) as root:
        (root / "page.typ").write_text(page, encoding="utf-8")
        (root / "figure.pdf").write_bytes(vl_convert.svg_to_pdf(figure.svg))
        compiler: Any = typst.compile
        found: bytes = compiler(str(root / "page.typ"), root=str(root), ignore_system_fonts=True)
    return found


def _html(figure: LaidOut, title: str) -> bytes:
    """Return a self-contained web page with the figure and tooltips."""
    from tailback.figures import export

    scripts = [export.javascript(), _START]
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode()}'" for h in hashes)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    spec = json.dumps(specification(figure.chart), separators=(",", ":")).replace("<", "\\u003c")
    return _PAGE.format(
        policy=policy,
        title=html.escape(title),
        width=round(ON_SCREEN * measured(figure.svg)[0]),
        spec=spec,
        library=scripts[0],
        start=scripts[1],
    ).encode()


_START = """\
(function () {
  var spec = JSON.parse(document.getElementById("spec").textContent);
  var options = { actions: { export: true, source: false, compiled: false, editor: false },
                  renderer: "svg", ast: true };
  vegaEmbed("#figure", spec, options).catch(function (error) {
    document.getElementById("figure").textContent = "This figure could not be drawn: " +
      error.message;
  });
})();
"""

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem; font-family: system-ui, sans-serif; }}
h1 {{ font-size: 1.1rem; font-weight: 600; }}
#figure {{ background: white; padding: 0.75rem 2.5rem 0.75rem 0.75rem; box-sizing: border-box;
  width: min(100%, {width}px); }}
#figure svg.marks {{ width: 100%; height: auto; }}
@media (max-width: 40rem) {{ body {{ margin: 0.5rem; }} }}
@media print {{ body {{ margin: 0; }} h1 {{ display: none; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="figure"></div>
<script type="application/json" id="spec">{spec}</script>
<script>{library}</script>
<script>{start}</script>
</body>
</html>
"""


def _json(figure: LaidOut, _title: str) -> bytes:
    return (json.dumps(specification(figure.chart), indent=1) + "\n").encode()


WRITERS: dict[str, Writer] = {
    ".pdf": _pdf,
    ".svg": _svg,
    ".png": _png,
    ".html": _html,
    ".vl.json": _json,
}


def writer(target: Path) -> Writer:
    """Return the function that writes files with this ending."""
    for ending, found in WRITERS.items():
        if target.name.endswith(ending):
            return found
    *most, last = WRITERS
    raise InputError(
        f"--out {line(target)}: expected a name that ends in {', '.join(most)} or {last}"
    )


def save(figure: LaidOut, target: Path, title: str = "") -> Path:
    """Write a figure to a file. If an error occurs, the file does not change."""
    data = writer(target)(figure, title)
    with layout.replacing(target) as part:
        part.write_bytes(data)
    return target
