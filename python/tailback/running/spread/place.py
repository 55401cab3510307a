"""Chooses whether runs are executed by this process or elsewhere, such as on a cluster.

The choice applies within a `with` block. Experiments and comparisons that run within
the block therefore need no option that says where to run.
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
    """The interface through which runs are executed outside this process, such as on a cluster."""

    def execute(
        self, planned: Sequence[Planned], folder: _native.Store, progress: bool | None
    ) -> dict[str, str]:
        """Execute runs, and store them in `folder`. Return error messages by run id."""


_CHOSEN: ContextVar[RunPlace | None] = ContextVar("place", default=None)


def chosen() -> RunPlace | None:
    """Return the place chosen by the enclosing `with` block, or None for this process."""
    return _CHOSEN.get()


@contextmanager
def using(place: RunPlace) -> Iterator[None]:
    """Execute the runs of the `with` block at `place`, outside this process."""
    token = _CHOSEN.set(place)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
