"""Chooses where the runs of a batch are executed. By default it is this process.

The choice applies to all runs within a `with` block. Experiments and comparisons therefore need no
option for the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tailback import _native
    from tailback.running.execution import Planned


class RunPlace(Protocol):
    """The interface of a place other than this process."""

    def execute(
        self, planned: Sequence[Planned], folder: _native.Store, progress: bool | None
    ) -> dict[str, str]:
        """Execute the runs and store them in `folder`. Return the failures, by run."""


_CHOSEN: ContextVar[RunPlace | None] = ContextVar("place", default=None)


def chosen() -> RunPlace | None:
    """Return the place that was chosen for this block. None means this process."""
    return _CHOSEN.get()


@contextmanager
def using(place: RunPlace) -> Iterator[None]:
    """Execute the runs of this block at this place."""
    token = _CHOSEN.set(place)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
