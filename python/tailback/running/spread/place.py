"""Where the runs of a batch are done: in this process, unless something else was chosen.

The choice holds within a block, for whatever is run in it, however deep: experiments and
comparisons do not know of it.
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
    """Somewhere else than here."""

    def execute(
        self, planned: Sequence[Planned], folder: _native.Store, progress: bool | None
    ) -> dict[str, str]:
        """Has the runs done and stored in `folder`; returns what failed, by run."""


_CHOSEN: ContextVar[RunPlace | None] = ContextVar("place", default=None)


def chosen() -> RunPlace | None:
    """Where runs are done within this block; None: here."""
    return _CHOSEN.get()


@contextmanager
def using(place: RunPlace) -> Iterator[None]:
    """Has the runs of this block done there."""
    token = _CHOSEN.set(place)
    try:
        yield
    finally:
        _CHOSEN.reset(token)
