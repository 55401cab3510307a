"""Writes a report as an A4 PDF with the content of the HTML page, and with numbered figures and
pages.

Typst uses the fonts in its own package, so lines break at the same places on every machine. Figures
are vector graphics.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import typst
import vl_convert

from tailback.base import folders
from tailback.figures import drawing, export
from tailback.report.model import Listing, Mark, Report, ReportFigure, Table, Text
from tailback.report.tables import labels
from tailback.report.text import is_words, paragraphs, pieces, show, shown_lines

PAGE_WIDTH = 482.0
"""The width between margins of 2 cm on A4, in points."""
PAGE_HEIGHT = 600.0
"""Largest height of a figure, in points. The caption and heading need the rest of the page."""
PIXEL = 0.75
"""A CSS pixel, in points."""
CELL = 8.0
"""Font size of a table, in points."""
SMALLEST = 7.0
"""The smallest font size of a table, in points. A table that is still too wide is split into tables
below each other, with the same first columns.
"""
ADVANCE = 0.49
"""Mean width of a letter as a share of the font size."""
PADDING = 8.0
"""Space beside a column of a table, in points."""
NARROW = 9
"""The largest number of characters of a column heading that is not broken into lines."""
WORDY = 24
"""In left-aligned columns, texts with more characters than this are broken into lines."""

_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"', re.DOTALL)


def to_pdf(report: Report, svgs: Mapping[str, str] | None = None) -> bytes:
    """Return the report as PDF. `svgs` contains figures that are already drawn, by id."""
    if svgs is None:
        svgs = drawing.svgs({f.id: json.dumps(export.spec(f.chart)) for f in report.figures()})
    template = (files("tailback.report") / "templates" / "report.typ").read_bytes()
    with folders.scratch(Path(tempfile.gettempdir())) as root:
        (root / "report.typ").write_bytes(template)
        (root / "report.json").write_text(json.dumps(_data(report, svgs)), encoding="utf-8")
        for name, svg in svgs.items():
            # If Typst uses the font for which the figure was laid out, the PDF contains text
            # instead of outlines.
            (root / f"{name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
        # typst's type annotations do not describe these options.
        compiler: Any = typst.compile
        pdf = compiler(
            str(root / "report.typ"),
            root=str(root),
            format="pdf",
            ignore_system_fonts=True,
        )
    return bytes(pdf)


def _data(report: Report, svgs: Mapping[str, str]) -> dict[str, Any]:
    common = report.common()
    sections = []
    for section in report.sections:
        blocks: list[dict[str, Any]] = []
        for block in section.blocks:
            if isinstance(block, Listing):
                blocks.append({"kind": "listing", "lines": shown_lines(block.text)})
            elif isinstance(block, Text):
                lines = [pieces(p) for p in paragraphs(block.text)]
                blocks.append({"kind": "text", "paragraphs": lines})
            elif isinstance(block, ReportFigure):
                width, height = _fitted(svgs[block.id])
                blocks.append(
                    {
                        "kind": "figure",
                        "title": block.title,
                        "file": f"{block.id}.pdf",
                        "width": width,
                        "height": height,
                        "caption": pieces(block.caption),
                        "facts": block.facts.lines(common),
                    }
                )
            else:
                blocks += [{"kind": "table", **part} for part in table_parts(block, common)]
        sections.append({"title": section.title, "blocks": blocks})
    return {
        "title": report.title,
        "lead": pieces(report.lead),
        "meta": [[label, text] for label, text in report.head()],
        "sections": sections,
    }


def _fitted(svg: str) -> tuple[float, float]:
    """Return the width and height of a figure on the page in points. A figure is shrunk if it does
    not fit, but never enlarged."""
    found = _SIZE.search(svg)
    if found is None:
        return PAGE_WIDTH, PAGE_WIDTH / 2
    width, height = PIXEL * float(found[1]), PIXEL * float(found[2])
    scale = min(1.0, PAGE_WIDTH / width, PAGE_HEIGHT / height)
    return width * scale, height * scale


def table_parts(table: Table, common: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a table as the Typst template needs it, split into several tables if it is too
    wide."""
    shown = [[show(v, c) for v, c in zip(row, table.columns, strict=True)] for row in table.rows]
    letters = []
    heads = []
    wordy = []
    for i, column in enumerate(table.columns):
        longest = max((len(row[i]) for row in shown), default=0)
        head = _broken(column.title, max(longest, NARROW))
        head += _broken(column.unit, max(longest, NARROW)) if column.unit else []
        longest = max(longest, *map(len, head))
        heads.append("\n".join(head))
        wordy.append(column.align == "left" and longest > WORDY)
        letters.append(longest)
    needed = [min(n, WORDY) if w else n for n, w in zip(letters, wordy, strict=True)]
    parts = _parts(needed, labels(table))
    room = min(PAGE_WIDTH - PADDING * len(part) for part in parts)
    most = max(sum(needed[i] for i in part) for part in parts)
    size = min(CELL, max(SMALLEST, room / (ADVANCE * max(1, most))))
    if ADVANCE * size * most > room:
        # The table is still too wide, so break texts in left-aligned columns.
        wordy = [column.align == "left" for column in table.columns]
    tables = []
    for number, part in enumerate(parts, 1):
        cells = []
        for row, texts in zip(table.rows, shown, strict=True):
            for i in part:
                value, column = row[i], table.columns[i]
                mark = value.status if isinstance(value, Mark) else ""
                words = pieces(texts[i]) if is_words(value, column) else [["text", texts[i]]]
                cells.append({"parts": words, "align": column.align, "mark": mark})
        last = number == len(parts)
        tables.append(
            {
                "title": table.title if number == 1 else f"{table.title}, continued",
                "first": number == 1,
                "heads": [{"text": heads[i], "align": table.columns[i].align} for i in part],
                "widths": [letters[i] if wordy[i] else 0 for i in part],
                "size": size,
                "cells": cells,
                "caption": pieces(table.caption) if last else [],
                "facts": table.facts.lines(common) if last else [],
            }
        )
    return tables


def _broken(head: str, width: int) -> list[str]:
    """Break a heading into lines of about `width` letters."""
    return textwrap.wrap(head, width, break_long_words=False, break_on_hyphens=False) or [""]


def _parts(needed: Sequence[int], first: int) -> list[list[int]]:
    """Divide columns into tables that fit on the page at the smallest font size.

    Each table begins with the same columns, the first `first` columns.

    `needed` has the width of each column in letters.
    """

    def wide(columns: Sequence[int]) -> float:
        return sum(ADVANCE * SMALLEST * needed[i] + PADDING for i in columns)

    everything = list(range(len(needed)))
    if wide(everything) <= PAGE_WIDTH:
        return [everything]
    while first > 1 and wide(everything[:first]) > PAGE_WIDTH / 2:
        first -= 1
    labels, rest = everything[:first], everything[first:]
    room = PAGE_WIDTH - wide(labels)
    alone = [[i] for i in rest]
    least = math.ceil(wide(rest) / room) if room > 0 else len(rest)
    # Divide the columns evenly, so that no table has a single column. Use more tables if necessary.
    for count in range(max(1, least), len(rest) + 1):
        parts: list[list[int]] = [[]]
        for i in rest:
            if parts[-1] and wide([*parts[-1], i]) > max(wide(rest) / count * 1.15, wide([i])):
                parts.append([])
            parts[-1].append(i)
        if all(wide(part) <= room for part in parts):
            return [[*labels, *part] for part in parts]
    return [[*labels, *part] for part in alone] or [labels]
