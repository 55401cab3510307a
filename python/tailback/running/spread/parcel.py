"""Verifies a run folder, and puts it into a store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tailback import _native
from tailback.base import machine
from tailback.errors import DamagedResults
from tailback.store.run_folder import FILES, StoredRun

PROGRAMS = "programs"
"""The folder inside a run folder with the files that programs wrote."""


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of the files of a run folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _is_of_run(name: str) -> bool:
    """Return whether a run folder may contain a file of this name. The name must not lead out of
    the folder."""
    first, *rest = name.split("/")
    inside = all(part not in ("", ".", "..") and "\0" not in part for part in rest)
    return (first == PROGRAMS and bool(rest) and inside) if rest else name in FILES


def take(
    parts: Mapping[str, Iterable[bytes]],
    run_id: str,
    version: str,
    store: _native.Store,
    scratch: Path,
) -> None:
    """Store a run that was received from a worker. Raises `DamagedResults` if the run is
    damaged."""
    place = _place(scratch, run_id)
    for name, pieces in parts.items():
        if not _is_of_run(name):
            raise DamagedResults(f"run {run_id}: came with {name!r}, which no run has")
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        with (place / name).open("wb") as file:
            for piece in pieces:
                file.write(piece)
    settle(place, store, version)


def copy(source: Path, store: _native.Store, scratch: Path) -> None:
    """Copy a run of another store into this store."""
    place = _place(scratch, source.name)
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source).as_posix()
        if _is_of_run(name) and not path.is_symlink() and path.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place / name, follow_symlinks=False)
    settle(place, store)


THREADS = 8
"""Number of threads that verify and store runs. These threads mostly wait for the disk."""


def _place(scratch: Path, run_id: str) -> Path:
    """Make an empty folder with the name of the run, inside a new temporary folder."""
    place = Path(tempfile.mkdtemp(dir=scratch)) / run_id
    place.mkdir()
    return place


def settle(place: Path, store: _native.Store, version: str | None = None) -> None:
    """Verify a run folder, and move it into the store."""
    run_id = place.name
    run = StoredRun(place)
    run.check()
    _native.check_run(place)
    if version is not None and run.manifest["engine_version"] != version:
        raise DamagedResults(
            f"run {run_id}: came from engine version {run.manifest['engine_version']}; "
            f"expected {version}"
        )
    for path in (*place.rglob("*"), place):
        machine.sync(path)
    target = store.path(run_id)
    try:
        os.rename(place, target)
    except OSError:
        # The store already has this run. Keep that run if it is intact; otherwise set it aside.
        if store.contains(run_id):
            return
        store.set_aside(run_id)
        os.rename(place, target)
    machine.sync(target.parent)
