"""Lists the sweeps in a folder of results, finds a sweep by name, and deletes sweeps.

A sweep's index is written before the sweep's first run. A run that no index lists therefore does
not belong to an interrupted sweep.
"""

from __future__ import annotations

import datetime
import os
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import folders, machine
from tailback.base.names import unknown
from tailback.errors import DamagedResults, DamageWarning, InputError
from tailback.store import briefs, frames, layout, shape
from tailback.store.briefs import IndexBrief, IndexBriefs
from tailback.store.versions import engine_of

DAY_S = 86_400.0


@dataclass(frozen=True)
class StoredSweep:
    """A stored sweep."""

    index: IndexBrief
    path: Path
    """The folder of the sweep."""
    written: float
    """The time at which a command last requested the sweep, in seconds since 1970."""
    stored: tuple[str, ...]
    """The ids of the sweep's runs that are stored."""
    bytes: int
    """The size of the stored runs on the disk, in bytes."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of all runs of the sweep, including missing runs."""
        return self.index.runs

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `results list --json` prints."""
        when = datetime.datetime.fromtimestamp(self.written, datetime.UTC)
        return {
            "id": self.index.id,
            "title": self.index.title,
            "engine": self.index.engine,
            "version": self.index.engine_version,
            "written": when.isoformat(timespec="seconds"),
            "points": self.index.points,
            "runs": len(self.runs),
            "stored": len(self.stored),
            "bytes": self.bytes,
        }


def kept(root: Path) -> list[StoredSweep]:
    """Return the sweeps in a folder, the latest first. Skip damaged indexes with a warning."""
    with _sizes(root) as sizes, briefs.opened(root) as indexes:
        files = layout.sweeps(root)
        return [one for file in files if (one := _kept(file, sizes, indexes)) is not None]


def _kept(file: Path, sizes: _Sizes, indexes: IndexBriefs) -> StoredSweep | None:
    try:
        index = indexes.of(file)
    except DamagedResults as damage:
        warnings.warn(f"{damage}; skipped", DamageWarning, stacklevel=3)
        return None
    found = sizes.of(index.runs)
    stored = tuple(run_id for run_id, size in found.items() if size)
    return StoredSweep(index, file.parent, file.lstat().st_mtime, stored, sum(found.values()))


class _Sizes:
    """The sizes of run folders in a folder of results.

    The size of each run is looked up only once.
    """

    def __init__(self, root: Path) -> None:
        self.catalogue = _native.Catalogue(root, shape.native_summary())
        self._known: dict[str, int] = {}

    def of(self, run_ids: Iterable[str]) -> dict[str, int]:
        """Return the total size (in bytes) of each run's files. The size of a missing run is 0."""
        wanted = dict.fromkeys(run_ids)
        unknown = [run_id for run_id in wanted if run_id not in self._known]
        threads = min(frames.READERS, machine.cores())
        # Ask for the sizes of `TOGETHER` runs at once, so that Ctrl-C takes effect between two
        # requests.
        for begin in range(0, len(unknown), TOGETHER):
            part = unknown[begin : begin + TOGETHER]
            self._known.update(zip(part, self.catalogue.sizes(part, threads), strict=True))
        return {run_id: self._known[run_id] for run_id in wanted}


TOGETHER = 4096
"""Number of runs for which one request to the catalogue asks the size."""


@contextmanager
def _sizes(root: Path) -> Iterator[_Sizes]:
    """Yield the sizes of run folders. At the end of the `with` block, store the sizes for later
    commands."""
    sizes = _Sizes(root)
    try:
        yield sizes
    finally:
        sizes.catalogue.save()


RECENT = 8
"""Number of sweeps that `namesakes` reads. A comparison usually has fewer variants."""


TOGETHER_S = 1.0
"""A command writes the indexes of all its sweeps within this time (in seconds), before its first
run."""


def namesakes(sweep_id: str, root: Path) -> list[str]:
    """Return the ids of sweeps that have the same title as this sweep and began at about the same
    time. The variants of `compare` are such sweeps.

    Comparing only titles is not enough, because an earlier version of a file may have the same
    title.
    """
    begun: dict[str, tuple[str, float]] = {}
    for file in layout.sweeps(root)[:RECENT]:
        try:
            begun[file.parent.name] = layout.read_index(file).title, file.stat().st_mtime
        except (DamagedResults, OSError):
            # Do not warn about damaged indexes, because the commands that list sweeps already warn
            # about them.
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
    layout.refuse_scenario(name)
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
    """The runs that no remaining sweep needs. These runs belong only to deleted sweeps, or to no
    sweep."""
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
    with _sizes(root) as sizes, briefs.opened(root) as indexes:
        return _plan(root, chosen, sizes, indexes, older_days, versions)


def _plan(
    root: Path,
    chosen: Collection[Path],
    sizes: _Sizes,
    indexes: IndexBriefs,
    older_days: float | None,
    versions: Mapping[str, Collection[str]] | None,
) -> RemovalPlan:
    gone: list[StoredSweep] = []
    needed: set[str] = set()
    for file in layout.sweeps(root):
        sweep = _kept(file, sizes, indexes)
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
            needed.update(sweep.index.without)
    free = [run_id for run_id in _runs(root) if run_id not in needed]
    return RemovalPlan(root, gone, free, _measured(root, free))


def _measured(root: Path, run_ids: Iterable[str]) -> int:
    """Return the total size (in bytes) of the files of these runs.

    The sizes come from the file system, because the catalogue does not notice files that grew in
    place.
    """
    return sum(
        entry.stat(follow_symlinks=False).st_size
        for run_id in run_ids
        for entry in os.scandir(layout.run_path(root, run_id))
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
    # At the end of the `with` block, compiled code deletes the temporary folder with all run
    # folders in it. If this process is killed earlier, a later process deletes the temporary
    # folder.
    with folders.scratch(what.root) as scratch:
        for number, path in enumerate(paths):
            os.rename(path, scratch / str(number))
    catalogue = _native.Catalogue(what.root, shape.native_summary())
    catalogue.forget(what.runs)
    catalogue.save()
    briefs.forget(what.root)


def differences(value: object, other: object) -> Iterator[tuple[str, Any, Any]]:
    """Compare two JSON values. Yield each path at which the values differ, with the value in each
    of them. A value that is missing in one of them counts as None.
    """
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
