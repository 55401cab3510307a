"""Configures the documentation site. `make docs` builds it into build/docs from the files in this
folder."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

import tailback  # noqa: E402

project = "tailback"
author = "the tailback authors"
release = version = tailback.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "pages.site",
    "pages.reports",
    "pages.verdicts",
]
source_suffix = {".md": "markdown", ".results.json": "results"}
root_doc = "index"
nitpicky = True
show_warning_types = True
# The build works offline, so it cannot link to other projects' documentation (intersphinx). Ignore
# references to names of other projects. Also ignore references to tailback's classes by module,
# because pages list them under their public names.
nitpick_ignore_regex = [
    ("py:.*", r"(?!tailback\.)\w+(\.\w+)*"),
    ("py:.*", r"tailback\.[a-z_.]+\.[A-Z]\w+"),
]

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88
# Text in single backticks in docstrings and help is code, and two hyphens are not a dash.
default_role = "code"
smartquotes = False

html_theme = "furo"
html_title = "tailback"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
html_copy_source = False
html_show_copyright = False
# The search shows no excerpts, because a page opened with file:// cannot fetch other pages.
html_show_search_summary = False
html_show_sourcelink = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#1a5fb4", "color-brand-content": "#1a5fb4"},
    "dark_css_variables": {"color-brand-primary": "#8ab8ff", "color-brand-content": "#8ab8ff"},
}
# A block without a language is plain text.
highlight_language = "text"
pygments_style = "tango"
pygments_dark_style = "github-dark"
