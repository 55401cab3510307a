"""Reads the first comment of an algorithm's source file: a description, the reference, and
deviations from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pages import ROOT

ENGINE = ROOT / "crates" / "engine" / "src"

_HEAD = re.compile(r"(?://!.*\n)+")
_ENTRY = re.compile(r'ENTRY: Entry<Build> = Entry \{\s*name: "([\w-]+)"')
_INNER_LINK = re.compile(r"\[(`[^`]+`)\](?!\()(?:\[[^\]]*\])?")
_DEVIATES = re.compile(
    r"(?:Known d|D|No known d)eviations?\b|[^.:]{0,30}\b[Nn]ot in Linux\b|What the paper leaves"
)

_LABEL = re.compile(r"^(?:Known d|D)eviations:\s+(\S+)")


@dataclass(frozen=True)
class Head:
    """The first comment of a source file, as Markdown."""

    file: Path
    """The file's path, relative to the sources."""
    about: str
    deviations: str
    """Deviations from the algorithm's source. Empty if the comment does not list deviations."""


def head(kind: str, name: str) -> Head:
    """Return the first comment about an entry of a registry."""
    file = _files(kind)[name]
    comment = _HEAD.match(file.read_text(encoding="utf-8"))
    text = re.sub(r"^//! ?", "", comment[0], flags=re.M) if comment else ""
    paragraphs = _INNER_LINK.sub(r"\1", text).strip().split("\n\n")
    first = next((i for i, p in enumerate(paragraphs) if _DEVIATES.match(p)), len(paragraphs))
    about, deviations = paragraphs[:first], paragraphs[first:]
    if deviations:
        # The page has the heading "Deviations", so the text does not repeat the word.
        deviations[0] = _LABEL.sub(_capitalised, deviations[0])
    return Head(file.relative_to(ROOT), "\n\n".join(about), "\n\n".join(deviations))


def _capitalised(found: re.Match[str]) -> str:
    """Return the first word after the label with a capital letter, unless it is a name."""
    word = found[1]
    return word if "." in word or word.startswith("tailback") else word[0].upper() + word[1:]


@cache
def _files(kind: str) -> dict[str, Path]:
    """Return the source file of each entry."""
    return {
        found[1]: file
        for file in sorted((ENGINE / kind).rglob("*.rs"))
        if (found := _ENTRY.search(file.read_text(encoding="utf-8")))
    }
