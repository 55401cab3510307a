"""Marks the folder of a report, and checks a marked folder. The marker is a file that lists the
report's files with size and SHA-256.

A new report replaces a folder only if the folder's marker has the folder's name and lists all files
in the folder. The marker contains its own hash, so that `tailback verify` detects damage to it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import foreign
from tailback.errors import DamagedResults, InputError
from tailback.store import shape

NAME = ".tailback-report.json"
KIND = "report"
FORMAT = 1


def write(folder: Path, identity: str) -> None:
    """Write the marker of the report `identity`, which lists the files now in the folder."""
    files = {name: _mark(folder / name) for name in _files(folder)}
    text = json.dumps({"format": FORMAT, "kind": KIND, "id": identity, "files": files}, indent=1)
    (folder / NAME).write_bytes(_native.seal(text))


def require_own(folder: Path) -> bool:
    """Return whether the folder has an older report. Raise `InputError` if the folder contains
    anything but a report.

    Return False for an empty folder, which a rename can replace.
    """
    if folder.parent.name in _HOUSES and folder.parent.is_symlink():
        raise InputError(f"{folder.parent}: a link; expected a folder (links are not followed)")
    if not os.path.lexists(folder):
        return False
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{folder}: not a folder, so a report does not replace it; move it away")
    names = _files(folder)
    if not names and not any(folder.iterdir()):
        return False
    remedy = "move it away, or write the report elsewhere"
    try:
        named = read(folder)["files"]
    except InputError:
        raise InputError(
            f"{folder}: no marker {NAME} of this report, so it may not be a report; {remedy}"
        ) from None
    others = [name for name in names if name not in named and name != NAME]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise InputError(f"{folder}: {others[0]}{more} does not belong to the report; {remedy}")
    return True


_HOUSES = ("reports", "comparisons", "validations", "tunings")
"""The names of folders in a folder of results that contain reports."""


def read(folder: Path) -> dict[str, Any]:
    """Read the marker of a report. Raise `DamagedResults` if there is no valid marker."""
    path = folder / NAME
    if path.is_symlink() or not path.is_file():
        raise DamagedResults(f"{folder}: no marker {NAME}")
    data = foreign.read(path)
    marker: dict[str, Any] = foreign.parse_json(data, path)
    if not _native.is_whole(data):
        raise DamagedResults(f"{path}: not what was written")
    where = shape.fault(marker, shape.MARKER)
    if where is not None:
        raise DamagedResults(f"{path}: not the marker of a report ({where})")
    name = Path(os.path.abspath(folder)).name
    if marker["kind"] != KIND or marker["id"] != name:
        raise DamagedResults(f"{path}: the marker of another folder")
    return marker


def damages(folder: Path) -> list[str]:
    """Return a sentence for each difference between a report's files and its marker."""
    if folder.is_symlink() or not folder.is_dir():
        return [f"{folder}: not a folder (links are not followed)"]
    try:
        named = read(folder)["files"]
    except InputError as damage:
        return [str(damage)]
    found = set(_files(folder))
    wrong = []
    for name, mark in named.items():
        if name not in found:
            wrong.append(f"{folder / name}: is missing")
        elif (folder / name).lstat().st_size != mark["bytes"] or _mark(folder / name) != mark:
            wrong.append(f"{folder / name}: not what was written")
    return wrong


def _files(folder: Path) -> list[str]:
    """Return the paths of all entries of a folder except folders. Links are not followed."""
    return sorted(
        (Path(at) / name).relative_to(folder).as_posix()
        for at, inner, names in os.walk(folder)
        for name in [*names, *(n for n in inner if (Path(at) / n).is_symlink())]
    )


def _mark(path: Path) -> dict[str, Any]:
    if path.is_symlink() or not path.is_file():
        return {}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}
