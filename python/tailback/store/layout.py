"""Defines the layout of a folder of results: `runs/<run_id>/` and `sweeps/<id>/index.json`.

The engine writes runs (crates/record). This module writes the indexes of sweeps, and finds runs and
sweeps. A run folder is always complete, because the engine moves it into `runs/` in one step.

The manifest of a run and the index of a sweep contain the run's or sweep's id. This id is trusted
only if it equals the name of the folder. A folder of results contains no links, and its files do
not contain paths.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import folders, foreign, machine
from tailback.errors import DamagedResults, DamageWarning, InputError
from tailback.store import shape

FORMAT = 2
DEFAULT = Path("results")

INDEX = "index.json"


@dataclass(frozen=True)
class PointRef:
    """A planned run of a sweep: a sweep point, a seed, and the id of the run."""

    params: dict[str, float | str]
    labels: dict[str, str]
    seed: int
    run_id: str
    #: Id of the run with the same seed and the standard backoff (`beta_ecn` = `beta`), relative to
    #: which gains are computed.
    baseline: str | None = None
    #: Ids of the runs in which a competitor sends nothing, by the competitor's name.
    without: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep point as the index stores it. Leave out `without` if it is empty."""
        return {key: value for key, value in vars(self).items() if key != "without" or value}


@dataclass(frozen=True)
class Index:
    """The index of a sweep, which lists its sweep points in order."""

    id: str
    title: str
    engine: str
    engine_version: str
    axes: list[list[str]]
    points: list[PointRef]
    #: Warnings about allowed but unusual settings of the scenario.
    warnings: list[str]


def run_path(root: Path, run_id: str) -> Path:
    """Return the folder of a run."""
    return root / "runs" / run_id


def stored(root: Path, run_ids: Iterable[str]) -> Iterator[str]:
    """Yield the ids of the runs whose folders exist. A folder may be damaged."""
    # Joining texts is several times as fast as joining paths.
    runs = str(root / "runs")
    return (run_id for run_id in run_ids if os.path.lexists(f"{runs}{os.sep}{run_id}"))


LATEST = "latest"
"""The word that users may write instead of an id to choose the latest sweep or run."""


MOST_NAMED = 12
"""The largest number of runs that a message lists. If there are more runs, the message names only
one run."""


def named(point: PointRef) -> str:
    """Return a description of a run: id, swept values and seed."""
    swept = ((key, label) for key, label in point.labels.items() if key != "seed")
    at = "".join(f"{key} = {label}, " for key, label in swept)
    return f"{point.run_id} ({foreign.line(at)}seed {point.seed})"


def latest_points(root: Path) -> list[PointRef]:
    """Return the runs of the latest sweep with their sweep points, without repetition. Return an
    empty list if no sweep is stored."""
    newest = next(iter(sweeps(root)), None)
    if newest is None:
        return []
    return list({point.run_id: point for point in read_index(newest).points}.values())


def refuse_scenario(name: str) -> None:
    """Raise `InputError` if this name of a run or sweep is a scenario file."""
    if name.endswith(".toml") and Path(name).is_file():
        file = foreign.line(name)
        raise InputError(f"{file} is a scenario, not a result; run: tailback run {file}")


def find_run(name: str, root: Path) -> Path:
    """Find the folder of a run by its path, by its id or the beginning of its id, or by `latest`.

    `latest` requires that the latest sweep has a single run.
    """
    for path in (Path(name), run_path(root, name)):
        if (path / "manifest.json").is_file():
            return path
    if name == LATEST and (points := latest_points(root)):
        if len(points) == 1:
            return run_path(root, points[0].run_id)
        listed = f"name one by its id, such as {named(points[0])}"
        if len(points) <= MOST_NAMED:
            listed = f"expected one of {', '.join(map(named, points))}"
        raise InputError(f"{name}: the latest sweep has {len(points)} runs; {listed}")
    refuse_scenario(name)
    known = sorted(path.parent.name for path in (root / "runs").glob("[!.]*/manifest.json"))
    begun = [identity for identity in known if name and identity.startswith(name)]
    if len(begun) == 1:
        return run_path(root, begun[0])
    if begun:
        raise InputError(
            f"{name}: {len(begun)} ids of runs begin like this; write more of the id, such as "
            f"{begun[0]}"
        )
    if not known:
        raise InputError(
            f"{name}: no such run, and {root / 'runs'} has no runs; run a scenario first"
        )
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    advice = f"the id of a run in {root / 'runs'}, such as {(near or known)[0]}"
    raise InputError(f"{name}: no such run; use {advice}")


def index_path(root: Path, sweep_id: str) -> Path:
    """Return the file of a sweep's index."""
    return root / "sweeps" / sweep_id / INDEX


