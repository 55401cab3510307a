"""Merges several stores into one (the target), for `tailback merge`.

Every run is verified in its own store, and again in the target. Two runs with the same id must have
the same files, except for the timing. If the files of two such runs differ, nothing is merged. Runs
that the target already has stay unchanged, so repeating a merge changes nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import folders
from tailback.base.progress import Progress
from tailback.errors import InputError, InputErrors
from tailback.running.spread import parcel
from tailback.store import layout, shape
from tailback.store.run_folder import StoredRun


@dataclass
class Merged:
    """The result of a merge."""

    into: Path
    runs: int = 0
    runs_there: int = 0
    sweeps: int = 0
    sweeps_there: int = 0
    damages: list[str] = field(default_factory=list)
    """Sentences about damaged runs and files that were left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {**vars(self), "into": str(self.into)}


@dataclass(frozen=True)
class _Run:
    path: Path
    version: str
    files: Mapping[str, str]
    """SHA-256 of each file that does not change when the run is repeated, by the file's name."""


def merge(
    stores: Sequence[Path | str], into: Path | str, *, progress: bool | None = None
) -> Merged:
    """Merge the runs and sweeps of several folders of results into one folder. Create the folder if
    necessary.

    The result lists damaged runs, which are not copied. Raises `InputError`, and changes nothing,
    if a folder has no results, or if two runs with the same id differ.
    """
    sources, target = [Path(source) for source in stores], Path(into)
    wrong = [
        f"{source}: no results; expected a folder that holds runs/"
        for source in _not_stores(sources)
    ]
    wrong += [
        f"{source}: is merged into itself" for source in sources if _same_folder(source, target)
    ]
    if wrong:
        raise InputErrors(*wrong)
    result = Merged(target)
    paths = [path for source in sources for path in _runs(source)]
    known: dict[str, _Run] = {}
    news: list[Path] = []
    with Progress(2 * len(paths), enabled=progress, what="folders") as bar:
        for done, path in enumerate(paths, start=1):
            run = _verified(path, result.damages)
            bar.update(done, done / (2 * len(paths)))
            if run is None:
                continue
            other = known.get(path.name) or _there(target, path.name)
            if other is None:
                news.append(path)
            elif said := _difference(run, other):
                wrong.append(said)
            elif other.path.parent.parent == target:
                result.runs_there += 1
            known.setdefault(path.name, other or run)
        if wrong:
            raise InputErrors(*wrong)
        target.mkdir(parents=True, exist_ok=True)
        open_ = _native.Store(target)
        with (
            folders.scratch(target / "runs") as scratch,
            ThreadPoolExecutor(parcel.THREADS, thread_name_prefix="merge") as pool,
        ):
            copies = pool.map(lambda path: parcel.copy(path, open_, scratch), news)
            for done, _ in enumerate(copies, start=1):
                result.runs += 1
                bar.update(len(paths) + done, (len(paths) + done) / (len(paths) + len(news)))
        for source in sources:
            _sweeps(source, target, open_, result)
    return result


def _not_stores(sources: Sequence[Path]) -> list[Path]:
    return [one for one in sources if not (one / "runs").is_dir() or (one / "runs").is_symlink()]


def _same_folder(folder: Path, other: Path) -> bool:
    return folder.exists() and other.exists() and os.path.samefile(folder, other)


def _runs(root: Path) -> Iterator[Path]:
    with os.scandir(root / "runs") as entries:
        names = sorted(entry.name for entry in entries)
    yield from (root / "runs" / name for name in names if shape.identity(name))


def _verified(path: Path, damages: list[str]) -> _Run | None:
    """Read a run and verify it. Return None if the run is damaged."""
    try:
        run = StoredRun(path)
        run.check()
    except InputError as damage:
        damages.append(str(damage))
        return None
    return _of(path, run)


def _of(path: Path, stored: StoredRun) -> _Run:
    files = {name: entry["sha256"] for name, entry in stored.manifest["files"].items()}
    return _Run(path, stored.manifest["engine_version"], files)


def _there(target: Path, run_id: str) -> _Run | None:
    """Read a run of the target, or return None if the run is missing or damaged. Move a damaged run
    aside."""
    path = layout.run_path(target, run_id)
    if not os.path.lexists(path):
        return None
    try:
        found = StoredRun(path)
        found.check()
    except InputError:
        return None
    return _of(path, found)


def _difference(run: _Run, other: _Run) -> str:
    """Compare two runs with the same id, and return a sentence that says how they differ. Return an
    empty text if the runs are equal.
    """
    names = [
        name
        for name in {**run.files, **other.files}
        if run.files.get(name) != other.files.get(name)
    ]
    if not names:
        return ""
    return (
        f"{run.path} (engine version {run.version}) and {other.path} (engine version "
        f"{other.version}) are the same run, and differ in {', '.join(sorted(names))}; nothing is "
        "merged"
    )


def _sweeps(source: Path, target: Path, runs: _native.Store, result: Merged) -> None:
    # Write the latest sweep last, so that it is also the latest sweep in the target.
    for file in reversed(layout.sweeps(source)):
        try:
            index = layout.read_index(file)
        except InputError as damage:
            result.damages.append(str(damage))
            continue
        place = layout.index_path(target, index.id)
        if os.path.lexists(place):
            result.sweeps_there += 1
            continue
        layout.write_index(runs, target, index)
        shutil.copystat(file, place)
        result.sweeps += 1
