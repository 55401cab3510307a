"""Publishes the reports of experiments in the site. `tailback reproduce` writes the reports to
`results/reports` before the site is built."""

from __future__ import annotations

import shutil
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from pages import ROOT
from tailback_studies import experiments

STORED = ROOT / "results" / "reports"
"""The folder of reports, if `tailback reproduce` ran in the root of the checkout."""

SITE = "reports"
"""The folder of reports in the site."""

PUBLISHED = ("index.html", "report.pdf", "*.csv")
"""The files of a report that readers of the site need. The HTML page contains its figures."""


class ReportsDirective(Directive):
    """The directive that lists the experiments. For each experiment, the directive shows a link to
    the report, or the command that makes the report.
    """

    def run(self) -> list[nodes.Node]:
        """Return the list, in the order of the registry."""
        self.state.document.settings.env.note_reread()
        items = "".join(f"<li>{item(name, STORED)}</li>\n" for name in experiments.NAMES)
        return [nodes.raw("", f"<ul>\n{items}</ul>\n", format="html")]


def item(name: str, stored: Path) -> str:
    """Return the item of an experiment in the list."""
    title = escape(experiments.get(name).title)
    if (stored / name / "index.html").exists():
        return f'<a href="../{SITE}/{name}/index.html">{title}</a>'
    engine = " --engine kernel" if experiments.get(name).needs_kernel else ""
    return f"{title}: run <code>tailback reproduce {name}{engine}</code>"


def publish(app: Sphinx, failed: Exception | None) -> None:
    """Copy the reports to the folder of the built pages, after the pages are written."""
    if failed is not None or app.builder.format != "html":
        return
    for name in experiments.NAMES:
        copy(STORED / name, app.outdir / SITE / name)


def copy(report: Path, folder: Path) -> None:
    """Copy a report if it exists. Skip unchanged files."""
    for pattern in PUBLISHED:
        for file in report.glob(pattern):
            target = folder / file.name
            if not target.exists() or target.stat().st_mtime < file.stat().st_mtime:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the function that copies reports."""
    app.add_directive("reports", ReportsDirective)
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