def write_index(runs: _native.Store, root: Path, index: Index) -> None:
    """Write a sweep's index in one step.

    If the index exists with this content, only set its modification time, which makes it the
    latest.
    """
    target = index_path(root, index.id)
    refuse_link(target.parent.parent, target.parent)
    points = [point.to_dict() for point in index.points]
    document = {"format": FORMAT, **vars(index), "points": points}
    if _is_there(target, document):
        _make_latest(target)
        return
    text = json.dumps(document, indent=1)
    work = runs.workplace(index.id)
    with naming(target), (work / INDEX).open("wb") as file:
        file.write(_native.seal(text))
        file.flush()
        os.fsync(file.fileno())
    target.parent.parent.mkdir(exist_ok=True)
    if not target.parent.exists():
        try:
            # The folder appears together with its index, so that an interruption leaves no empty
            # folder.
            work.rename(target.parent)
        except OSError:
            if not target.parent.is_dir():
                raise
    if (work / INDEX).exists():
        (work / INDEX).replace(target)
    _make_latest(target)


def _make_latest(path: Path) -> None:
    """Set the modification time of an index to now, in ns. Indexes are ordered by this time."""
    now = time.time_ns()
    with naming(path):
        os.utime(path, ns=(now, now))


def _is_there(path: Path, wanted: Mapping[str, Any]) -> bool:
    """Return whether the index exists with this content."""
    if not stat.S_ISREG(_mode(path)):
        return False
    try:
        data = foreign.read(path)
        document = foreign.parse_json(data, path)
    except InputError:
        return False
    if not isinstance(document, dict) or not _native.is_whole(data):
        return False
    return {key: value for key, value in document.items() if key != "sha256"} == wanted


def read_index(path: Path) -> Index:
    """Read the index of a sweep."""
    refuse_link(path.parent.parent, path.parent)
    if not stat.S_ISREG(_mode(path)):
        raise DamagedResults(f"{path}: not a regular file")
    data = foreign.read(path)
    try:
        document = foreign.parse_json(data, path)
    except InputError as error:
        raise DamagedResults(str(error)) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DamagedResults(f"{path}: written by another version of tailback, or damaged")
    if not _native.is_whole(data):
        raise DamagedResults(f"{path}: not what was written")
    where = shape.fault(document, shape.INDEX)
    if where is not None:
        raise DamagedResults(f"{path}: not the index of a sweep ({where})")
    if document["id"] != Path(os.path.abspath(path)).parent.name:
        raise DamagedResults(
            f"{path}: the index of a sweep other than the one in the name of its folder"
        )
    points = [PointRef(**{key: p[key] for key in _POINT if key in p}) for p in document["points"]]
    index = Index(**{**{key: document[key] for key in _INDEX}, "points": points})
    from tailback.store import agreement

    if (wrong := agreement.fault(index)) is not None:
        raise DamagedResults(f"{path}: {wrong}")
    return index


_POINT = tuple(PointRef.__dataclass_fields__)
_INDEX = tuple(Index.__dataclass_fields__)


def sweeps(root: Path) -> list[Path]:
    """Return the index files in a folder, the latest first."""
    found = [
        path for path in (root / "sweeps").glob(f"*/{INDEX}") if shape.identity(path.parts[-2])
    ]
    return sorted(found, key=lambda path: path.lstat().st_mtime_ns, reverse=True)


@lru_cache(maxsize=1)
def _read_once(path: Path, _state: tuple[int, ...]) -> Index:
    """Read an index, unless the last call read the same file in the same state."""
    return read_index(path)


def sweep_of(root: Path, run_id: str) -> tuple[Index, PointRef] | None:
    """Return the latest sweep that contains a run, and the run's sweep point in it."""
    for file in sweeps(root):
        try:
            found = file.lstat()
            index = _read_once(file, (found.st_ino, found.st_size, found.st_mtime_ns))
        except DamagedResults as damage:
            # If the damaged index lists the run, the only effect is that the run is shown without a
            # title.
            warnings.warn(f"{damage}; skipped", DamageWarning, stacklevel=2)
            continue
        for point in index.points:
            if point.run_id == run_id:
                return index, point
    return None


def refuse_link(*paths: Path) -> None:
    """Raise an error for links, which could lead out of the folder of results."""
    for path in paths:
        if stat.S_ISLNK(_mode(path)):
            raise DamagedResults(f"{path}: a link; expected a folder (links are not followed)")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to errors that are raised in this block, because errors of an open file do not
    name the path."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        if error.errno is not None:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        # Some libraries raise errors with a text but no number.
        raise type(error)(f"{path}: {error}") from error


def is_refused(error: OSError) -> bool:
    """Return whether an error means that the folder cannot be written: no permission, or a
    read-only file system."""
    return isinstance(error, PermissionError) or error.errno == errno.EROFS


def _mode(path: Path) -> int:
    """Return the type of the file at a path, or 0 if the file does not exist."""
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file to write.

    At the end of the block, this file replaces `target` in one step. After an error, `target` is
    unchanged.
    """
    place = Path(os.path.realpath(target))
    if place.exists() and not place.is_file():
        # Write to a pipe or a device directly. If the path is a folder, opening it raises a
        # suitable error.
        yield place
        return
    if not place.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}; name one that exists")
    with naming(target), folders.scratch(place.parent) as scratch:
        part = scratch / place.name
        yield part
        machine.sync(part)
        part.replace(place)
