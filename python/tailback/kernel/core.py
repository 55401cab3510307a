"""Reserves one core for each guest.

A guest's kernel is one process, and its programs run in other processes. At each system call, one
process stops and the other continues. If these processes run on two cores, each switch has to wake
an idle core, and a run takes twice as long.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from tailback.kernel import kit


@contextlib.contextmanager
def reserved() -> Iterator[int | None]:
    """Reserve a core that no other guest of this user gets until the `with` block ends.

    A lock on a file reserves the core, so that several processes can share the machine. Yields None
    if every core already has a guest, or if the lock files cannot be created. The scheduler then
    chooses the core.
    """
    cores = sorted(os.sched_getaffinity(0))
    folder = kit.cache() / "cores"
    with contextlib.ExitStack() as stack:
        yield next((core for core in cores if _locked(folder / str(core), stack)), None)


@contextlib.contextmanager
def on(core: int | None) -> Iterator[None]:
    """Within the `with` block, processes that this thread starts run only on this core. None allows
    every core.
    """
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    # The affinity applies to this thread alone. A process that the thread starts inherits the
    # affinity.
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _locked(path: Path, stack: contextlib.ExitStack) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(path.open("w"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
