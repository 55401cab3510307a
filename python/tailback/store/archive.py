"""Lists the sweeps in a folder of results, finds a sweep by name, and deletes sweeps.

A sweep's index is written before the sweep's first run. A run that no index lists therefore does
not belong to an interrupted sweep.
"""

from __future__ import annotations

import datetime
import os
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.base import folders
from tailback.base.names import unknown
from tailback.errors import DamagedResults, DamageWarning, InputError
from tailback.store import layout, points, shape
from tailback.store.versions import engine_of

DAY_S = 86_400.0


@dataclass(frozen=True)
class StoredSweep:
    """A stored sweep."""

    index: layout.Index
    path: Path
    """The folder of the sweep."""
    written: float
    """The time at which a command last requested the sweep, s since 1970."""
    stored: tuple[str, ...]
    """The ids of the sweep's runs that are stored."""
    bytes: int
    """The size of the stored runs on the disk, bytes."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of all runs of the sweep, including missing runs."""
        return tuple(dict.fromkeys(point.run_id for point in self.index.points))

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `results list --json` prints."""
        when = datetime.datetime.fromtimestamp(self.written, datetime.UTC)
        return {
            "id": self.index.id,
            "title": self.index.title,
            "engine": self.index.engine,
            "version": self.index.engine_version,
            "written": when.isoformat(timespec="seconds"),
            "points": points.count(self.index.points),
            "runs": len(self.runs),
            "stored": len(self.stored),
            "bytes": self.bytes,
        }


def kept(root: Path) -> list[StoredSweep]:
    """Return the sweeps in a folder, the latest first. Skip damaged indexes with a warning."""
    sizes: dict[str, int] = {}
    return [one for file in layout.sweeps(root) if (one := _kept(root, file, sizes)) is not None]


def _kept(root: Path, file: Path, sizes: dict[str, int]) -> StoredSweep | None:
    try:
        index = layout.read_index(file)
    except DamagedResults as damage:
        warnings.warn(f"{damage}; not looked at", DamageWarning, stacklevel=3)
        return None
    stored = []
    for run_id in dict.fromkeys(point.run_id for point in index.points):
        if run_id not in sizes:
            sizes[run_id] = _size(layout.run_path(root, run_id))
        if sizes[run_id]:
            stored.append(run_id)
    total = sum(sizes[run_id] for run_id in stored)
    return StoredSweep(index, file.parent, file.lstat().st_mtime, tuple(stored), total)


def _size(folder: Path) -> int:
    """Return the size of the files in a folder, bytes. Return 0 without a folder."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return 0


RECENT = 8
"""How many sweeps `namesakes` reads. This number is enough for the variants of a comparison."""


TOGETHER_S = 1.0
"""Seconds within which a command writes the indexes of all its sweeps, before its first run."""


def namesakes(sweep_id: str, root: Path) -> list[str]:
    """Return the ids of sweeps with the title of this sweep that were begun at about the same time,
    such as the variants of `compare`.

    A sweep of an edited file may have the same title, but another command began it at another time.
    """
    begun: dict[str, tuple[str, float]] = {}
    for file in layout.sweeps(root)[:RECENT]:
        try:
            begun[file.parent.name] = layout.read_index(file).title, file.stat().st_mtime
        except (DamagedResults, OSError):
            # Do not warn about damaged indexes, because the commands that list sweeps do.
            continue
    title, when = begun.pop(sweep_id, (None, 0.0))
    return [
        identity
        for identity, (other, then) in begun.items()
        if other == title and abs(when - then) <= TOGETHER_S
    ]


def find(name: str, root: Path) -> Path:
    """Find the folder of a sweep by its path, by `latest`, by its id, or by the beginning of its
    id.
    """
    if (Path(name) / layout.INDEX).is_file():
        return Path(name)
    sweeps = {path.parent.name: path.parent for path in layout.sweeps(root)}
    if not sweeps:
        raise InputError(f"{root}: no sweeps are stored here; run a scenario first")
    if name == layout.LATEST:
        return next(iter(sweeps.values()))
    own = [folder for identity, folder in sweeps.items() if identity.startswith(name)]
    if name and len(own) == 1:
        return own[0]
    if name and own:
        raise InputError(
            f"{name}: {len(own)} ids of sweeps begin like this; write more letters of the id"
        )
    raise InputError(unknown("sweep", name, (layout.LATEST, *sweeps)))


@dataclass(frozen=True)
class RemovalPlan:
    """The sweeps and runs that a command will delete."""

    root: Path
    sweeps: list[StoredSweep] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    """The runs that no remaining sweep needs. They are runs of the deleted sweeps, and runs that
    belong to no sweep."""
    bytes: int = 0


def plan(
    root: Path,
    names: Sequence[str] = (),
    *,
    older_days: float | None = None,
    versions: Mapping[str, Collection[str]] | None = None,
) -> RemovalPlan:
    """Choose what to delete.

    Sweeps are deleted if they are in `names`, are older than `older_days`, or have an engine
    version that is not in `versions`. Runs are deleted if no remaining sweep needs them.
    """
    chosen = {find(name, root).resolve() for name in names}
    sizes: dict[str, int] = {}
    gone: list[StoredSweep] = []
    needed: set[str] = set()
    for file in layout.sweeps(root):
        sweep = _kept(root, file, sizes)
        if sweep is None:
            raise DamagedResults(
                f"{file}: the runs that its sweep needs cannot be read, so nothing is deleted; "
                f"run: tailback verify"
            )
        old = older_days is not None and time.time() - sweep.written > older_days * DAY_S
        mine = (versions or {}).get(sweep.index.engine)
        other = mine is not None and engine_of(sweep.index.engine_version) not in mine
        if sweep.path.resolve() in chosen or old or other:
            gone.append(sweep)
        else:
            needed.update(sweep.runs)
            # Keep the runs without a competitor, from which harm is computed.
            needed.update(*(point.without.values() for point in sweep.index.points))
    free = [run_id for run_id in _runs(root) if run_id not in needed]
    return RemovalPlan(
        root, gone, free, sum(_size(layout.run_path(root, run_id)) for run_id in free)
    )


def _runs(root: Path) -> Iterator[str]:
    try:
        names = sorted(entry.name for entry in os.scandir(root / "runs") if entry.is_dir())
    except FileNotFoundError:
        return
    yield from (name for name in names if shape.identity(name))


def remove(what: RemovalPlan) -> None:
    """Delete the planned sweeps and runs. Each folder is renamed first, so that it disappears in
    one step."""
    paths = [one.path for one in what.sweeps]
    paths += [layout.run_path(what.root, run_id) for run_id in what.runs]
    for path in paths:
        layout.refuse_link(path)
    if not paths:
        return
    # The end of the block deletes everything together, in compiled code. If this process is killed
    # before, a later process deletes the remaining folders.
    with folders.scratch(what.root) as scratch:
        for number, path in enumerate(paths):
            os.rename(path, scratch / str(number))


def differences(value: object, other: object) -> Iterator[tuple[str, Any, Any]]:
    """Yield each path at which two JSON values differ, with both values at this path. A missing
    value is None."""
    yield from _differences("", value, other)


def _differences(path: str, value: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*value, *other)):
            below = f"{path}.{key}" if path else key
            yield from _differences(below, value.get(key), other.get(key))
    elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        for number, (a, b) in enumerate(zip(value, other, strict=True)):
            named = isinstance(a, dict) and isinstance(b, dict) and a.get("name") == b.get("name")
            label = f".{a['name']}" if named and a.get("name") else f"[{number}]"
            yield from _differences(f"{path}{label}", a, b)
    elif value != other:
        yield path, value, other
