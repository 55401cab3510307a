"""Extends Sphinx. The extension shows results of experiments as pages with sortable tables. The
extension also removes links to folders of the sources, which the site does not contain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from markdown_it import MarkdownIt
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from pages import ROOT

_LINK = re.compile(r"\[([^\]\n]+)\]\((\.\./[^)#\s]+)\)")
_OPTION = re.compile(r"-{1,2}[\w-]+")
_TABLES = "tailback_results_tables"
_INLINE = MarkdownIt("zero", {"html": False}).enable(["backticks", "emphasis", "escape"])


def without_folders(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace links to folders outside of docs by their text. Keep links to files, which Sphinx
    turns into downloads."""
    page = Path(app.env.doc2path(name))

    def said(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        inside = target.is_relative_to(app.srcdir) or not target.is_relative_to(ROOT)
        return link[0] if inside or not target.is_dir() else link[1]

    source[0] = _LINK.sub(said, source[0])


def whole_options(_: Sphinx, document: nodes.document) -> None:
    """Keep options of commands, such as `--x-scale`, in one line. Without this class, browsers
    break an option at a hyphen."""
    for literal in document.findall(nodes.literal):
        if _OPTION.fullmatch(literal.astext()):
            literal["classes"].append("option-name")


class ResultsTable(nodes.General, nodes.Element):
    """A node for a table of results. The numbers of the table are not in the search index."""


class ResultsTableDirective(Directive):
    """A directive that inserts a table of the current results file. The argument of the directive
    is the number of the table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        tables = self.state.document.settings.env.temp_data[_TABLES]
        return [ResultsTable("", table=tables[int(self.arguments[0])])]


class ResultsParser(MystParser):
    """A parser of `NAME-all.results.json`, which `tailback_studies.reproduction.published`
    writes."""

    supported = ("results",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the results as Markdown with directives in place of their tables."""
        results = json.loads(inputstring)
        tables: list[dict[str, Any]] = []
        text = "\n\n".join(markdown(results, tables))
        document.settings.env.temp_data[_TABLES] = tables
        super().parse(text, document)


def markdown(results: dict[str, Any], tables: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the paragraphs of the page. Directives replace the tables of the page."""
    # Leave the page out of tables of contents and the search. The experiment's page links to this
    # page.
    yield f"---\norphan: true\nnosearch: true\n---\n\n# {results['title']}: all results"
    yield from results["lead"]
    yield "\n".join(f"- **{key}**: {value}" for key, value in results["facts"])
    yield "Click a heading to sort by its column."
    for section in results["sections"]:
        yield f"## {section['title']}"
        for block in section["blocks"]:
            if "columns" in block:
                yield f"```{{results-table}} {len(tables)}\n```"
                tables.append(block)
            elif "figure" in block:
                yield f"![{block['title']}]({block['figure']})"
            else:
                yield block["text"]


def visit_table(translator: HTML5Translator, node: ResultsTable) -> None:
    """Write the table as HTML."""
    translator.body.append(table_html(node["table"]))
    raise nodes.SkipNode


def table_html(table: dict[str, Any]) -> str:
    """Return a table with a heading. The site's script makes the table sortable."""
    classes = [' class="number"' if right else "" for right in table["right"]]
    head = "".join(
        f'<th scope="col"{kind}><button type="button">{_INLINE.renderInline(name) or "&nbsp;"}'
        "</button></th>"
        for name, kind in zip(table["columns"], classes, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{_INLINE.renderInline(cell)}</td>"
            for cell, kind in zip(row, classes, strict=True)
        )
        + "</tr>\n"
        for row in table["rows"]
    )
    title = f"<caption>{escape(table['title'])}</caption>" if table["title"] else ""
    return (
        f'<div class="table-wrapper"><table class="docutils results">{title}\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the parser, the directive and the node of the table."""
    app.connect("source-read", without_folders)
    app.connect("doctree-read", whole_options)
    app.add_source_parser(ResultsParser)
    app.add_node(ResultsTable, html=(visit_table, None))
    app.add_directive("results-table", ResultsTableDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
