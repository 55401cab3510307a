"""Extends Sphinx: shows the verdicts of the league as sortable tables, with links to scenarios.

The directive `verdicts` takes an algorithm in the syntax of `tailback evaluate`. The directive
shows a table of the algorithm's verdicts, with a row for each section of the standard. If the
argument is a suite (`cc`, `queue`), the directive shows a matrix of sections and algorithms."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

from pages import EVIDENCE, ROOT
from pages.league import DATA, FOLDER, KINDS, MARKS, League, Row, Subject
from tailback.base.numbers import short
from tailback.evaluate import by_packets, cc
from tailback.evaluate.program import PREFIX, ProgramSubject

SCENARIOS = ROOT / "python/tailback/evaluate"
"""The folder of the suites, each with a folder `scenarios`."""

REFERENCE = "reference/evaluation"
"""The page that lists the sections."""


class VerdictsTable(nodes.General, nodes.Element):
    """A node for a table of verdicts. The numbers of the table are not in the search index."""


class VerdictsDirective(Directive):
    """The directive `verdicts`."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the table, and register the scenarios as downloads."""
        env = self.state.document.settings.env
        env.note_dependency(str(EVIDENCE / DATA))
        league = League.read(EVIDENCE)
        wanted = self.arguments[0]
        if wanted in KINDS:
            return [VerdictsTable("", suite=wanted, subjects=league.of(wanted))]
        [subject] = [one for one in league.subjects if one.name == wanted]
        return [VerdictsTable("", subject=subject, downloads=downloads(env, subject))]


def downloads(env: BuildEnvironment, subject: Subject) -> dict[str, str]:
    """Register the scenarios of an algorithm's sections as downloads of the current page. Return
    the path of each scenario, relative to the folder of downloads, by name."""
    folder = SCENARIOS / subject.suite / "scenarios"
    if subject.is_stack:
        folder = scenarios_of_stack(folder, subject, Path(env.doctreedir).parent / "stacks")
    found = {}
    for name in {row.data["scenario"] for row in subject.rows if row.data["scenario"]}:
        source = os.path.relpath(folder / name, env.srcdir)
        found[name] = Path(env.dlfiles.add_file(env.docname, source)).as_posix()
    return found


def scenarios_of_stack(folder: Path, subject: Subject, parent: Path) -> Path:
    """Write the scenarios of a stack's sections, with the stack in place of the tested algorithm's
    flows. Return the folder of the scenarios."""
    file = subject.name.removeprefix(PREFIX)
    [entry] = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["programs"]
    made = parent / subject.slug
    made.mkdir(parents=True, exist_ok=True)
    for criterion in (*cc.CRITERIA, *cc.ASKED):
        if criterion.scenario:
            adapted = by_packets.adapted(criterion)
            text = (
                adapted.scenario_text(folder, ProgramSubject(file, entry))
                if isinstance(adapted, by_packets.ByPackets)
                else (folder / criterion.scenario).read_text(encoding="utf-8")
            )
            (made / criterion.scenario).write_text(text, encoding="utf-8")
    return made


def visit_table(translator: HTML5Translator, node: VerdictsTable) -> None:
    """Write the table as HTML."""
    builder: Any = translator.builder
    page = builder.current_docname

    def link(target: str) -> str:
        return str(builder.get_relative_uri(page, target))

    if "suite" in node:
        html = matrix_html(node["subjects"], link)
    else:
        paths = {name: f"{builder.dlpath}/{path}" for name, path in node["downloads"].items()}
        html = sections_html(node["subject"], paths)
    translator.body.append(html)
    raise nodes.SkipNode


def anchor(section: str) -> str:
    """Return the id of a section's row on the page of an algorithm."""
    return f"section-{section.replace('.', '-')}"


