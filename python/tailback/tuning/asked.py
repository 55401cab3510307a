"""What a search is asked for, as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNSEEN = 10
"""Seeds that the search has not seen, at its end."""

BATCH = 8
"""Candidates that are asked for at once, however many run at once."""


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The words of `tailback tune`."""

    vary: Mapping[str, object]
    """Ranges or choices, by path."""
    minimise: Sequence[str]
    maximise: Sequence[str]
    subject_to: Sequence[str]
    """Bounds, `jain>=0.9`."""
    over: Mapping[str, object]
    """Values of the points of the search, by path."""
    runs: int
    """Of the whole search."""
    unseen: int
    """Seeds that the search has not seen."""
    across: str
    """`mean` or `worst`."""
    sampler: str
    seed: int
    """Of the sampler."""
    batch: int
    """Candidates that are asked for at once."""
