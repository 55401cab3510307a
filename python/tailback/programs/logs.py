"""Finds and reads the qlog files of a program in a stored run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.errors import InputError
from tailback.programs import kept, qlog
from tailback.programs.kept import KeptFile
from tailback.programs.qlog import Trace

if TYPE_CHECKING:
    from tailback.store.run_folder import StoredRun


def files(run: StoredRun, program: str) -> Iterator[KeptFile]:
    """Yield the files in a program's output folders that have the extension of a qlog file."""
    for file in kept.files(run, program):
        if file.name.startswith(f"{kept.OUT}/") and file.name.endswith(qlog.ENDINGS):
            yield file


def traces(run: StoredRun, file: KeptFile) -> list[Trace]:
    """Return the connections in a file, or an empty list if the file is not qlog.

    Raises `InputError` for files that are too large or unreadable.
    """
    if file.size > qlog.MAX_BYTES:
        raise InputError(f"{file.name}: larger than {qlog.MAX_BYTES >> 20} MiB")
    return qlog.parse(run.read(file.path), Path(file.name))


def sender(run: StoredRun, program: str) -> tuple[Trace | None, list[str]]:
    """Return the log of the connection with the most window updates, or None. Also return a message
    for each file that could not be read.

    The connection with the most updates is the sender's, because the sender of the data updates its
    window most often.
    """
    found, unread = [], []
    for file in files(run, program):
        try:
            found += traces(run, file)
        except InputError as error:
            unread.append(str(error))
    known = [one for one in found if one.cwnd]
    return max(known, key=lambda one: len(one.cwnd), default=None), unread
