"""Adds the laboratory, a page that runs scenarios in the browser, to reports. Figures get links to
their scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from tailback.store.results import Results, Run

FILE = "lab.html"
"""The name of the page in the folder of a report."""

MAX_LINKS = 6
"""The largest number of links of a figure. A figure made from more sweeps links only to the first
sweeps."""

_WANTED: ContextVar[bool] = ContextVar("lab", default=True)


@contextmanager
def without_lab() -> Iterator[None]:
    """Leave the laboratory out of every report that is written within this block."""
    token = _WANTED.set(False)
    try:
        yield
    finally:
        _WANTED.reset(token)


@dataclass(frozen=True)
class Rerun:
    """Runs behind a figure that the laboratory can run again."""

    #: The name of the link if a figure has several links.
    name: str
    runs: Sequence[Run]


def of(named: Iterable[tuple[str, Results]]) -> tuple[Rerun, ...]:
    """Return the runs of these results that the laboratory can run again, which are the runs of the
    simulator."""
    simulated = [(name, results) for name, results in named if results.engine == "sim"]
    names = [name for name, _ in simulated]
    return tuple(
        # Sweeps of one experiment may share a title.
        Rerun(f"{name} ({number})" if names.count(name) > 1 else name, results.points)
        for number, (name, results) in enumerate(simulated, 1)
        if results.points
    )


class Links:
    """Makes the links of one report. Figures that are made from the same runs share a link."""

    def __init__(self, wanted: bool | None = None) -> None:
        self.page: Path | None = None
        """The page of the laboratory, or None if no link needs it."""
        self._found = _page() if (_WANTED.get() if wanted is None else wanted) else None
        self._made: dict[tuple[str, ...], str | None] = {}

    def of(self, reruns: Sequence[Rerun]) -> list[dict[str, str]]:
        """Return name and address of each link. The list is empty if the report has no page."""
        if self._found is None:
            return []
        links = []
        for rerun in reruns[:MAX_LINKS]:
            key = tuple(run.run_id for run in rerun.runs)
            if key not in self._made:
                from tailback.interop.lab import link

                self._made[key] = link.of_runs(rerun.runs)
            if (fragment := self._made[key]) is not None:
                links.append({"name": rerun.name, "address": FILE + fragment})
                self.page = self._found
        return links


def _page() -> Path | None:
    """Return the page of the laboratory, or None if it is not built."""
    from tailback.errors import InputError
    from tailback.interop.lab import page

    try:
        return page.find()
    except InputError:
        return None
