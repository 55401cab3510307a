"""Defines the options of a search as the user wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNSEEN = 10
"""Number of seeds for the final check, which the search does not use."""

BATCH = 8
"""Number of candidates in a batch. The size of a batch does not depend on the number of parallel
runs."""


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The options of `tailback tune`."""

    vary: Mapping[str, object]
    """Ranges or choices to search, by path."""
    minimise: Sequence[str]
    maximise: Sequence[str]
    subject_to: Sequence[str]
    """Bounds such as `jain>=0.9`."""
    over: Mapping[str, object]
    """Values of the sweep points at which every candidate runs, by path."""
    runs: int
    """Number of runs of the whole search."""
    unseen: int
    """Number of seeds for the final check, which the search does not use."""
    across: str
    """How to combine a candidate's results at all sweep points: `mean` or `worst`."""
    sampler: str
    seed: int
    """Seed of the sampler."""
    batch: int
    """Number of candidates in a batch."""
