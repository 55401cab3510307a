"""Reports: what they consist of (`model`), and their files (`write`)."""

from tailback.report.model import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Mark,
    Report,
    Section,
    Status,
    Table,
    Text,
    Value,
    summarise,
)
from tailback.report.write import also_pdf, to_csv, to_html, to_markdown, write

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Facts",
    "Figure",
    "Mark",
    "Report",
    "Section",
    "Status",
    "Table",
    "Text",
    "Value",
    "also_pdf",
    "summarise",
    "to_csv",
    "to_html",
    "to_markdown",
    "write",
]
