"""Where results stay: `runs/<run_id>/` and `sweeps/<id>/index.json` in one folder.

Runs are written by the engine's side (crates/record); here is the index of
sweeps and what finds things again. A run folder is complete if it exists.
"""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailback.errors import InputError

FORMAT = 1
DEFAULT = Path("results")


@dataclass(frozen=True)
class PointRef:
    """A point of a sweep with one seed, and the run that has its results."""

    params: dict[str, float | str]
    labels: dict[str, str]
    seed: int
    run_id: str
    #: The run with the same seed and the standard backoff, over which gains are.
    baseline: str | None = None


@dataclass(frozen=True)
class Index:
    """A sweep: its points in order."""

    id: str
    title: str
    engine: str
    engine_version: str
    axes: list[list[str]]
    points: list[PointRef]


def run_path(root: Path, run_id: str) -> Path:
    """Folder of a run."""
    return root / "runs" / run_id


def find_run(name: str, root: Path) -> Path:
    """The folder of a run that is given as such or by its id."""
    for path in (Path(name), run_path(root, name)):
        if (path / "manifest.json").is_file():
            return path
    known = sorted(path.parent.name for path in (root / "runs").glob("[!.]*/manifest.json"))
    hint = (difflib.get_close_matches(name, known, n=1) or known[:1] or [""])[0]
    raise InputError(
        f"{name}: no run; expected a folder of {root / 'runs'} or its name"
        + (f", e.g. {hint}" if hint else ", which has none")
    )


def index_path(root: Path, sweep_id: str) -> Path:
    """File of a sweep's index."""
    return root / "sweeps" / sweep_id / "index.json"


def write_index(root: Path, index: Index) -> None:
    """Writes the index of a sweep, at once or not at all."""
    write_atomically(
        index_path(root, index.id), json.dumps({"format": FORMAT, **asdict(index)}, indent=1) + "\n"
    )


def read_index(path: Path) -> Index:
    """Reads the index of a sweep."""
    try:
        data = json.loads(path.read_bytes())
        if data.pop("format") != FORMAT:
            raise InputError(f"{path}: written by another version of tailback")
        return Index(**{**data, "points": [PointRef(**point) for point in data["points"]]})
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(f"{path}: not the index of a sweep") from None


def sweeps(root: Path) -> list[Path]:
    """The index files in a folder, the latest first."""
    found = (root / "sweeps").glob("*/index.json")
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def sweep_of(root: Path, run_id: str) -> tuple[Index, PointRef] | None:
    """The latest sweep that a run belongs to, and its point there."""
    for file in sweeps(root):
        try:
            index = read_index(file)
        except InputError:
            continue
        for point in index.points:
            if point.run_id == run_id:
                return index, point
    return None


def read_json(path: Path) -> Any:
    """A file of a run folder."""
    return json.loads(path.read_bytes())


def write_atomically(path: Path, text: str) -> None:
    """Readers see the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
