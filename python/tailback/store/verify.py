"""Checks that the runs, sweeps and reports in a folder of results have not changed since they were
written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.base.progress import Progress
from tailback.errors import InputError
from tailback.store import agreement, layout, marker
from tailback.store.run_folder import StoredRun
from tailback.store.shape import identity

REPORTS = ("reports", "comparisons", "validations", "tunings")
KINDS = ("runs", "sweeps", *REPORTS)


@dataclass
class Count:
    """The numbers of intact and of damaged entries of one kind."""

    whole: int = 0
    damaged: int = 0
    incomplete: int = 0
    """Number of sweeps with missing runs. A missing run does not count as damage."""


@dataclass(frozen=True)
class Verified:
    """The result of checking a folder of results."""

    folder: Path
    counts: dict[str, Count] = field(default_factory=lambda: {kind: Count() for kind in KINDS})
    damages: list[str] = field(default_factory=list)
    """For each damaged run, sweep or report, a sentence with its path."""
    set_aside: int = 0
    """Number of damaged runs that were moved to runs/.damaged earlier."""

    @property
    def whole(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damages

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "folder": str(self.folder),
            "whole": self.whole,
            **{
                kind: {
                    "whole": count.whole,
                    "damaged": count.damaged,
                    **({"incomplete": count.incomplete} if kind == "sweeps" else {}),
                }
                for kind, count in self.counts.items()
            },
            "set_aside": self.set_aside,
            "damages": self.damages,
        }


def verify(root: Path, *, progress: bool | None = None) -> Verified:
    """Read and check all files in a folder of results, without writing anything.

    Raises `InputError` if `root` is not a folder of results.
    """
    if not root.is_dir():
        raise InputError(
            f"{root}: {'not a' if root.exists() else 'no such'} folder; name a folder of results"
        )
    if not any(os.path.lexists(root / kind) for kind in KINDS):
        raise InputError(f"{root}: no results; expected a folder that holds {', '.join(KINDS)}")
    aside = root / "runs" / ".damaged"
    moved = len(list(aside.iterdir())) if aside.is_dir() and not aside.is_symlink() else 0
    result = Verified(root, set_aside=moved)
    todo = [(kind, path) for kind in KINDS for path in _entries(root / kind, result.damages)]
    with Progress(len(todo), enabled=progress, what="folders") as bar:
        for done, (kind, path) in enumerate(todo, start=1):
            try:
                damages = _CHECKS.get(kind, marker.damages)(path)
            except OSError as error:
                # An unreadable file, e.g. on a bad sector, must not stop the check.
                damages = [f"{path}: cannot be read ({error})"]
            count = result.counts[kind]
            if damages:
                count.damaged += 1
                result.damages.extend(damages)
            elif kind == "sweeps" and not _is_complete(root, path):
                count.incomplete += 1
            else:
                count.whole += 1
            bar.update(done, done / len(todo))
    return result


def _entries(house: Path, damages: list[str]) -> Iterator[Path]:
    """Yield the entries of `runs`, `sweeps` or another subfolder, except unfinished and damaged
    entries."""
    if not os.path.lexists(house):
        return
    if house.is_symlink() or not house.is_dir():
        damages.append(f"{house}: not a folder (links are not followed)")
        return
    yield from sorted(path for path in house.iterdir() if not path.name.startswith("."))


def _run(path: Path) -> list[str]:
    if not identity(path.name):
        return [f"{path}: not the name of a run"]
    try:
        StoredRun(path).check()
    except InputError as damage:
        return [str(damage)]
    return []


def _sweep(path: Path) -> list[str]:
    if not identity(path.name):
        return [f"{path}: not the name of a sweep"]
    if not os.path.lexists(path / layout.INDEX):
        return [f"{path / layout.INDEX}: is missing"]
    try:
        index = layout.read_index(path / layout.INDEX)
    except InputError as damage:
        return [str(damage)]
    found = agreement.faults(index, path.parent.parent / "runs")
    return [f"{path / layout.INDEX}: {text}" for text in found]


def _is_complete(root: Path, sweep: Path) -> bool:
    index = layout.read_index(sweep / layout.INDEX)
    return all(os.path.lexists(layout.run_path(root, point.run_id)) for point in index.points)


_CHECKS: dict[str, Callable[[Path], list[str]]] = {"runs": _run, "sweeps": _sweep}
