"""Checks that the README's links lead to existing files and headings. `make docs` checks the links
in docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")


def links(page: Path) -> Iterator[str]:
    """Yield link targets within the sources, except targets inside code."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in LINK.findall(text):
        if not re.match(r"\w+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site generate for a page's headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(page: Path) -> list[str]:
    """Return the broken links of a page."""
    wrong = []
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        there = target.exists() and (not anchor or anchor in anchors(target))
        wrong += [] if there else [link]
    return wrong


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_links_of_pages_outside_of_docs_lead_somewhere(page: str) -> None:
    assert broken(ROOT / page) == []


@pytest.mark.parametrize("link", ["gone.md", "page.md#gone", "#gone"])
def test_a_broken_link_is_named(tmp_path: Path, link: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n[good](page.md#here), [bad]({link})\n", encoding="utf-8")
    assert broken(page) == [link]
