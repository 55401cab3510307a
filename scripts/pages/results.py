"""Reads tables in the stored results of experiments and of the validation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailback_studies.reproduction.published import RESULTS


def tables(evidence: Path, name: str, title: str) -> Iterator[dict[str, Any]]:
    """Yield the tables with the title `title` from the results file of the page `name`."""
    results = json.loads((evidence / f"{name}{RESULTS}").read_text(encoding="utf-8"))
    for section in results["sections"]:
        for block in section["blocks"]:
            if "columns" in block and block["title"] == title:
                yield block