def matrix_html(subjects: list[Subject], link: Any) -> str:
    """Return the matrix of a suite: a row for each section, a column for each algorithm. `link`
    returns the address of a page."""
    heads = [("section", "", ""), *((one.short, "number", one.title) for one in subjects)]
    rows = []
    for number, sections in enumerate(zip(*(one.rows for one in subjects), strict=True)):
        if not any(row.data["scenario"] for row in sections):
            continue
        first = sections[0]
        cells = [
            f'<th scope="row" data-value="{number}"><a href="{link(REFERENCE)}">'
            f"{escape(first.id)}</a> {escape(first.data['title'])}</th>"
        ]
        for subject, row in zip(subjects, sections, strict=True):
            target = f"{link(f'evidence/{FOLDER}/{subject.slug}')}#{anchor(row.id)}"
            cells.append(matrix_cell(row, target))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return table_html("verdicts matrix", heads, rows)


def matrix_cell(row: Row, target: str) -> str:
    """Return a cell of the matrix: a link with the symbol of the verdict and the measured
    number."""
    sign = MARKS.get(row.verdict, row.verdict)
    value = short(row.data["value"], 2)
    text = f"{sign} {value}" if row.data["value"] is not None else sign
    known = (f"{row.verdict}: {row.number}", row.limit)
    parts = known if row.data["value"] is not None else (row.verdict, row.data["note"])
    says = ", ".join(part for part in parts if part)
    return (
        f'<td class="number {look(row)}"{sort_key(row)}>'
        f'<a href="{escape(target)}" title="{escape(says)}">{escape(text)}</a></td>'
    )


def look(row: Row) -> str:
    """Return the CSS class of a verdict."""
    return "bad" if row.is_bad else "good" if row.is_asked else "not-asked"


def sort_key(row: Row) -> str:
    """Return the HTML attribute by which the site's script sorts a column. The attribute contains
    the measured value divided by its bound."""
    return ' data-value=""' if row.ratio is None else f' data-value="{row.ratio:.6g}"'


def sections_html(subject: Subject, downloads: dict[str, str]) -> str:
    """Return an algorithm's table, with a row for each section that has scenarios."""
    heads = [
        ("section", "", ""),
        ("verdict", "", ""),
        ("value [95 %]", "number", ""),
        ("what decided", "", ""),
        ("scenario and seeds", "", ""),
    ]
    rows = [
        f'<tr id="{anchor(row.id)}">{"".join(section_cells(number, row, downloads))}</tr>'
        for number, row in enumerate(subject.rows)
        if not row.is_text_only
    ]
    return table_html("verdicts", heads, rows)


def section_cells(number: int, row: Row, downloads: dict[str, str]) -> Iterator[str]:
    """Yield the cells of a section."""
    data = row.data
    title = f"<b>{escape(row.id)}</b> {escape(data['title'])}"
    yield f'<th scope="row" data-value="{number}">{title}</th>'
    verdict = escape(row.verdict)
    if not row.is_asked:
        verdict += ", no requirement without ECT(1)"
    yield f'<td class="{look(row)}">{verdict}</td>'
    limit = f"<br>{escape(row.limit)}" if row.limit else ""
    yield f'<td class="number"{sort_key(row)}>{escape(row.number)}{limit}</td>'
    says = [escape(text) for text in (data["measure"], data["note"]) if text]
    yield f"<td>{'<br>'.join(says)}</td>"
    file = data["scenario"]
    link = f'<a download href="{escape(downloads[file])}">{escape(file)}</a>' if file else "–"
    command = (
        f"<details><summary>command</summary><code>{escape(data['command'])}</code></details>"
        if data["command"]
        else ""
    )
    seeds = "" if data["seeds"] is None else f"<br>seeds 1 to {data['seeds']}"
    yield f"<td>{link}{seeds}{command}</td>"


def table_html(kind: str, heads: list[tuple[str, str, str]], rows: list[str]) -> str:
    """Return a sortable table. A column's head is a text, a CSS class and a tooltip."""
    head = "".join(
        f'<th scope="col"{f" class={name!r}" if name else ""}>'
        f'<button type="button"{f" title={escape(title)!r}" if title else ""}>{escape(text)}'
        "</button></th>"
        for text, name, title in heads
    )
    body = "\n".join(rows)
    return (
        f'<div class="table-wrapper"><table class="docutils results {kind}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and its node."""
    app.add_node(VerdictsTable, html=(visit_table, None))
    app.add_directive("verdicts", VerdictsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
