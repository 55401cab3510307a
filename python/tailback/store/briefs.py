"""Caches the fields of large indexes that commands read to list and delete sweeps.

Reading the index of a sweep with 100,000 runs takes most of a second. For each large sweep, the
catalogue `sweeps/.catalogue` contains the title, the engine and the run ids. The catalogue also
contains metadata of the sweep's index: device, inode, size, mtime and ctime. An entry is used only
if the metadata of the index is unchanged. Programs cannot set the ctime, so the entries of a
catalogue that was copied with its folder do not match. If the catalogue is missing or damaged,
commands take longer but still work.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import folders, foreign
from tailback.errors import DamagedResults, InputError
from tailback.store import layout, points

NAME = ".catalogue"
MAGIC = b"tailback sweeps 1\n"

LARGE = 1000
"""Smallest number of runs with which a sweep gets an entry in the catalogue."""

SETTLED_NS = 2_000_000_000
"""Smallest age (in ns) at which an index gets an entry in the catalogue. A file system may record
the same time for two changes that happen within this time."""

MAX_BYTES = 1 << 30
"""The largest size of the catalogue, in bytes."""

ID = 10
"""Length of the id of a run, in bytes."""

DIGEST = 32
"""Length of the hash at the end of the catalogue, in bytes."""

State = list[int]


@dataclass(frozen=True)
class IndexBrief:
    """The fields of a sweep's index that commands read to list and delete sweeps."""

    id: str
    title: str
    engine: str
    engine_version: str
    points: int
    """Number of sweep points."""
    runs: tuple[str, ...]
    """The ids of all runs, without repetition."""
    without: tuple[str, ...]
    """The ids of runs in which a competitor sends nothing."""

    @classmethod
    def of(cls, index: layout.Index) -> IndexBrief:
        return cls(
            index.id,
            index.title,
            index.engine,
            index.engine_version,
            points.count(index.points),
            tuple(dict.fromkeys(point.run_id for point in index.points)),
            tuple(dict.fromkeys(one for p in index.points for one in p.without.values())),
        )


class IndexBriefs:
    """The indexes of a folder of results. Unchanged indexes of large sweeps are not read again."""

    def __init__(self, root: Path) -> None:
        self._path = root / "sweeps" / NAME
        self._known = _read(self._path) if os.name == "posix" else {}
        self._used: dict[str, tuple[State, IndexBrief]] = {}
        self._grown = False

    def of(self, file: Path) -> IndexBrief:
        """Return the fields of an index that commands read to list and delete sweeps. Raise
        `DamagedResults` if the index is damaged."""
        layout.refuse_link(file.parent.parent, file.parent)
        # The state is read before the index, so a change while the index is read is noticed.
        try:
            found = file.lstat()
        except FileNotFoundError as error:
            raise DamagedResults(f"{file}: the file no longer exists") from error
        state = [
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
        ]
        known, brief = self._known.get(file.parent.name, (None, None))
        if brief is None or known != state:
            brief = IndexBrief.of(layout.read_index(file))
            settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED_NS
            if len(brief.runs) < LARGE or not settled or os.name != "posix":
                return brief
            self._grown = True
        self._used[brief.id] = state, brief
        return brief

    def save(self) -> None:
        """Write the catalogue if it has new entries. Ignore errors, because commands work without
        the catalogue."""
        if not self._grown:
            return
        with suppress(OSError), folders.scratch(self._path.parent) as scratch:
            (scratch / NAME).write_bytes(_encoded(self._used))
            os.replace(scratch / NAME, self._path)


@contextmanager
def opened(root: Path) -> Iterator[IndexBriefs]:
    """Yield the indexes of a folder of results. At the end of the `with` block, store the fields of
    the indexes for later commands."""
    found = IndexBriefs(root)
    try:
        yield found
    finally:
        found.save()


def forget(root: Path) -> None:
    """Delete the catalogue of a folder that has no sweeps."""
    if not layout.sweeps(root):
        (root / "sweeps" / NAME).unlink(missing_ok=True)


def _encoded(entries: dict[str, tuple[State, IndexBrief]]) -> bytes:
    import hashlib

    heads = []
    ids = []
    for state, brief in entries.values():
        head = {**vars(brief), "state": state}
        heads.append({**head, "runs": len(brief.runs), "without": len(brief.without)})
        ids += [*brief.runs, *brief.without]
    body = MAGIC + json.dumps(heads).encode() + b"\n" + bytes.fromhex("".join(ids))
    return body + hashlib.sha256(body).digest()


def _read(path: Path) -> dict[str, tuple[State, IndexBrief]]:
    if not os.path.lexists(path):
        return {}
    import hashlib

    try:
        data = foreign.read(path, limit=MAX_BYTES)
    except InputError:
        return {}
    body, digest = data[:-DIGEST], data[-DIGEST:]
    if not body.startswith(MAGIC) or hashlib.sha256(body).digest() != digest:
        return {}
    end = body.index(b"\n", len(MAGIC))
    ids = body[end + 1 :].hex()
    at = 0

    def taken(count: int) -> tuple[str, ...]:
        nonlocal at
        begin, at = at, at + 2 * ID * count
        return tuple(ids[i : i + 2 * ID] for i in range(begin, at, 2 * ID))

    found: dict[str, tuple[State, IndexBrief]] = {}
    heads: list[dict[str, Any]] = json.loads(body[len(MAGIC) : end])
    for head in heads:
        state = head.pop("state")
        runs, without = taken(head.pop("runs")), taken(head.pop("without"))
        found[head["id"]] = state, IndexBrief(**head, runs=runs, without=without)
    return found
