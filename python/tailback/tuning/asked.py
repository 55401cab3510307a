"""The request for a search, as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNSEEN = 10
"""Seeds at the end that the search has not used."""

BATCH = 8
"""Candidates of one batch, however many run in parallel."""


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The options of `tailback tune`."""

    vary: Mapping[str, object]
    """Ranges or choices, by path."""
    minimise: Sequence[str]
    maximise: Sequence[str]
    subject_to: Sequence[str]
    """Bounds, `jain>=0.9`."""
    over: Mapping[str, object]
    """Values of the points of the search, by path."""
    runs: int
    """Runs of the whole search."""
    unseen: int
    """Seeds that the search does not use."""
    across: str
    """`mean` or `worst`."""
    sampler: str
    seed: int
    """Of the sampler."""
    batch: int
    """Candidates of one batch."""
