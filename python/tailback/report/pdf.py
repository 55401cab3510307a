"""Writes a report as PDF: A4, numbered figures and pages, everything that the page has.

Typst sets it, with the fonts of its own wheel, so that it breaks lines alike on every machine.
Figures are vector graphics.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import typst
import vl_convert

from tailback import folders
from tailback.figures import export
from tailback.report.model import Figure, Mark, Report, Table, Text
from tailback.report.text import paragraphs, pieces, show

PAGE_WIDTH = 482.0
"""What A4 leaves between margins of 2 cm, points."""
PAGE_HEIGHT = 600.0
"""Largest height of a figure: caption and heading have to fit on its page too, points."""
PIXEL = 0.75
"""Of CSS, in points."""
CELL = 8.0
"""Size of a table's letters, points; small enough for the widest table down to half of it."""
SMALLEST = 4.5
ADVANCE = 0.52
"""Mean width of a letter, in sizes of it."""
PADDING = 8.0
"""Space beside a table's column, points."""
WORDY = 24
"""Texts longer than this are broken into lines, in columns that stand left."""

_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"', re.DOTALL)


def to_pdf(report: Report, svgs: Mapping[str, str] | None = None) -> bytes:
    """The report as PDF; `svgs` are its figures by id, if they have been made already."""
    return _compile(report, svgs, "pdf")[0]


def to_pages(report: Report, ppi: float = 80.0) -> list[bytes]:
    """The same pages as PNG, for those who want to look at them."""
    return _compile(report, None, "png", ppi=ppi)


def _compile(
    report: Report, svgs: Mapping[str, str] | None, form: str, **options: Any
) -> list[bytes]:
    if svgs is None:
        svgs = {f.id: export.svg(export.spec(f.chart)) for f in report.figures()}
    template = (files("tailback.report") / "templates" / "report.typ").read_bytes()
    with folders.scratch(Path(tempfile.gettempdir())) as root:
        (root / "report.typ").write_bytes(template)
        (root / "report.json").write_text(json.dumps(_data(report, svgs)), encoding="utf-8")
        for name, svg in svgs.items():
            # As PDF, since letters stand where the figure was laid out with the same font.
            (root / f"{name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
        # Its annotations know no options in a dict.
        compiler: Any = typst.compile
        made = compiler(
            str(root / "report.typ"),
            root=str(root),
            format=form,
            ignore_system_fonts=True,
            **options,
        )
    return list(made) if isinstance(made, list) else [made]


def _data(report: Report, svgs: Mapping[str, str]) -> dict[str, Any]:
    sections = []
    for section in report.sections:
        blocks: list[dict[str, Any]] = []
        for block in section.blocks:
            if isinstance(block, Text):
                lines = [pieces(p) for p in paragraphs(block.text)]
                blocks.append({"kind": "text", "paragraphs": lines})
            elif isinstance(block, Figure):
                width, height = _fitted(svgs[block.id])
                blocks.append(
                    {
                        "kind": "figure",
                        "title": block.title,
                        "file": f"{block.id}.pdf",
                        "width": width,
                        "height": height,
                        "caption": pieces(block.caption),
                        "facts": block.facts.lines(),
                    }
                )
            else:
                blocks.append({"kind": "table", **_table(block)})
        sections.append({"title": section.title, "blocks": blocks})
    return {
        "title": report.title,
        "lead": pieces(report.lead),
        "meta": [[label, text] for label, text in report.meta],
        "sections": sections,
    }


def _fitted(svg: str) -> tuple[float, float]:
    """Width and height on the page, points: never larger than drawn, never beyond the page."""
    found = _SIZE.search(svg)
    if found is None:
        return PAGE_WIDTH, PAGE_WIDTH / 2
    width, height = PIXEL * float(found[1]), PIXEL * float(found[2])
    scale = min(1.0, PAGE_WIDTH / width, PAGE_HEIGHT / height)
    return width * scale, height * scale


def _table(table: Table) -> dict[str, Any]:
    heads = [f"{c.title}\n{c.unit}" if c.unit else c.title for c in table.columns]
    rows = [[show(v, c) for v, c in zip(row, table.columns, strict=True)] for row in table.rows]
    longest = [
        max(
            max((len(line) for line in head.split("\n")), default=0),
            max((len(row[i]) for row in rows), default=0),
        )
        for i, head in enumerate(heads)
    ]
    wordy = [c.align == "left" and n > WORDY for c, n in zip(table.columns, longest, strict=True)]
    room = PAGE_WIDTH - PADDING * len(heads)
    letters = sum(min(n, WORDY) if w else n for n, w in zip(longest, wordy, strict=True))
    size = min(CELL, max(SMALLEST, room / (ADVANCE * max(1, letters))))
    if not any(wordy) and ADVANCE * size * letters > room:
        # Too wide even so: then every column that stands left is broken.
        wordy = [c.align == "left" for c in table.columns]
    cells = []
    for row, texts in zip(table.rows, rows, strict=True):
        for value, text, column in zip(row, texts, table.columns, strict=True):
            mark = value.status if isinstance(value, Mark) else ""
            # A verdict is no Markdown.
            parts = [["text", text]] if mark else pieces(text)
            cells.append({"parts": parts, "align": column.align, "mark": mark})
    return {
        "title": table.title,
        "heads": [
            {"text": head, "align": c.align} for head, c in zip(heads, table.columns, strict=True)
        ],
        "widths": [n if w else 0 for n, w in zip(longest, wordy, strict=True)],
        "size": size,
        "cells": cells,
        "caption": pieces(table.caption),
        "facts": table.facts.lines(),
    }
