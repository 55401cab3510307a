"""Writes the pages of docs/reference that come from the registries."""

from __future__ import annotations

from pathlib import Path

from pages import REFERENCE

from . import entries, evaluation, metrics, paths, scenario


def pages() -> dict[Path, str]:
    """Return the text of each page by its path."""
    return {
        REFERENCE / "scenario.md": scenario.page(),
        REFERENCE / "metrics.md": metrics.page(),
        evaluation.PLACE: evaluation.page(),
        **dict(paths.pages()),
        **dict(entries.pages()),
    }
