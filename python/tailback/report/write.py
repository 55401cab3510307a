"""Writes a report: index.html, which opens without a network, report.md, cells.csv, figures/*.svg,
and report.pdf if requested.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from tailback.base import folders
from tailback.base.foreign import shown
from tailback.figures import drawing, export, kept
from tailback.figures.interactive import interactive
from tailback.figures.theme import DARK
from tailback.report.model import (
    Listing,
    Mark,
    Report,
    ReportFigure,
    Section,
    Table,
    TableCell,
    Text,
)
from tailback.report.rerun import FILE as LAB
from tailback.report.rerun import Links
from tailback.report.tables import labels
from tailback.report.text import inline_html, is_words, paragraphs, plain, show, shown_lines
from tailback.store import layout, marker

_PDF: ContextVar[bool] = ContextVar("pdf", default=False)


@contextmanager
def also_pdf(wanted: bool = True) -> Iterator[None]:
    """Also write a PDF of every report that is written within the `with` block."""
    token = _PDF.set(wanted)
    try:
        yield
    finally:
        _PDF.reset(token)


def write(
    report: Report,
    folder: Path,
    *,
    pdf: bool | None = None,
    jobs: int | None = None,
    lab: bool | None = None,
) -> Path:
    """Write the report into `folder`, and remove the files of an older report from that folder.

    The files are written beside the folder and moved into it at the end, so that a report is either
    complete or absent. The files are not synced to the disk, because the report can be made from
    the runs again after a power failure. `pdf` decides whether to write report.pdf (default: only
    within `also_pdf`). `jobs` is the number of processes that draw (default: one for each core).
    With `lab`, figures of the simulator link to the laboratory, and the laboratory's page is added
    to the report. The default of `lab` is true if the laboratory's page is built, except within
    `without_lab`. Returns the path of index.html.

    Raises `InputError` if the folder contains files that do not belong to an older report.
    """
    folder = Path(folder)
    # Check the folder before the work, and again before replacing it.
    marker.require_own(folder)
    links = Links(lab)
    with drawing.drawing(jobs) as drawn:
        specs, texts, svgs = {}, {}, {}
        for figure in report.figures():
            specs[figure.id] = export.spec(figure.chart)
            texts[figure.id] = json.dumps(specs[figure.id])
            if (before := kept.get(texts[figure.id])) is None:
                drawn.add(figure.id, texts[figure.id])
            else:
                svgs[figure.id] = before
        page = to_html(report, specs, links)
        new = drawn.svgs()
    for name, svg in new.items():
        kept.put(texts[name], svg)
    if new:
        kept.trim()
    svgs |= new
    folder.parent.mkdir(parents=True, exist_ok=True)
    with layout.naming(folder), folders.scratch(folder.parent) as scratch:
        temporary = scratch / "new"
        figures = temporary / "figures"
        figures.mkdir(parents=True)
        for name, text in texts.items():
            (figures / f"{name}.svg").write_text(svgs[name], encoding="utf-8")
            (figures / f"{name}.vl.json").write_text(text, encoding="utf-8")
        (temporary / "index.html").write_text(page, encoding="utf-8")
        (temporary / "report.md").write_text(to_markdown(report), encoding="utf-8")
        cells = {"cells.csv": to_csv(report.cells)} if report.cells else {}
        for name, text in {**cells, **report.files}.items():
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if _PDF.get() if pdf is None else pdf:
            from tailback.report.pdf import to_pdf

            (temporary / "report.pdf").write_bytes(to_pdf(report, svgs))
        if links.page is not None:
            shutil.copyfile(links.page, temporary / LAB)
        marker.write(temporary, folder.name)
        _replace(temporary, folder, scratch / "old")
    return folder / "index.html"


def _replace(new: Path, folder: Path, old: Path) -> None:
    """Move `new` to `folder`, and the existing folder to `old`.

    A folder cannot be replaced in one step, so the old folder is moved aside first. For a moment,
    other processes find no report.
    """
    if marker.require_own(folder):
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        if old.exists():
            os.rename(old, folder)
        raise


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tailback.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # `Markup` is trusted or already escaped. Escape only plain `str`.
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    return environment.get_template("report.html")


def to_html(
    report: Report, specs: dict[str, dict[str, Any]] | None = None, links: Links | None = None
) -> str:
    """Return the report as one self-contained HTML file.

    With `links`, figures link to the laboratory's page in the same folder.
    """
    links = links or Links(wanted=False)
    if specs is None:
        specs = {figure.id: export.spec(figure.chart) for figure in report.figures()}
    scripts = [export.javascript(), _script("report.js")] if specs else []
    if any(isinstance(block, Table) for part in report.sections for block in part.blocks):
        scripts.append(_script("tables.js"))
    common = report.common()
    opening = report.opening()
    sections = [_section(section, common, opening, links) for section in report.sections]
    return _template().render(
        report=report,
        lead=inline_html(report.lead),
        policy=_policy(scripts),
        dark=DARK,
        scripts=scripts,
        opening=opening and _figure(opening, common, links),
        sections=[section for section in sections if section["blocks"]],
        specs=_script_json({name: interactive(spec) for name, spec in specs.items()}),
    )


@cache
def _script(name: str) -> str:
    return (files("tailback.report") / "templates" / name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of the page. The policy allows only these scripts, and no
    downloads.

    Styles are allowed, because Vega and its menu set styles when they draw. A style cannot execute
    code, and the policy does not allow it to load a file.
    """
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode()}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed or chr(39) + 'none' + chr(39)}; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _script_json(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _section(
    section: Section, common: Mapping[str, str], opening: ReportFigure | None, links: Links
) -> dict[str, Any]:
    """Return a section as the HTML template needs it. The figure at the top of the page is left
    out."""
    blocks: list[dict[str, Any]] = []
    for block in section.blocks:
        if isinstance(block, Listing):
            blocks.append({"kind": "listing", "lines": shown_lines(block.text)})
        elif isinstance(block, Text):
            made = [inline_html(p) for p in paragraphs(block.text)]
            blocks.append({"kind": "text", "paragraphs": made})
        elif isinstance(block, Table):
            blocks.append({"kind": "table", **_table(block, common)})
        elif block is not opening:
            blocks.append(_figure(block, common, links))
    return {"id": section.id, "title": section.title, "blocks": blocks}


def _figure(figure: ReportFigure, common: Mapping[str, str], links: Links) -> dict[str, Any]:
    return {
        "kind": "figure",
        "id": figure.id,
        "title": figure.title,
        "caption": inline_html(figure.caption),
        "reruns": links.of(figure.facts.reruns),
        "facts": figure.facts.lines(common),
    }


def _table(table: Table, common: Mapping[str, str]) -> dict[str, Any]:
    rows = []
    for row in table.rows:
        cells = []
        for value, column in zip(row, table.columns, strict=True):
            text = show(value, column)
            made = inline_html(text) if is_words(value, column) else html.escape(shown(text))
            status = value.status if isinstance(value, Mark) else ""
            # Do not break a line between a number and its percent sign.
            made = made.replace(" %", "\u00a0%")
            cells.append({"html": made, "align": column.align, "status": status})
        rows.append(cells)
    return {
        "id": table.id,
        "title": table.title,
        "columns": table.columns,
        "labels": labels(table),
        "rows": rows,
        "caption": inline_html(table.caption),
        "facts": table.facts.lines(common),
    }


def to_markdown(report: Report) -> str:
    """Return the report as Markdown. The Markdown refers to the figures as SVG files."""
    out = [f"# {plain(report.title)}", "", report.lead, ""]
    common = report.common()
    out += [f"- **{plain(label)}**: {plain(text)}" for label, text in report.head()]
    for section in report.sections:
        out += ["", f"## {plain(section.title)}"]
        for block in section.blocks:
            out.append("")
            if isinstance(block, Listing):
                lines = shown_lines(block.text).replace("```", "'''")
                out.append(f"```\n{lines}\n```")
                continue
            if isinstance(block, Text):
                out.append("\n\n".join(paragraphs(block.text)))
                continue
            if isinstance(block, ReportFigure):
                title = plain(block.title)
                out += [f"**{title}**", "", f"![{title}](figures/{block.id}.svg)", ""]
            else:
                out += [f"**{plain(block.title)}**", "", *_markdown_table(block), ""]
            if block.caption:
                out += [block.caption, ""]
            out += [f"*{label}*: {plain(text)}  " for label, text in block.facts.lines(common)]
    return "\n".join(out).rstrip() + "\n"


def _markdown_table(table: Table) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"

    titles = [plain(f"{c.title} ({c.unit})" if c.unit else c.title) for c in table.columns]
    rule = ["---:" if c.align == "right" else "---" for c in table.columns]
    rows = [
        [
            show(value, column) if is_words(value, column) else plain(show(value, column))
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    return [line(titles), line(rule), *(line(r) for r in rows)]


def to_csv(cells: tuple[TableCell, ...] | list[TableCell] | Any) -> str:
    """Return the cells as CSV. Numbers are not rounded, and missing values are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "id",
            "quantity",
            "unit",
            "published",
            "measured",
            "error",
            "n",
            "ci95",
            "tolerance",
            "status",
            "note",
        ]
    )
    for c in cells:
        numbers = [c.published, c.measured, c.error, c.n, c.ci95, c.tolerance]
        texts = ["" if v is None else repr(v) for v in numbers]
        writer.writerow([c.id, c.quantity, c.unit, *texts, c.status, c.note])
    return out.getvalue()
