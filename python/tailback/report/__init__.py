"""Writes reports.

`model` defines the parts of a report, and `write` writes the files of a report.
"""

from tailback.report.model import (
    Block,
    Column,
    Facts,
    Listing,
    Mark,
    Report,
    ReportFigure,
    Section,
    Status,
    Table,
    TableCell,
    Text,
    Value,
    summarise,
)
from tailback.report.rerun import Rerun, without_lab
from tailback.report.write import also_pdf, to_csv, to_html, to_markdown, write

__all__ = [
    "Block",
    "Column",
    "Facts",
    "Listing",
    "Mark",
    "Report",
    "ReportFigure",
    "Rerun",
    "Section",
    "Status",
    "Table",
    "TableCell",
    "Text",
    "Value",
    "also_pdf",
    "summarise",
    "to_csv",
    "to_html",
    "to_markdown",
    "without_lab",
    "write",
]
