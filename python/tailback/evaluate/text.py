"""Formats a section's number and verdict as text."""

from __future__ import annotations

from tailback.base.numbers import short
from tailback.evaluate.model import SectionResult


def number(section: SectionResult) -> str:
    """Return the value with its interval, or a dash if the section has no value."""
    if section.value is None or section.ci95 is None:
        return short(section.value, 3)
    low, high = section.ci95
    return f"{short(section.value, 3)} [{short(low, 3)}, {short(high, 3)}]"


def sentence(section: SectionResult) -> str:
    """Return one line with the section's verdict, measure, number, bound and note."""
    text: str = section.verdict
    if section.measure:
        text += f": {section.measure} {number(section)}"
    if section.bound is not None:
        text += f", allowed {section.limit}"
    return f"{text}. {section.note}" if section.note else text
