"""What the site adds to Sphinx: links to folders of the sources, which it does not have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from pages import ROOT

_LINK = re.compile(r"\[([^\]\n]+)\]\((\.\./[^)#\s]+)\)")


def without_folders(app: Sphinx, name: str, source: list[str]) -> None:
    """Leaves of a link to a folder outside of docs what it says. Files there become downloads."""
    page = Path(app.env.doc2path(name))

    def said(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        inside = target.is_relative_to(app.srcdir) or not target.is_relative_to(ROOT)
        return link[0] if inside or not target.is_dir() else link[1]

    source[0] = _LINK.sub(said, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers it."""
    app.connect("source-read", without_folders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
