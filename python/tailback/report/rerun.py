"""Adds the laboratory to reports: a page that runs scenarios in the browser. Links next to figures
open their scenarios in the laboratory."""

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
    """Within the `with` block, write reports without the laboratory."""
    token = _WANTED.set(False)
    try:
        yield
    finally:
        _WANTED.reset(token)


@dataclass(frozen=True)
class Rerun:
    """Runs of a figure that the laboratory can repeat."""

    #: The text by which a reader distinguishes several links of a figure.
    name: str
    runs: Sequence[Run]


def of(named: Iterable[tuple[str, Results]]) -> tuple[Rerun, ...]:
    """Return the simulator's runs, because the laboratory can repeat only these runs."""
    simulated = [(name, results) for name, results in named if results.engine == "sim"]
    names = [name for name, _ in simulated]
    return tuple(
        # Number the sweeps whose titles are equal.
        Rerun(f"{name} ({number})" if names.count(name) > 1 else name, results.points)
        for number, (name, results) in enumerate(simulated, 1)
        if results.points
    )


class Links:
    """Makes the links from a report to the laboratory. Figures of the same runs share a link."""

    def __init__(self, wanted: bool | None = None) -> None:
        self.page: Path | None = None
        """The page of the laboratory, or None if no link needs it."""
        self._found = _page() if (_WANTED.get() if wanted is None else wanted) else None
        self._made: dict[tuple[str, ...], str | None] = {}

    def of(self, reruns: Sequence[Rerun]) -> list[dict[str, str]]:
        """Return the name and address of each link. Return nothing if the report has no
        laboratory."""
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
