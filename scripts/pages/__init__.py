"""Writes and checks the pages of docs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""
DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"
REFERENCE = DOCS / "reference"
EVIDENCE = DOCS / "evidence"
EXAMPLES = ROOT / "examples"
